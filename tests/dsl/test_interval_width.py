"""Intervals are narrow: an end is where the operation's value at a corner is, but for rounding, and signs are not lost to it."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import inf, nextafter

import hypothesis.strategies as st
import pytest
from hypothesis import assume, given

from pdual.dsl.operations import interval
from pdual.dsl.operations.interval import Interval, point

ENDS = st.sampled_from([0.0, 1.0, -1.0, 0.5, -2.0, 1e-170, -1e-170, 1e100, -1e100]) | st.floats(-1e3, 1e3)

#: Each as an exact function of exact numbers; monotone in every argument on a box of one sign.
EXACT = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "divide": lambda x, y: x / y,
    "maximum": max,
    "minimum": min,
    "negate": lambda x: -x,
    "square": lambda x: x * x,
    "absolute": abs,
}


@st.composite
def boxes(draw: st.DrawFn, one_sign: bool = False) -> Interval:
    a, b = sorted((draw(ENDS), draw(ENDS)))
    if one_sign:
        assume(a > 0 or b < 0)
    return Interval(a, b)


@pytest.mark.parametrize("name", EXACT)
@given(data=st.data())
def test_an_end_is_the_value_at_a_corner(name: str, data: st.DataObject) -> None:
    unary = name in ("negate", "square", "absolute")
    a = data.draw(boxes(one_sign=name in ("square", "absolute")))
    given = (a,) if unary else (a, data.draw(boxes(one_sign=name == "divide")))
    # A quotient goes through the reciprocal, which is not a number for divisors that are subnormal: the range is open there.
    assume(name != "divide" or min(map(abs, given[-1])) >= 1e-300)
    corners = [EXACT[name](*map(Fraction, corner)) for corner in product(*given)]
    found = getattr(interval, name)(*given)
    low, high = min(corners), max(corners)
    assume(max(abs(low), abs(high)) < Fraction(1e300))
    assert found.lo <= low <= high <= found.hi
    # A rounding of the value, of a reciprocal before it, and one outward each.
    assert found.lo >= _moved(float(low), -inf)
    assert found.hi <= _moved(float(high), inf)
    if name not in ("add", "subtract"):
        assert low < 0 or found.lo >= 0
        assert high > 0 or found.hi <= 0


def _moved(value: float, towards: float) -> float:
    for _ in range(6):
        value = nextafter(value, towards)
    return value


@given(ENDS, ENDS, ENDS, ENDS)
def test_a_sum_of_one_sign_keeps_it(a: float, b: float, c: float, d: float) -> None:
    low, high = sorted((abs(a), abs(b)))
    other = Interval(*sorted((abs(c), abs(d))))
    assert interval.add(Interval(low, high), other).lo >= 0
    assert interval.add(interval.negate(Interval(low, high)), interval.negate(other)).hi <= 0


@pytest.mark.parametrize(
    ("of", "expected"),
    [
        (Interval(0.0, inf), Interval(0.0, inf)),
        (Interval(-inf, 0.0), Interval(-inf, 0.0)),
        (Interval(0.0, 4.0), Interval(nextafter(0.25, 0), inf)),
        (Interval(-4.0, 0.0), Interval(-inf, nextafter(-0.25, 0))),
        (Interval(0.0, 0.5), Interval(nextafter(2.0, 0), inf)),
        (Interval(-0.5, 0.0), Interval(-inf, nextafter(-2.0, 0))),
        (Interval(-1.0, 1.0), interval.EVERYTHING),
    ],
)
def test_reciprocals_of_what_reaches_zero(of: Interval, expected: Interval) -> None:
    assert interval.reciprocal(of) == expected


@pytest.mark.parametrize(
    ("operation", "arguments", "expected"),
    [
        (interval.divide, (inf, 2.0), inf),
        (interval.divide, (inf, -2.0), -inf),
        (interval.divide, (3.0, inf), 0.0),
        (interval.multiply, (inf, 0.25), inf),
        (interval.multiply, (-2.0, inf), -inf),
        (interval.add, (inf, -3.0), inf),
        (interval.add, (3.0, inf), inf),
        (interval.add, (3.0, -inf), -inf),
        (interval.subtract, (3.0, inf), -inf),
    ],
)
def test_a_side_that_is_not_there_stays_exact(operation, arguments: tuple[float, float], expected: float) -> None:  # type: ignore[no-untyped-def]
    assert operation(*map(point, arguments)) == point(expected)


def test_sides_that_cancel_leave_the_end_open() -> None:
    below, above = Interval(-inf, 3.0), Interval(3.0, inf)
    assert interval.add(below, point(inf)) == interval.EVERYTHING
    assert interval.add(above, point(-inf)) == interval.EVERYTHING
    assert interval.subtract(below, point(-inf)) == interval.EVERYTHING
    assert interval.add(point(inf), point(-inf)) == interval.EVERYTHING


@pytest.mark.parametrize("tiny", [1e-170, 5e-324])
def test_a_product_too_small_to_be_a_number_keeps_its_sign(tiny: float) -> None:
    above, below = Interval(tiny, 0.5), Interval(-0.5, -tiny)
    assert interval.multiply(above, above).lo == 0
    assert interval.multiply(below, below).lo == 0
    assert interval.multiply(above, below).hi == 0
    assert interval.multiply(below, above).hi == 0
