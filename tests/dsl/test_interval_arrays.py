"""Rules on arrays of ends say of every row what the scalar rules say of it."""

from __future__ import annotations

from math import inf

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from pdual.dsl.operations import OPERATIONS, REDUCTIONS
from pdual.dsl.operations.interval import EITHER, EVERYTHING, FALSE, TRUE, Interval
from pdual.dsl.operations.interval_arrays import Ends, each, many, ranged
from pdual.dsl.operations.reduction_arrays import reduced

SPECIAL = (0.0, 1.0, -1.0, 0.5, -2.0, 5e-324, -5e-324, 1e-170, -1e-170, 1e170, -1e300, 1.7976931348623157e308)
NUMBERS = st.sampled_from(SPECIAL) | st.floats(-1e3, 1e3)
SIDES = st.sampled_from([Interval(inf, inf), Interval(-inf, -inf), EVERYTHING, FALSE, TRUE])


@st.composite
def intervals(draw: st.DrawFn) -> Interval:
    """Points, ordinary ones, open at a side, or a side that is not there."""
    if draw(st.integers(0, 9)) == 0:
        return draw(SIDES)
    a, b = sorted((draw(NUMBERS), draw(NUMBERS)))
    shape = draw(st.integers(0, 5))
    return Interval(-inf if shape == 0 else a, inf if shape == 1 else a if shape == 2 and a == a else b)


@pytest.mark.parametrize("name", [name for name, item in OPERATIONS.items() if item.interval is not None])
@given(data=st.data())
def test_every_row_has_the_range_of_the_scalar_rule(name: str, data: st.DataObject) -> None:
    operation = OPERATIONS[name]
    rows = data.draw(st.integers(1, 5))
    given = [
        data.draw(st.just(item) | st.lists(intervals(), min_size=rows, max_size=rows))
        for item in [data.draw(intervals()) for _ in range(operation.arity)]
    ]
    columns = [item if isinstance(item, Interval) else ends(item) for item in given]
    assert operation.interval is not None
    found = ranged(operation, columns, rows)
    for row in range(rows):
        expected = operation.interval(*(item if isinstance(item, Interval) else item[row] for item in given))
        assert found.at(row) == expected, (row, given)


@pytest.mark.parametrize("name", REDUCTIONS)
@given(data=st.data())
def test_every_row_has_the_range_of_the_scalar_reduction(name: str, data: st.DataObject) -> None:
    rows, many_items = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 5))
    kept = st.sampled_from([TRUE, FALSE, EITHER])
    given = [
        [(data.draw(intervals()), data.draw(kept)) for _ in range(rows)] for _ in range(many_items)
    ]  # [items][rows]
    columns = [(ends([value for value, _ in item]), ends([sure for _, sure in item])) for item in given]
    found = reduced(name, columns, rows)
    for row in range(rows):
        assert found.at(row) == REDUCTIONS[name].interval([item[row] for item in given]), (row, given)


def ends(items: list[Interval]) -> Ends:
    return Ends(np.array([item.lo for item in items]), np.array([item.hi for item in items]))


def test_a_rule_without_arrays_is_asked_once_about_every_different_row() -> None:
    asked = []

    def rule(a: Interval, b: Interval) -> Interval:
        asked.append((a, b))
        return Interval(a.lo + b.lo, a.hi + b.hi)

    left = Ends(np.array([1.0, 2.0, 1.0]), np.array([1.0, 3.0, 1.0]))
    found = each(rule, [left, many(Interval(0.0, 1.0), 3)])
    assert found.lo.tolist() == [1.0, 2.0, 1.0]
    assert found.hi.tolist() == [2.0, 4.0, 2.0]
    assert len(asked) == 2
