"""A bound that is computed from an infinite one makes no row, as the infinite one itself."""

from __future__ import annotations

import pytest

from pdual.compiler.compile import lower
from pdual.compiler.interpreter import Environment, RowValues, rows_of
from pdual.dsl.pipeline import read
from pdual.dsl.printer import render_all
from pdual.dsl.spans import Source

SPEC = """problem p "sides that are not there"
data d {{ x: real in [0, 1] }}
model f(x: real) -> real in [-1, 1]
over r in d {{
  minimize f(r.x)
  subject to limits: {constraint}
}}
"""


@pytest.mark.parametrize(
    ("constraint", "parts"),
    [
        ("f(r.x) <= inf", 0),
        ("f(r.x) <= inf / 4", 0),
        ("f(r.x) <= 0.25 * inf", 0),
        ("f(r.x) >= -(2 * inf)", 0),
        ("f(r.x) <= inf - 3", 0),
        ("f(r.x) <= 3 + inf", 0),
        ("f(r.x) >= 1 - inf", 0),
        ("0.5 <= f(r.x) <= inf / 2", 1),
        ("f(r.x) <= 2 + 0.25 * 3", 1),
        ("f(r.x) <= 1 / inf", 1),
    ],
)
def test_what_is_computed_from_an_infinite_bound(constraint: str, parts: int) -> None:
    source = Source("p.pdual", SPEC.format(constraint=constraint))
    spec, found = read(source)
    assert spec is not None, render_all(found, source)
    (data,) = lower(spec, {})[0].data
    row = RowValues({"x": 0.5}, lambda model, arguments: 0.25)
    entries = rows_of(spec.blocks[0].families[0], Environment({}, {}, {}), row)
    assert data.layout.columns == parts == len(entries)
