"""Intervals: sound bounds under floating point. Pure functions on ``Interval``; every computed end is rounded outward by one unit."""

from __future__ import annotations

import math
from collections.abc import Callable
from math import inf, nextafter
from typing import NamedTuple


class Interval(NamedTuple):
    """All reals between ``lo`` and ``hi``; an infinite end is not attained (values are finite).

    A named tuple because ``pdual check`` makes tens of thousands.
    """

    lo: float
    hi: float

    @property
    def is_point(self) -> bool:
        """Whether it holds exactly one number."""
        return self.lo == self.hi and not math.isinf(self.lo)

    @property
    def is_bounded(self) -> bool:
        """Whether both ends are finite."""
        return not (math.isinf(self.lo) or math.isinf(self.hi))

    def __contains__(self, value: object) -> bool:
        return isinstance(value, (int, float)) and self.lo <= value <= self.hi

    def __str__(self) -> str:
        return f"[{self.lo + 0.0:g}, {self.hi + 0.0:g}]"  # -0 is 0


EVERYTHING = Interval(-inf, inf)
TRUE = Interval(1.0, 1.0)
FALSE = Interval(0.0, 0.0)
EITHER = Interval(0.0, 1.0)


def point(value: float) -> Interval:
    """The interval of one number (an infinite one stands for a side that is not there)."""
    return Interval(value, value)


def outward(lo: float, hi: float) -> Interval:
    """The interval widened by one unit in the last place at both ends; NaN (inf - inf) opens that end."""
    return Interval(-inf if math.isnan(lo) else nextafter(lo, -inf), inf if math.isnan(hi) else nextafter(hi, inf))


def intersect(a: Interval, b: Interval) -> Interval | None:
    """What both hold; None where that is nothing."""
    low, high = max(a.lo, b.lo), min(a.hi, b.hi)
    return Interval(low, high) if low <= high else None


def union(a: Interval, b: Interval) -> Interval:
    """The smallest interval around both."""
    return Interval(min(a.lo, b.lo), max(a.hi, b.hi))


def _sideless(a: Interval, b: Interval) -> bool:
    """Whether both are one number and one of them infinite: what they make is again a side that is not there, or opposite ones."""
    return a.lo == a.hi and b.lo == b.hi and (math.isinf(a.lo) or math.isinf(b.lo))


def _exactly(value: float) -> Interval:
    return EVERYTHING if math.isnan(value) else point(value)


def add(a: Interval, b: Interval) -> Interval:
    """``a + b``; exact when one side is the point 0, and of one sign where both are: rounding does not change it."""
    if _sideless(a, b):
        return _exactly(a.lo + b.lo)
    if a.is_point and a.lo == 0:
        return b
    if b.is_point and b.lo == 0:
        return a
    total = outward(a.lo + b.lo, a.hi + b.hi)
    if a.lo >= 0 and b.lo >= 0:
        return Interval(max(0.0, total.lo), total.hi)
    return Interval(total.lo, min(0.0, total.hi)) if a.hi <= 0 and b.hi <= 0 else total


def subtract(a: Interval, b: Interval) -> Interval:
    """``a - b``."""
    if _sideless(a, b):
        return _exactly(a.lo - b.lo)
    if b.is_point and b.lo == 0:
        return a
    return outward(a.lo - b.hi, a.hi - b.lo)


def negate(a: Interval) -> Interval:
    """``-a``, exact."""
    return Interval(-a.hi, -a.lo)


def _product(x: float, y: float) -> float:
    # Values are finite, so 0 times an unbounded end is 0.
    return 0.0 if x == 0 or y == 0 else x * y


def multiply(a: Interval, b: Interval) -> Interval:
    """``a * b``; an end that is a product with 0 or 1 is exact, and a sign is never lost to rounding."""
    if _sideless(a, b):
        return point(_product(a.lo, b.lo))
    if a == EVERYTHING or b == EVERYTHING:
        return FALSE if FALSE in (a, b) else EVERYTHING
    low, high = inf, -inf
    for x in (a.lo, a.hi):
        for y in (b.lo, b.hi):
            value = _product(x, y)
            exact = x in _UNITS or y in _UNITS
            low = min(low, value if exact else nextafter(value, -inf))
            high = max(high, value if exact else nextafter(value, inf))
    if (a.lo >= 0 and b.lo >= 0) or (a.hi <= 0 and b.hi <= 0):
        low = max(low, 0.0)
    if (a.lo >= 0 and b.hi <= 0) or (a.hi <= 0 and b.lo >= 0):
        high = min(high, 0.0)
    return Interval(low, high)


_UNITS = (0.0, 1.0, -1.0)


def reciprocal(a: Interval) -> Interval:
    """``1 / a``; everything when ``a`` holds 0 inside."""
    if a.lo > 0 or a.hi < 0:
        return outward(1 / a.hi, 1 / a.lo)
    if a.lo == 0 and a.hi > 0:
        return Interval(0.0 if math.isinf(a.hi) else nextafter(1 / a.hi, -inf), inf)
    if a.hi == 0 and a.lo < 0:
        return Interval(-inf, 0.0 if math.isinf(a.lo) else nextafter(1 / a.lo, inf))
    return EVERYTHING


def divide(a: Interval, b: Interval) -> Interval:
    """``a / b``."""
    if _sideless(a, b) and b.lo != 0:
        return _exactly(a.lo / b.lo)
    if b.is_point and b.lo == 1:
        return a
    return multiply(a, reciprocal(b))


def square(a: Interval) -> Interval:
    """``a^2``, never negative."""
    ends = (a.lo * a.lo, a.hi * a.hi)
    low = 0.0 if 0 in a else max(0.0, nextafter(min(ends), -inf))
    return Interval(low, 0.0 if a == FALSE else nextafter(max(ends), inf))


def absolute(a: Interval) -> Interval:
    """``|a|``, exact."""
    return Interval(0.0 if 0 in a else min(abs(a.lo), abs(a.hi)), max(abs(a.lo), abs(a.hi)))


def maximum(a: Interval, b: Interval) -> Interval:
    """``max(a, b)``, exact."""
    return Interval(max(a.lo, b.lo), max(a.hi, b.hi))


def minimum(a: Interval, b: Interval) -> Interval:
    """``min(a, b)``, exact."""
    return Interval(min(a.lo, b.lo), min(a.hi, b.hi))


def increasing(
    function: Callable[[float], float], low: float = -inf, high: float = inf
) -> Callable[[Interval], Interval]:
    """The rule of an increasing function with values in [low, high]; library functions are trusted to two units."""

    def rule(a: Interval) -> Interval:
        lo, hi = _safely(function, a.lo, -inf), _safely(function, a.hi, inf)
        lo, hi = nextafter(nextafter(lo, -inf), -inf), nextafter(nextafter(hi, inf), inf)
        return Interval(max(lo, low), min(hi, high))

    return rule


def _safely(function: Callable[[float], float], x: float, otherwise: float) -> float:
    try:
        value = function(x)
    except (OverflowError, ValueError):
        return otherwise
    return otherwise if math.isnan(value) else value


def power(a: Interval, exponent: Interval) -> Interval:
    """``a ^ n`` for a constant exponent; everything otherwise."""
    if not exponent.is_point:
        return EVERYTHING if a.lo < 0 else Interval(0.0, inf)
    n = exponent.lo
    if n == 0:
        return point(1.0)
    if n == 1:
        return a
    if n == 2:
        return square(a)
    if n == int(n) and n > 0:
        if int(n) % 2 == 0:
            return increasing(lambda x: x**n, low=0.0)(absolute(a))
        return increasing(lambda x: x**n)(a)
    if a.lo < 0:
        return EVERYTHING
    if n > 0:
        return increasing(lambda x: x**n, low=0.0)(a)
    return reciprocal(power(a, point(-n)))


def circle(function: Callable[[float], float], peak: float) -> Callable[[Interval], Interval]:
    """The rule of sine (``peak`` pi/2) or cosine (``peak`` 0): 1 at peak + 2 k pi, -1 half way between."""

    def rule(a: Interval) -> Interval:
        if not a.is_bounded or a.hi - a.lo >= 2 * math.pi or max(abs(a.lo), abs(a.hi)) > 1e8:
            return Interval(-1.0, 1.0)
        inner = outward(*sorted((function(a.lo), function(a.hi))))
        hi = 1.0 if _holds_turn(a, peak) else min(inner.hi, 1.0)
        lo = -1.0 if _holds_turn(a, peak + math.pi) else max(inner.lo, -1.0)
        return Interval(lo, hi)

    return rule


def _holds_turn(a: Interval, angle: float) -> bool:
    slack = 1e-9 * max(1.0, abs(a.lo), abs(a.hi))
    first = math.ceil((a.lo - slack - angle) / (2 * math.pi))
    return angle + first * 2 * math.pi <= a.hi + slack
