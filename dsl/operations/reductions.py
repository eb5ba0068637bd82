"""Reductions over indices (``sum[g in gen](...)``) and functions of a whole array (``argmax(z)``)."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pdual.dsl.operations import interval
from pdual.dsl.operations.interval import FALSE, TRUE, Interval
from pdual.dsl.record import record
from pdual.dsl.types import Element, Kind, is_numeric


@record(frozen=True, slots=True)
class Reduction:
    """A reduction: element rule, scalar meaning over the kept values, range over (value, kept) intervals, LaTeX.

    ``kept`` is TRUE, FALSE or in between for each candidate. ``of_none`` is the value over nothing, None where that is an error
    of the data.
    """

    name: str
    result: Callable[[Element], Element | None]
    expects: str
    meaning: Callable[[Sequence[Any]], Any]
    interval: Callable[[Sequence[tuple[Interval, Interval]]], Interval]
    latex: str
    of_none: float | None = None


def _sum_range(items: Sequence[tuple[Interval, Interval]]) -> Interval:
    total, count, size = FALSE, 0, 0.0
    never_negative = never_positive = True
    for value, kept in items:
        if kept == FALSE:
            continue
        term = value if kept == TRUE else interval.union(value, FALSE)
        total = interval.add(total, term)
        count += 1
        size += max(abs(term.lo), abs(term.hi))
        never_negative &= term.lo >= 0
        never_positive &= term.hi <= 0
    if count < 3 or math.isinf(size):
        return total
    # The order of additions is the executor's: what cancels late may have been rounded at its largest.
    slack = count * sys.float_info.epsilon * size
    low = max(0.0, total.lo - slack) if never_negative else total.lo - slack
    high = min(0.0, total.hi + slack) if never_positive else total.hi + slack
    return Interval(low, high)


def _hull(items: Sequence[tuple[Interval, Interval]]) -> Interval:
    values = [value for value, kept in items if kept != FALSE]
    if not values:
        return interval.EVERYTHING
    return Interval(min(v.lo for v in values), max(v.hi for v in values))


def _mean_range(items: Sequence[tuple[Interval, Interval]]) -> Interval:
    hull = _hull(items)
    if not hull.is_bounded:
        return hull
    # Every addition and the division round: a mean of equal numbers need not be that number.
    slack = (len(items) + 1) * sys.float_info.epsilon * max(abs(hull.lo), abs(hull.hi))
    return interval.outward(hull.lo - slack, hull.hi + slack)


def _max_range(items: Sequence[tuple[Interval, Interval]]) -> Interval:
    hull = _hull(items)
    sure = [value.lo for value, kept in items if kept == TRUE]
    return Interval(max(sure, default=hull.lo), hull.hi)


def _min_range(items: Sequence[tuple[Interval, Interval]]) -> Interval:
    hull = _hull(items)
    sure = [value.hi for value, kept in items if kept == TRUE]
    return Interval(hull.lo, min(sure, default=hull.hi))


def _count_range(items: Sequence[tuple[Interval, Interval]]) -> Interval:
    return Interval(float(sum(kept == TRUE for _, kept in items)), float(sum(kept != FALSE for _, kept in items)))


def _numeric(element: Element) -> Element | None:
    return element if is_numeric(element) else None


def _averaged(element: Element) -> Element | None:
    if element is Kind.BOOL:
        return Kind.REAL
    return None if not is_numeric(element) else Kind.COMPLEX if element is Kind.COMPLEX else Kind.REAL


def _ordered(element: Element) -> Element | None:
    return element if element in (Kind.INT, Kind.REAL) else None


def _total(values: Sequence[Any]) -> Any:
    if any(isinstance(value, complex) for value in values):
        return complex(math.fsum(v.real for v in values), math.fsum(v.imag for v in values))
    return math.fsum(values)


REDUCTIONS: Mapping[str, Reduction] = {
    item.name: item
    for item in (
        Reduction("sum", _numeric, "a number", _total, _sum_range, r"\sum", of_none=0.0),
        Reduction("mean", _averaged, "a number", lambda v: _total(v) / len(v), _mean_range, r"\operatorname*{mean}"),
        Reduction("max", _ordered, "a real number", max, _max_range, r"\max"),
        Reduction("min", _ordered, "a real number", min, _min_range, r"\min"),
        Reduction("count", lambda element: Kind.INT, "anything", len, _count_range, r"\#", of_none=0.0),
    )
}


@record(frozen=True, slots=True)
class Aggregate:
    """A function of a whole array: arity, scalar meaning on a Python list, LaTeX name. The checker knows their types."""

    name: str
    arity: int
    expects: str
    meaning: Callable[..., Any]
    latex: str


def tail_count(share: float, size: int) -> int:
    """max(1, ceil(share * size)), at most ``size``; 0.07 of 100 is 7 although the product rounds upward."""
    return min(size, max(1, math.ceil(share * size - 1e-6)))


def _extreme_mean(values: Sequence[float], share: float, largest: bool) -> float:
    """Mean of the max(1, ceil(share * n)) largest or smallest elements; of none there is no mean."""
    if not values:
        raise ValueError("mean over none")
    count = tail_count(share, len(values))
    return math.fsum(sorted(values, reverse=largest)[:count]) / count


AGGREGATES: Mapping[str, Aggregate] = {
    item.name: item
    for item in (
        Aggregate(
            "argmax",
            1,
            "an array of real over one index set",
            lambda v: max(range(len(v)), key=v.__getitem__),
            r"\arg\max",
        ),
        Aggregate(
            "top_mean", 2, "a real vector and a share", lambda v, s: _extreme_mean(v, s, True), r"\operatorname{top}"
        ),
        Aggregate(
            "bottom_mean",
            2,
            "a real vector and a share",
            lambda v, s: _extreme_mean(v, s, False),
            r"\operatorname{bottom}",
        ),
    )
}
