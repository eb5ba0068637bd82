"""Rules from a result's range back to its arguments' that several operations share."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from math import inf

from pdual.dsl.operations.interval import EVERYTHING, Interval, divide, increasing, intersect, union
from pdual.dsl.operations.operation import Narrowing


def quotient(result: Interval, factor: Interval) -> Interval:
    """x from x * factor; a factor that may be 0 says nothing where the product may be 0."""
    if 0 in factor and 0 in result:
        return EVERYTHING
    return divide(result, factor)


def two_sided(x: Interval, near: float, far: float) -> Interval | None:
    """``near <= |x| <= far``."""
    sides = [intersect(x, Interval(near, far)), intersect(x, Interval(-far, -near))]
    held = [side for side in sides if side is not None]
    if not held:
        return None
    return held[0] if len(held) == 1 else union(*held)


def by_inverse(
    function: Callable[[float], float], low: float = -inf, high: float = inf, below: float = -inf, above: float = inf
) -> Narrowing:
    """The rule of an increasing function by its inverse, whose arguments lie in [low, high].

    At ``below`` and further left, and at ``above`` and further right, the function may already say what it says at infinity.
    """
    inward = increasing(function)

    def rule(arguments: Sequence[Interval], result: Interval) -> Sequence[Interval | None]:
        clipped = intersect(result, Interval(low, high))
        if clipped is None:
            return (None,)
        found = inward(clipped)
        wide = 4 * math.ulp(1.0)
        low_end = found.lo - wide * abs(found.lo) if math.isfinite(found.lo) else found.lo
        high_end = found.hi + wide * abs(found.hi) if math.isfinite(found.hi) else found.hi
        return (Interval(min(low_end, above), max(high_end, below)),)

    return rule
