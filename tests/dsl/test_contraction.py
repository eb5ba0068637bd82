"""Backwards through an operation nothing is lost: arguments that give a result stay in the narrowed ranges."""

from __future__ import annotations

import math
from math import inf
from typing import Any

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import assume, given, settings
from test_interval import CASES

from pdual.dsl.operations import OPERATIONS
from pdual.dsl.operations.contraction import contract
from pdual.dsl.operations.interval import EITHER, EVERYTHING, FALSE, TRUE, Interval, intersect


def results(name: str, values: list[Any]) -> list[float]:
    """The result as meant, and as emitted in double and single precision; only finite ones."""
    found = []
    try:
        found.append(float(OPERATIONS[name].meaning(*values)))
    except (ValueError, ArithmeticError):
        assume(False)
    emit = OPERATIONS[name].emit
    assert emit is not None
    tensors = [torch.tensor(v, dtype=torch.bool if isinstance(v, bool) else torch.float64) for v in values]
    found.append(float(emit()(*tensors)))
    return [value for value in found if math.isfinite(value)]


@pytest.mark.parametrize("name", sorted(CASES))
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_arguments_stay_in_the_narrowed_ranges(name: str, data: st.DataObject) -> None:
    arguments = data.draw(CASES[name])
    values = [value for _, value in arguments]
    for result in results(name, values):
        below, above = data.draw(st.sampled_from([0.0, 1e-3, 5.0, inf])), data.draw(st.sampled_from([0.0, 1.0, inf]))
        found = contract(name, [box for box, _ in arguments], Interval(result - below, result + above))
        assert found is not None
        for box, narrowed, value in zip((box for box, _ in arguments), found, values, strict=True):
            assert float(value) in narrowed
            assert box.lo <= narrowed.lo <= narrowed.hi <= box.hi


@pytest.mark.parametrize(
    ("name", "arguments", "result", "expected"),
    [
        ("add", [(0, 10), (1, 2)], (-inf, 3), [(0, 2), (1, 2)]),
        ("subtract", [(0, 10), (1, 2)], (-inf, 0), [(0, 2), (1, 2)]),
        ("multiply", [(-9, 9), (2, 4)], (4, 8), [(1, 4), (2, 4)]),
        ("multiply", [(-9, 9), (-1, 4)], (0, 8), [(-9, 9), (-1, 4)]),
        ("divide", [(-9, 9), (2, 4)], (1, 2), [(2, 8), (2, 4)]),
        ("negate", [(-3, 5)], (1, inf), [(-3, -1)]),
        ("square", [(-3, 9)], (0, 4), [(-2, 2)]),
        ("square", [(0, 9)], (4, 25), [(2, 5)]),
        ("abs", [(-9, 9)], (2, 3), [(-3, 3)]),
        ("max", [(0, 9), (0, 1)], (2, 3), [(2, 3), (0, 1)]),
        ("min", [(0, 9), (5, 9)], (2, 3), [(2, 3), (5, 9)]),
        ("exp", [(-9, 9)], (1, math.e), [(0, 1)]),
        ("log", [(0, 99)], (0, 1), [(1, math.e)]),
        ("sqrt", [(0, 99)], (2, 3), [(4, 9)]),
        ("root", [(0, 99)], (2, 3), [(4, 9)]),
        ("sigmoid", [(-9, 9)], (0.5, 1), [(0, 9)]),
        ("tanh", [(-9, 9)], (-0.5, 0), [(-math.atanh(0.5), 0)]),
        ("softplus", [(-9, 9)], (math.log(2), 20), [(0, 9)]),
        ("relu", [(-9, 9)], (2, 3), [(2, 3)]),
        ("relu", [(-9, 9)], (0, 3), [(-9, 3)]),
        ("power", [(0, 9), (3, 3)], (0, 1), [(0, 9), (3, 3)]),
    ],
)
def test_how_much_is_gained(
    name: str, arguments: list[tuple[float, float]], result: tuple[float, float], expected: list[tuple[float, float]]
) -> None:
    found = contract(name, [Interval(*box) for box in arguments], Interval(*result))
    assert found is not None
    for interval, ends in zip(found, expected, strict=True):
        assert interval == pytest.approx(ends, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(
    ("name", "arguments", "result"),
    [
        ("add", [(0, 1), (0, 1)], (3, 4)),
        ("square", [(-9, 9)], (-2, -1)),
        ("square", [(3, 9)], (0, 1)),
        ("abs", [(-9, 9)], (-2, -1)),
        ("exp", [(-9, 9)], (-2, -1)),
        ("relu", [(-9, 9)], (-2, -1)),
        ("max", [(5, 9), (0, 1)], (0, 3)),
        ("sigmoid", [(-9, 9)], (2, 3)),
    ],
)
def test_what_no_argument_gives(name: str, arguments: list[tuple[float, float]], result: tuple[float, float]) -> None:
    assert contract(name, [Interval(*box) for box in arguments], Interval(*result)) is None


def test_a_choice_is_decided_by_the_branch_that_is_left() -> None:
    small, large = Interval(0.0, 1.0), Interval(5.0, 6.0)
    assert contract("where", [EITHER, small, large], Interval(4.0, 9.0)) == (
        TRUE._replace(lo=0.0, hi=0.0),
        small,
        large,
    )
    assert contract("where", [TRUE, small, large], Interval(4.0, 9.0)) is None
    assert contract("where", [FALSE, small, large], Interval(4.0, 5.5)) is not None
    assert contract("where", [EITHER, small, large], Interval(2.0, 3.0)) is None
    assert intersect(small, large) is None
    assert intersect(small, EVERYTHING) == small
