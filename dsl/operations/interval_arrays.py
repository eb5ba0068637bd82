"""Intervals of many rows at once: the rules of ``interval`` on arrays of ends, the same numbers.

An operation names its rule here in ``arrays``. The scalar rule of any other is applied once for every different row (``each``). Imports numpy, so
it is imported where rows are at hand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pdual.dsl.extensions import named
from pdual.dsl.operations.interval import Interval
from pdual.dsl.operations.operation import Operation

Array: TypeAlias = NDArray[np.float64]


class Ends(NamedTuple):
    """The intervals of some rows: ``lo`` and ``hi`` are [rows]."""

    lo: Array
    hi: Array

    def at(self, row: int) -> Interval:
        """The interval of one row."""
        return Interval(float(self.lo[row]), float(self.hi[row]))


def many(item: Interval | Ends, rows: int) -> Ends:
    """One interval for all rows, or what was given."""
    if isinstance(item, Ends):
        return item
    return Ends(np.full(rows, item.lo), np.full(rows, item.hi))


def each(rule: Callable[..., Interval], arguments: Sequence[Ends]) -> Ends:
    """A scalar rule, asked once about every different row."""
    ends = np.stack([end for argument in arguments for end in argument], axis=1)
    different, place = np.unique(ends, axis=0, return_inverse=True)
    found = np.array([rule(*_intervals(row)) for row in different.tolist()], dtype=np.float64).reshape(-1, 2)
    found = found[place.reshape(-1)]
    return Ends(found[:, 0], found[:, 1])


def _intervals(row: Sequence[float]) -> list[Interval]:
    return [Interval(lo, hi) for lo, hi in zip(row[::2], row[1::2], strict=True)]


def add(a: Ends, b: Ends) -> Ends:
    """``interval.add``, where no end is a side that is not there."""
    low, high = outward(a.lo + b.lo, a.hi + b.hi)
    low = np.where((a.lo >= 0) & (b.lo >= 0), np.maximum(low, 0.0), low)
    high = np.where((a.hi <= 0) & (b.hi <= 0), np.minimum(high, 0.0), high)
    return _chosen(_nothing(a), b, _chosen(_nothing(b), a, Ends(low, high)))


def subtract(a: Ends, b: Ends) -> Ends:
    """``interval.subtract``."""
    return _chosen(_nothing(b), a, Ends(*outward(a.lo - b.hi, a.hi - b.lo)))


def negate(a: Ends) -> Ends:
    """``interval.negate``."""
    return Ends(-a.hi, -a.lo)


def absolute(a: Ends) -> Ends:
    """``interval.absolute``."""
    least, most = np.minimum(np.abs(a.lo), np.abs(a.hi)), np.maximum(np.abs(a.lo), np.abs(a.hi))
    return Ends(np.where((a.lo <= 0) & (a.hi >= 0), 0.0, least), most)


def square(a: Ends) -> Ends:
    """``interval.square``."""
    low, high = a.lo * a.lo, a.hi * a.hi
    down, up = outward(np.minimum(low, high), np.maximum(low, high))
    low = np.where((a.lo <= 0) & (a.hi >= 0), 0.0, np.maximum(down, 0.0))
    return Ends(low, np.where(_nothing(a), 0.0, up))


def maximum(a: Ends, b: Ends) -> Ends:
    """``interval.maximum``."""
    return Ends(np.maximum(a.lo, b.lo), np.maximum(a.hi, b.hi))


def minimum(a: Ends, b: Ends) -> Ends:
    """``interval.minimum``."""
    return Ends(np.minimum(a.lo, b.lo), np.minimum(a.hi, b.hi))


def multiply(a: Ends, b: Ends) -> Ends:
    """``interval.multiply``."""
    x, y = np.stack((a.lo, a.lo, a.hi, a.hi)), np.stack((b.lo, b.hi, b.lo, b.hi))
    zero = (x == 0) | (y == 0)
    exact = zero | (np.abs(x) == 1) | (np.abs(y) == 1)
    value = np.where(zero, 0.0, x * y)
    down, up = outward(value, value)
    low: Array = np.where(exact, value, down).min(axis=0)
    high: Array = np.where(exact, value, up).max(axis=0)
    alike = ((a.lo >= 0) & (b.lo >= 0)) | ((a.hi <= 0) & (b.hi <= 0))
    apart = ((a.lo >= 0) & (b.hi <= 0)) | ((a.hi <= 0) & (b.lo >= 0))
    return Ends(np.where(alike, np.maximum(low, 0.0), low), np.where(apart, np.minimum(high, 0.0), high))


def outward(low: Array, high: Array) -> tuple[Array, Array]:
    """``interval.outward``."""
    down = np.where(np.isnan(low), -np.inf, np.nextafter(low, -np.inf))
    return down, np.where(np.isnan(high), np.inf, np.nextafter(high, np.inf))


def _nothing(a: Ends) -> NDArray[np.bool_]:
    """Where it is the number 0."""
    where: NDArray[np.bool_] = (a.lo == 0) & (a.hi == 0)
    return where


def _chosen(where: NDArray[np.bool_], taken: Ends, otherwise: Ends) -> Ends:
    return Ends(np.where(where, taken.lo, otherwise.lo), np.where(where, taken.hi, otherwise.hi))


def ranged(operation: Operation, arguments: Sequence[Interval | Ends], rows: int) -> Ends:
    """The range rule of an operation on rows. A side that is not there (an infinite number) is left to the scalar rule."""
    assert operation.interval is not None
    given = [many(argument, rows) for argument in arguments]
    if operation.arrays is None or any(bool((np.isinf(item.lo) & (item.lo == item.hi)).any()) for item in given):
        return each(operation.interval, given)
    with np.errstate(all="ignore"):
        rule: Callable[..., Ends] = named(operation.arrays)
        return rule(*given)
