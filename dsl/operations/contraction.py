"""Intervals backwards: from the range of a result to narrower ranges of the arguments. Pure functions, sound under floating point.

``contract`` narrows the arguments of one primitive: whatever arguments within their ranges give a result within its range, as meant or
as emitted, stay within the narrowed ones. Primitives without a rule narrow nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from pdual.dsl.operations import OPERATIONS
from pdual.dsl.operations.interval import Interval, intersect, outward

#: The smallest normal number: below it a product or a square may have lost all its digits.
_NORMAL = 2.2250738585072014e-308


def contract(operation: str, arguments: Sequence[Interval], result: Interval) -> tuple[Interval, ...] | None:
    """The arguments' ranges given the result's; None where no arguments within their ranges give such a result."""
    rule = OPERATIONS[operation].narrow
    if rule is None:
        return tuple(arguments)
    narrowed = []
    for before, after in zip(arguments, rule(arguments, _rounded(result)), strict=True):
        both = None if after is None else intersect(before, after)
        if both is None:
            return None
        narrowed.append(both)
    return tuple(narrowed)


def _rounded(result: Interval) -> Interval:
    """What an exact result may have been whose rounded value lies in ``result``: two units, and what underflows."""
    once = outward(result.lo, result.hi)
    twice = outward(once.lo, once.hi)
    return Interval(
        twice.lo if abs(twice.lo) >= _NORMAL else twice.lo - _NORMAL,
        twice.hi if abs(twice.hi) >= _NORMAL else twice.hi + _NORMAL,
    )
