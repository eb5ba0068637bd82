"""The page of functions says of ranges what the rules say, and these hold."""

from __future__ import annotations

import random
import re
import sys
from pathlib import Path

import pytest

from pdual.dsl.operations import AGGREGATES, FUNCTIONS, OPERATIONS, REDUCTIONS

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "docs"))
import functions

PAGE = functions.page()


def ends(written: str) -> tuple[float, float]:
    """The range in the first row that is written so."""
    row = next(line for line in PAGE.splitlines() if line.startswith(f"| `{written}`"))
    found = re.search(r"\[(\S+), (\S+)\]", row)
    assert found is not None
    return float(found[1]), float(found[2])


@pytest.mark.parametrize("name", ["abs", "exp", "sin", "cos", "tanh", "sigmoid", "softplus", "relu", "max", "min"])
def test_values_lie_where_the_page_says_and_reach_its_ends(name: str) -> None:
    operation, source = OPERATIONS[name], random.Random(4)
    written = f"{name}({', '.join(('x', 'y')[: operation.arity])})"
    points = [
        [source.choice((-1.0, 0.0, 2.0, source.uniform(-1, 2))) for _ in range(operation.arity)] for _ in range(4000)
    ]
    values = [float(operation.meaning(*point)) for point in points]
    low, high = ends(written)
    assert low - 1e-5 <= min(values) <= low + 1e-2
    assert high - 1e-2 <= max(values) <= high + 1e-5


def test_every_name_has_a_row() -> None:
    for name in (*FUNCTIONS, *REDUCTIONS, *AGGREGATES):
        assert re.search(rf"^\| `{name}\b", PAGE, re.MULTILINE), name
    for symbol in ("+", "-", "*", "/", "^", "==", "<=", "and", "not", "if"):
        assert re.search(rf"^\| `[^|]*{re.escape(symbol)} ", PAGE, re.MULTILINE), symbol


def test_a_sum_of_squares_is_not_negative() -> None:
    row = next(line for line in PAGE.splitlines() if line.startswith("| `abs2(x)` | complex"))
    assert "[0, 8]" in row
