"""Ranges of constraints on rows that are at hand: fields are the rows' own numbers, outputs have their declared ranges.

The analysis of ``interval_analysis.py`` for all rows at once. What does not read a field, and what has no rule for rows, has the range that
it has for every row, which holds for these too. numpy is imported with this module, which only what binds data imports.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pdual.compiler.attributes import IndexAxis
from pdual.compiler.interval_analysis import IntervalAnalysis, Remembering
from pdual.compiler.ir import Node
from pdual.compiler.layout import Sense
from pdual.compiler.rows import PartRows
from pdual.dsl.operations import OPERATIONS
from pdual.dsl.operations.interval import FALSE, TRUE, Interval
from pdual.dsl.operations.interval_arrays import Array, Ends, many, ranged
from pdual.dsl.operations.reduction_arrays import reduced

Range: TypeAlias = Interval | Ends

#: Members over which a value at a row's own index is looked up one by one.
_LOOKED_UP = 1024


class PartFacts(NamedTuple):
    """Of one part on some rows, all [rows, entries]: whether it is a constraint there (``live``), and the range of ``left - right``."""

    live: NDArray[np.bool_]
    low: Array
    high: Array
    equality: bool

    @property
    def never(self) -> NDArray[np.bool_]:
        """Where it holds for no outputs within their declared ranges."""
        return self.live & ((self.low > 0) | (self.high < 0) if self.equality else self.low > 0)

    @property
    def always(self) -> NDArray[np.bool_]:
        """Where it cannot be violated."""
        return self.live & (self.high <= 0) & ((self.low >= 0) if self.equality else True)


class RowWalk(Remembering[Range]):
    """Ranges of entries of nodes on ``rows`` rows; an ``Interval`` where all of them have the same.

    ``fields``: the rows' columns that hold numbers, by part name (``load.re``) [rows, *axes].
    """

    def __init__(self, intervals: IntervalAnalysis, fields: Mapping[str, NDArray[Any]], rows: int) -> None:
        self._intervals = intervals
        self._fields = fields
        self._rows = rows
        self._memo = {}

    def facts(self, part: PartRows) -> PartFacts:
        """What is known of a part on the rows."""
        kept, found = [], []
        for place in part.layout.members:
            at = dict(zip(part.axes, place, strict=True))
            kept.append(many(self.range(part.mask, at) if part.mask is not None else TRUE, self._rows).lo > 0)
            found.append(many(self.range(part.residual, at), self._rows))
        low, high = (np.stack(ends, 1) for ends in zip(*found, strict=True))
        return PartFacts(np.stack(kept, 1), low, high, part.layout.sense is Sense.EQUAL)

    def _range(self, node: Node, indices: Mapping[IndexAxis, int], inner: tuple[int, ...]) -> Range:
        operation = OPERATIONS.get(node.operation)
        if operation is not None and operation.interval is not None:
            given = [self.range(argument, indices, inner if argument.inner else ()) for argument in node.arguments]
            if any(isinstance(item, Ends) for item in given):
                return ranged(operation, given, self._rows)
            return self._intervals.range(node, indices, inner)
        match node.operation:
            case "field":
                return self._field(node, indices, inner)
            case "select":
                return self._select(node, indices, inner)
            case "collect":
                axes = node.named_axes
                placed = {**indices, **dict(zip(axes, inner, strict=False))}
                return self.range(node.arguments[0], placed, inner[len(axes) :])
            case "spread" | "member":
                return self.range(node.arguments[0], indices, inner)
            case "reduce":
                return self._reduce(node, indices, inner)
        return self._intervals.range(node, indices, inner)

    def _field(self, node: Node, indices: Mapping[IndexAxis, int], inner: tuple[int, ...]) -> Range:
        _, name, component = node.field
        column = self._fields.get(f"{name}.{component}" if component else name)
        if column is None or node.axes or column.ndim != 1 + len(inner):
            return self._intervals.range(node, indices, inner)
        place: tuple[Any, ...] = (slice(None), *inner)
        values = column[place].astype(np.float64)
        return Ends(values, values)

    def _select(self, node: Node, indices: Mapping[IndexAxis, int], inner: tuple[int, ...]) -> Range:
        base, index = node.arguments
        place = self.range(index, indices)
        if not isinstance(place, Ends):
            if place.is_point:
                return self.range(base, indices, (int(place.lo), *inner))
            return self._intervals.range(node, indices, inner)
        wanted = np.unique(place.lo)
        if not np.array_equal(place.lo, place.hi) or len(wanted) > _LOOKED_UP:
            return self._intervals.range(node, indices, inner)
        low, high = np.empty(self._rows), np.empty(self._rows)
        for member in wanted:
            here = place.lo == member
            found = many(self.range(base, indices, (int(member), *inner)), self._rows)
            low[here], high[here] = found.lo[here], found.hi[here]
        return Ends(low, high)

    def _reduce(self, node: Node, indices: Mapping[IndexAxis, int], inner: tuple[int, ...]) -> Range:
        function, axis = node.reduction
        size = self._intervals.sizes.get(axis.set)
        if size is None:
            return self._intervals.range(node, indices, inner)
        body = node.arguments[0]
        items: list[tuple[Range, Range]] = []
        for member in range(size):
            placed = {**indices, axis: member}
            kept = self.range(node.arguments[1], placed) if len(node.arguments) > 1 else TRUE
            if isinstance(kept, Ends) or kept != FALSE:  # by row, or kept by none
                items.append((self.range(body, placed, inner if body.inner else ()), kept))
        if not any(isinstance(item, Ends) for pair in items for item in pair):
            return self._intervals.range(node, indices, inner)
        return reduced(function, items, self._rows)
