"""Scalar walk over the IR in the domain of intervals: exact on what is known, sound on what is not.

One entry at a time, in plain Python: it needs no array library, and ``explain`` stays light. Constants are points, fields and
outputs have their declared ranges, everything else follows by the operations' range rules.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any, Generic, TypeVar

from pdual.compiler.ir import IndexAxis, Node, Scalar
from pdual.dsl.declarations.known import Known
from pdual.dsl.operations import OPERATIONS, REDUCTIONS
from pdual.dsl.operations.interval import EITHER, EVERYTHING, FALSE, TRUE, Interval, point, union
from pdual.dsl.operations.operation import Operation
from pdual.dsl.types import SetAxis

T = TypeVar("T")

_MANY = 4096  # members over which a value at an unknown index is bounded by "everything" rather than by their hull


class Remembering(ABC, Generic[T]):
    """What is known of the entries of IR nodes, each found once."""

    _memo: dict[tuple[Any, ...], T]

    def range(self, node: Node, indices: Mapping[IndexAxis, int], inner: Sequence[int] = ()) -> T:
        """The range of one entry: ``indices`` places it on the node's named axes, ``inner`` on its inner ones."""
        inner = tuple(inner)
        key = (node.identity, tuple(map(indices.get, node.axes)), inner)
        found = self._memo.get(key)
        if found is None:
            found = self._range(node, indices, inner)
            self._memo[key] = found
        return found

    @abstractmethod
    def _range(self, node: Node, indices: Mapping[IndexAxis, int], inner: tuple[int, ...]) -> T: ...


@dataclass
class IntervalAnalysis(Remembering[Interval]):
    """Ranges of the entries of IR nodes.

    ``sizes``: members of each set that is known. ``fields`` and ``outputs``: declared ranges by (data set, field) and (model, output).
    """

    knowns: Mapping[str, Known]
    sizes: Mapping[str, int]
    fields: Mapping[tuple[str, str], Interval] = field(default_factory=dict)
    outputs: Mapping[tuple[str, str], Interval] = field(default_factory=dict)
    members: Mapping[tuple[str, str], str] = field(default_factory=dict)  # the set that a field points into
    _memo: dict[tuple[Any, ...], Interval] = field(default_factory=dict)
    _landed: dict[tuple[Any, ...], dict[Interval, list[int]]] = field(default_factory=dict)

    def _range(self, node: Node, indices: Mapping[IndexAxis, int], inner: tuple[int, ...]) -> Interval:
        operation = OPERATIONS.get(node.operation)
        if operation is not None:
            return self._operation(operation, node, indices, inner)
        match node.operation:
            case "number":
                return point(float(node.attributes[0]))
            case "given":
                return self._known(node, inner)
            case "field":
                return self._field(node)
            case "index":
                place = indices.get(node.axes[0])
                return point(float(place)) if place is not None else self._any_member(node.axes[0].set)
            case "output":
                return self._output(node)
            case "select":
                return self._select(node, indices, inner)
            case "collect":
                axes: tuple[IndexAxis, ...] = node.attributes
                placed = {**indices, **dict(zip(axes, inner, strict=False))}
                return self.range(node.arguments[0], placed, inner[len(axes) :])
            case "average":
                return self.range(node.arguments[0], {})
            case "spread" | "member":
                return self.range(node.arguments[0], indices, inner)
            case "present":
                return EITHER
            case "reduce":
                return self._reduce(node, indices, inner)
            case "scatter":
                return self._scatter(node, indices, inner)
            case "reduce_rows":
                return self._reduce_rows(node, indices, inner)
            case "aggregate":
                return self._aggregate(node, indices)
            case "norm":
                return Interval(0.0, inf)
            case "ragged_index":
                return Interval(0.0, inf)
            case "features" | "feature_input" | "call":
                return EVERYTHING
        raise AssertionError(node.operation)

    def _operation(
        self, operation: Operation, node: Node, indices: Mapping[IndexAxis, int], inner: tuple[int, ...]
    ) -> Interval:
        found = []
        adds = node.operation in ("add", "subtract")
        for argument in node.arguments:
            value = self.range(argument, indices, inner if argument.inner else ())
            if adds and value == EVERYTHING:
                return EVERYTHING  # whatever is added: the other side need not be walked
            found.append(value)
        assert operation.interval is not None, node.operation
        return operation.interval(*found)

    def _known(self, node: Node, inner: tuple[int, ...]) -> Interval:
        given, name, component = node.attributes
        known = self.knowns.get(given)
        if known is None:
            return EITHER if node.kind is Scalar.BOOL else EVERYTHING
        value = known.fields[name]
        for place in inner:
            value = value[place]
        if component:
            value = value.real if component == "re" else complex(value).imag
        return point(float(value))

    def _field(self, node: Node) -> Interval:
        key = node.attributes[:2]
        if node.kind is Scalar.BOOL:
            return EITHER
        if key in self.members:
            return self._any_member(self.members[key])
        return self.fields.get(key, EVERYTHING)

    def _any_member(self, name: str) -> Interval:
        size = self.sizes.get(name)
        return Interval(0.0, inf if size is None else float(max(size - 1, 0)))

    def _output(self, node: Node) -> Interval:
        model = node.arguments[0].attributes[0]
        name = str(node.attributes[0])
        return self.outputs.get((model, name.removesuffix(".re").removesuffix(".im")), EVERYTHING)

    def _select(self, node: Node, indices: Mapping[IndexAxis, int], inner: tuple[int, ...]) -> Interval:
        base, index = node.arguments
        place = self.range(index, indices)
        if place.is_point:
            return self.range(base, indices, (int(place.lo), *inner))
        axis = base.inner[0]
        size = self.sizes.get(axis.set) if isinstance(axis, SetAxis) else None
        if size is None or size > _MANY:
            return self.range(base, indices, (0, *inner)) if base.operation in ("output", "field") else EVERYTHING
        members = range(max(0, int(place.lo)), min(size, int(place.hi) + 1))
        found = [self.range(base, indices, (member, *inner)) for member in members]
        return Interval(min(r.lo for r in found), max(r.hi for r in found)) if found else EVERYTHING

    def _reduce(self, node: Node, indices: Mapping[IndexAxis, int], inner: tuple[int, ...]) -> Interval:
        function, axis = node.attributes
        size = self.sizes.get(axis.set)
        body = node.arguments[0]
        if size is None:
            return self._of_unknown_many(function, self.range(body, indices, inner if body.inner else ()))
        items = []
        for member in range(size):
            placed = {**indices, axis: member}
            kept = self.range(node.arguments[1], placed) if len(node.arguments) > 1 else TRUE
            if kept != FALSE:
                found = self.range(body, placed, inner if body.inner else ())
                if function == "sum" and found == EVERYTHING:
                    return EVERYTHING
                items.append((found, kept))
        return REDUCTIONS[function].interval(items)

    def _scatter(self, node: Node, indices: Mapping[IndexAxis, int], inner: tuple[int, ...]) -> Interval:
        function, start, end = node.attributes
        body, where = node.arguments[:2]
        here = indices.get(end)
        if start.set not in self.sizes or here is None:
            return self._of_unknown_many(function, self.range(body, indices, inner if body.inner else ()))
        items = []
        for place, members in self._landing(where, start, indices).items():
            if here not in place:
                continue
            for member in members:
                placed = {**indices, start: member}
                kept = self.range(node.arguments[2], placed) if len(node.arguments) > 2 else TRUE
                if kept != FALSE:
                    certain = place.is_point and kept == TRUE
                    found = self.range(body, placed, inner if body.inner else ())
                    if function == "sum" and found == EVERYTHING:
                        return EVERYTHING
                    items.append((found, TRUE if certain else EITHER))
        return REDUCTIONS[function].interval(items)

    def _landing(self, where: Node, start: IndexAxis, indices: Mapping[IndexAxis, int]) -> dict[Interval, list[int]]:
        """The members of ``start`` by the place that ``where`` sends them to."""
        elsewhere = {**indices, start: None}
        key = (where.identity, start, tuple(map(elsewhere.get, where.axes)))
        found = self._landed.get(key)
        if found is None:
            found = self._landed[key] = {}
            for member in range(self.sizes[start.set]):
                found.setdefault(self.range(where, {**indices, start: member}), []).append(member)
        return found

    def _reduce_rows(self, node: Node, indices: Mapping[IndexAxis, int], inner: tuple[int, ...]) -> Interval:
        body = node.arguments[0]
        return self._of_unknown_many(node.attributes[0], self.range(body, indices, inner if body.inner else ()))

    def _of_unknown_many(self, function: str, body: Interval) -> Interval:
        if function in ("max", "min", "mean"):
            return body
        if function == "count":
            return Interval(0.0, inf)
        return Interval(0.0 if body.lo >= 0 else -inf, 0.0 if body.hi <= 0 else inf)

    def _aggregate(self, node: Node, indices: Mapping[IndexAxis, int]) -> Interval:
        axis = node.arguments[0].inner[0]
        size = self.sizes.get(axis.set) if isinstance(axis, SetAxis) else None
        if node.attributes[0] == "argmax":
            return Interval(0.0, float(size - 1) if size else inf)
        if size is None:
            return EVERYTHING
        found = self.range(node.arguments[0], indices, (0,))
        for place in range(1, size):
            found = union(found, self.range(node.arguments[0], indices, (place,)))
        return found


def places(axes: Sequence[IndexAxis], sizes: Mapping[str, int]) -> list[tuple[int, ...]]:
    """Every combination of members of the axes, the last running fastest."""
    return list(itertools.product(*(range(sizes[axis.set]) for axis in axes)))
