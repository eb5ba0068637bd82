"""One backward sweep a relation: what ``left - right <= 0`` (or ``== 0``) says about the values that it reads.

The sweep goes from the residual of one entry down to fields and model outputs, narrowing ranges by ``contract``. What it finds holds
wherever the relation does; where it finds nothing, the relation holds nowhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, isinf
from typing import NamedTuple

from pdual.compiler.attributes import IndexAxis
from pdual.compiler.interval_analysis import IntervalAnalysis
from pdual.compiler.ir import Node
from pdual.dsl.operations import OPERATIONS
from pdual.dsl.operations.contraction import contract
from pdual.dsl.operations.interval import EVERYTHING, TRUE, Interval, add, intersect, subtract

#: Entries that one sweep narrows: what it has found by then holds, and the rest is left as it was.
_MOST = 100_000
#: Narrowed ranges that differ by less than this share of the old one are not pursued.
_GAIN = 1e-9


class Leaf(NamedTuple):
    """A value that a relation reads: an entry of a field of the row, or of one output of one model call."""

    owner: str  # the data set or the model
    name: str  # the part name of the field or output
    inner: tuple[int, ...]
    call: int  # the node of the call; -1 for a field


def sweep(
    intervals: IntervalAnalysis, residual: Node, indices: Mapping[IndexAxis, int], *, equality: bool
) -> Mapping[Leaf, Interval] | None:
    """The ranges that the leaves have where the relation holds; None where it can hold nowhere."""
    found: dict[Leaf, Interval] = {}
    target = Interval(0.0 if equality else -inf, 0.0)
    return found if _Narrowing(intervals, found).push(residual, indices, (), target) else None


class _Narrowing:
    def __init__(self, intervals: IntervalAnalysis, ranges: dict[Leaf, Interval]) -> None:
        self._intervals = intervals
        self._found = ranges
        self._narrowed: dict[tuple[object, ...], Interval] = {}  # as the entries inside know them
        self._count = 0

    def push(self, node: Node, indices: Mapping[IndexAxis, int], inner: tuple[int, ...], target: Interval) -> bool:
        """Narrow an entry to ``target``; False where it has no value there."""
        before = self._intervals.range(node, indices, inner)
        now = intersect(before, target)
        if now is None:
            return False
        leaf = _leaf(node, inner)
        if leaf is not None:
            held = intersect(self._found.get(leaf, before), now)
            if held is None:
                return False
            self._found[leaf] = held
            return True
        key = (node.identity, tuple(map(indices.get, node.axes)), inner)
        before = self._narrowed.get(key, before)  # a value may stand in very many places
        now = intersect(before, now)
        if now is None:
            return False
        if not _narrower(now, before) or self._count == _MOST:
            return True
        self._narrowed[key] = now
        self._count += 1
        return self._inside(node, indices, inner, now)

    def _inside(self, node: Node, indices: Mapping[IndexAxis, int], inner: tuple[int, ...], now: Interval) -> bool:
        if node.operation in OPERATIONS:
            places = [inner if argument.inner else () for argument in node.arguments]
            ranges = [self._intervals.range(a, indices, p) for a, p in zip(node.arguments, places, strict=True)]
            narrowed = contract(node.operation, ranges, now)
            if narrowed is None:
                return False
            return all(
                self.push(argument, indices, place, after)
                for argument, place, after in zip(node.arguments, places, narrowed, strict=True)
            )
        match node.operation:
            case "spread":
                return self.push(node.arguments[0], indices, inner, now)
            case "collect":
                axes = node.named_axes
                placed = {**indices, **dict(zip(axes, inner, strict=False))}
                return self.push(node.arguments[0], placed, inner[len(axes) :], now)
            case "select":
                base, index = node.arguments
                place = self._intervals.range(index, indices)
                return not place.is_point or self.push(base, indices, (int(place.lo), *inner), now)
            case "reduce":
                return self._reduce(node, indices, inner, now)
        return True

    def _reduce(self, node: Node, indices: Mapping[IndexAxis, int], inner: tuple[int, ...], now: Interval) -> bool:
        function, axis = node.reduction
        size = self._intervals.sizes.get(axis.set)
        body = node.arguments[0]
        if size is None or function not in ("sum", "max", "min"):
            return True
        place = inner if body.inner else ()
        entries = []
        for member in range(size):
            placed = {**indices, axis: member}
            kept = self._intervals.range(node.arguments[1], placed) if len(node.arguments) > 1 else TRUE
            if kept == TRUE:
                entries.append((placed, self._intervals.range(body, placed, place)))
            elif kept.hi > 0 and function == "sum":
                return True  # a term that may or may not be there
        limits = _limits(function, [found for _, found in entries], now)
        return all(self.push(body, placed, place, limit) for (placed, _), limit in zip(entries, limits, strict=True))


def _limits(function: str, terms: list[Interval], now: Interval) -> list[Interval]:
    """The range of each term of a reduction, given that of the whole."""
    if function == "max":
        return [Interval(-inf, now.hi)] * len(terms)
    if function == "min":
        return [Interval(now.lo, inf)] * len(terms)
    if sum(term == EVERYTHING for term in terms) > 1:
        return [EVERYTHING] * len(terms)
    rounding = len(terms) * 2.0**-52 * max((max(abs(t.lo), abs(t.hi)) for t in terms if t != EVERYTHING), default=0.0)
    slack = Interval(-rounding, rounding) if rounding < inf else EVERYTHING
    before, after = [Interval(0.0, 0.0)], [Interval(0.0, 0.0)]
    for term in terms[:-1]:
        before.append(add(before[-1], term))
    for term in reversed(terms[1:]):
        after.append(add(after[-1], term))
    others = [add(left, right) for left, right in zip(before, reversed(after), strict=True)]
    return [add(subtract(now, other), slack) for other in others]


def _leaf(node: Node, inner: tuple[int, ...]) -> Leaf | None:
    if node.operation == "output":
        call = node.arguments[0]
        return Leaf(call.name, node.name, inner, call.identity)
    if node.operation == "field":
        data, name, component = node.field
        return Leaf(data, f"{name}.{component}" if component else name, inner, -1)
    return None


def _narrower(now: Interval, before: Interval) -> bool:
    """Whether enough was gained for the arguments to be looked at."""
    return _gained(before.lo, now.lo) or _gained(before.hi, now.hi)


def _gained(before: float, now: float) -> bool:
    return now != before and (isinf(before) or abs(now - before) > _GAIN * abs(before))
