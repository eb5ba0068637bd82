"""Ranges of reductions of many rows at once: the rules of ``reductions`` on arrays of ends, the same numbers.

A reduction whose rule is not here has its scalar rule applied once for every different row. Imports numpy, as ``interval_arrays`` does.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pdual.dsl.operations.interval import EVERYTHING, FALSE, Interval
from pdual.dsl.operations.interval_arrays import Array, Ends, add, each, many, outward
from pdual.dsl.operations.reductions import REDUCTIONS

#: Values with whether each takes part, as the scalar rules have them.
Items: TypeAlias = Sequence[tuple[Ends, Ends]]
Truths: TypeAlias = NDArray[np.bool_]


def _takes_part(kept: Ends) -> Truths:
    taken: Truths = ~((kept.lo == 0) & (kept.hi == 0))
    return taken


def _surely(kept: Ends) -> Truths:
    sure: Truths = (kept.lo == 1) & (kept.hi == 1)
    return sure


def _sum(items: Items, rows: int) -> Ends:
    total, count, size = many(FALSE, rows), np.zeros(rows), np.zeros(rows)
    never_negative, never_positive = np.ones(rows, dtype=bool), np.ones(rows, dtype=bool)
    for value, kept in items:
        taken, sure = _takes_part(kept), _surely(kept)
        low = np.where(sure, value.lo, np.minimum(value.lo, 0.0))
        high = np.where(sure, value.hi, np.maximum(value.hi, 0.0))
        added = add(total, Ends(low, high))
        total = Ends(np.where(taken, added.lo, total.lo), np.where(taken, added.hi, total.hi))
        count += taken
        size += np.where(taken, np.maximum(np.abs(low), np.abs(high)), 0.0)
        never_negative &= ~taken | (low >= 0)
        never_positive &= ~taken | (high <= 0)
    slack = np.where((count < 3) | np.isinf(size), 0.0, count * sys.float_info.epsilon * size)
    low, high = total.lo - slack, total.hi + slack
    low = np.where(never_negative & (slack > 0), np.maximum(low, 0.0), low)
    return Ends(low, np.where(never_positive & (slack > 0), np.minimum(high, 0.0), high))


def _hull(items: Items, rows: int) -> Ends:
    low: Array = reduce(np.minimum, (np.where(_takes_part(kept), value.lo, np.inf) for value, kept in items))
    high: Array = reduce(np.maximum, (np.where(_takes_part(kept), value.hi, -np.inf) for value, kept in items))
    none = ~np.any([_takes_part(kept) for _, kept in items], axis=0)
    return Ends(np.where(none, EVERYTHING.lo, low), np.where(none, EVERYTHING.hi, high))


def _mean(items: Items, rows: int) -> Ends:
    hull = _hull(items, rows)
    slack = (len(items) + 1) * sys.float_info.epsilon * np.maximum(np.abs(hull.lo), np.abs(hull.hi))
    low, high = outward(hull.lo - slack, hull.hi + slack)
    bounded = np.isfinite(hull.lo) & np.isfinite(hull.hi)
    return Ends(np.where(bounded, low, hull.lo), np.where(bounded, high, hull.hi))


def _max(items: Items, rows: int) -> Ends:
    hull = _hull(items, rows)
    sure = np.any([_surely(kept) for _, kept in items], axis=0)
    low: Array = reduce(np.maximum, (np.where(_surely(kept), value.lo, -np.inf) for value, kept in items))
    return Ends(np.where(sure, low, hull.lo), hull.hi)


def _min(items: Items, rows: int) -> Ends:
    hull = _hull(items, rows)
    sure = np.any([_surely(kept) for _, kept in items], axis=0)
    high: Array = reduce(np.minimum, (np.where(_surely(kept), value.hi, np.inf) for value, kept in items))
    return Ends(hull.lo, np.where(sure, high, hull.hi))


def _count(items: Items, rows: int) -> Ends:
    sure: Array = np.sum([_surely(kept) for _, kept in items], axis=0, dtype=np.float64)
    possible: Array = np.sum([_takes_part(kept) for _, kept in items], axis=0, dtype=np.float64)
    return Ends(sure, possible)


#: Rules on arrays, by reduction.
REDUCED: Mapping[str, Callable[[Items, int], Ends]] = {
    "sum": _sum, "mean": _mean, "max": _max, "min": _min, "count": _count,
}  # fmt: skip


def reduced(function: str, items: Sequence[tuple[Interval | Ends, Interval | Ends]], rows: int) -> Ends:
    """The range rule of a reduction on rows. A side that is not there (an infinite number) is left to the scalar rule."""
    given = [(many(value, rows), many(kept, rows)) for value, kept in items]
    array = REDUCED.get(function)
    if array is None or not given or any(bool((np.isinf(v.lo) & (v.lo == v.hi)).any()) for v, _ in given):
        rule = REDUCTIONS[function].interval
        flat = [ends for pair in given for ends in pair]
        return each(lambda *ends: rule(list(zip(ends[::2], ends[1::2], strict=True))), flat)
    with np.errstate(all="ignore"):
        return array(given, rows)
