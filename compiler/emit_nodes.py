"""One IR node to torch calls. The same rules run eagerly on tensors (constants are folded so) and on torch.fx proxies.

Layout of a value: ``[batch if batched] + axes (sorted) + inner``; in place of the batch a ragged node has all elements of all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from pdual.compiler import kernels
from pdual.compiler.attributes import IndexAxis
from pdual.compiler.ir import Node, Scalar
from pdual.dsl.diagnostics import refuse
from pdual.dsl.operations import OPERATIONS
from pdual.dsl.types import Axis, FixedAxis, RaggedAxis, SetAxis

Leaf = Callable[..., Any]


class NodeEmitter:
    """Emits nodes given their arguments' values.

    ``leaf(function, *arguments)`` records a call that must not be traced into, ``constant(tensor)`` a constant (eagerly they do
    nothing else than call and return).
    """

    def __init__(self, sizes: Mapping[str, int], dtype: torch.dtype, leaf: Leaf, constant: Leaf) -> None:
        self.sizes = sizes
        self.dtype = dtype
        self._leaf = leaf
        self._constant = constant
        self.offsets: dict[str, Any] = {}  # of each ragged axis met so far
        self._functions: dict[str, Callable[..., Any]] = {}

    def emit(self, node: Node, values: Sequence[Any]) -> Any:
        """The value of a node that is neither a leaf (number, given, field, call) nor a feature."""
        match node.operation:
            case "index":
                return torch.arange(self.sizes[node.axes[0].set])
            case "ragged_index":
                return self._leaf(kernels.segment_positions, self._lengths(node.name, node))
            case "select":
                return self._select(node, values[0], values[1])
            case "collect":
                return self._collect(node, values[0])
            case "spread":
                return self._spread(node, values[0])
            case "reduce":
                return self._reduce(node, values)
            case "scatter":
                return self._scatter(node, values)
            case "reduce_rows":
                return self._reduce_rows(node, values)
            case "aggregate":
                return self._aggregate(node, values)
            case "as_real":
                argument = node.arguments[0]
                return values[0] if argument.kind is Scalar.REAL else values[0].to(self.dtype)
        return self._elementwise(node, values)

    def _lengths(self, name: str, node: Node) -> Any:
        """The offsets of a ragged axis; PD294 where nothing that is computed has this axis."""
        if name not in self.offsets:
            raise refuse("PD294", node.span, axis=name)
        return self.offsets[name]

    def aligned(
        self, value: Any, node: Node, axes: Sequence[IndexAxis], inner: int, ragged: str | None, batched: bool
    ) -> Any:
        """A value made broadcastable to a layout: singleton dimensions where it does not vary."""
        if ragged and node.batched and not node.ragged:
            value = value.index_select(0, self._leaf(kernels.segment_rows, self._lengths(ragged, node)))
        start = 1 if node.batched else 0
        held = start > 0 and batched
        for position, axis in enumerate(axes):
            if axis in node.axes:
                held = True
            elif held:
                value = value.unsqueeze(start + position)
            else:
                start -= 1  # a missing leading dimension of an unbatched value needs none
        for _ in range(inner - len(node.inner)):
            if node.batched or node.axes:
                value = value.unsqueeze(-1)
        return value

    def _elementwise(self, node: Node, values: Sequence[Any]) -> Any:
        function = self._functions.get(node.operation)
        if function is None:
            emit = OPERATIONS[node.operation].emit
            assert emit is not None, node.operation
            function = self._functions.setdefault(node.operation, emit())
        arguments = [
            self.aligned(value, argument, node.axes, len(node.inner), node.ragged, node.batched)
            for value, argument in zip(values, node.arguments, strict=True)
        ]
        if node.kind is Scalar.REAL:
            # torch would compute a function of integers in its own default precision
            first = 1 if node.operation == "where" else 0
            for place, argument in enumerate(node.arguments):
                if place >= first and argument.kind is not Scalar.REAL:
                    arguments[place] = arguments[place].to(self.dtype)
        return function(*arguments)

    def _select(self, node: Node, base: Any, index: Any) -> Any:
        base_node, index_node = node.arguments
        if isinstance(base_node.inner[0], RaggedAxis):
            self.offsets.setdefault(base_node.inner[0].name, base.offsets)
            return base.values
        start = int(base_node.batched)
        dim = start + len(base_node.axes)
        own = [axis for axis in index_node.axes if axis not in base_node.axes]
        if index_node.operation == "number":
            return base.select(dim, int(index_node.number.value))
        if index_node.operation == "index" and own:
            return _moved(base, node, base_node.axes + index_node.axes, start)
        if not index_node.batched and len(own) == len(index_node.axes):
            if index_node.axes:
                taken = base.index_select(dim, index if len(own) == 1 else index.reshape(-1))
                if len(own) > 1:
                    taken = taken.unflatten(dim, tuple(self.sizes[axis.set] for axis in own))
                return _moved(taken, node, base_node.axes + index_node.axes, start)
            return base.index_select(dim, index.reshape(1)).squeeze(dim)
        return self._take(node, base, index)

    def _take(self, node: Node, base: Any, index: Any) -> Any:
        """A position that depends on the row, or on an axis that base has too."""
        base_node, index_node = node.arguments
        rest = len(base_node.inner) - 1
        wide = self.aligned(base, base_node, node.axes, len(base_node.inner), node.ragged, node.batched)
        if not base_node.batched and node.batched:
            wide = wide.reshape(
                1, *[self.sizes[a.set] if a in base_node.axes else 1 for a in node.axes], *self._inner(base_node.inner)
            )
        place = self.aligned(index, index_node, node.axes, 0, node.ragged, node.batched)
        if not index_node.batched and node.batched:
            place = place.reshape(1, *[self.sizes[a.set] if a in index_node.axes else 1 for a in node.axes])
        for _ in range(rest):
            place = place.unsqueeze(-1)
        return self._leaf(kernels.take_along, wide, place, int(node.batched) + len(node.axes))

    def _collect(self, node: Node, value: Any) -> Any:
        body = node.arguments[0]
        collected = node.named_axes
        start = int(body.batched)
        order = [start + body.axes.index(axis) for axis in (*node.axes, *collected)]
        tail = range(start + len(body.axes), start + len(body.axes) + len(body.inner))
        dims = [*range(start), *order, *tail]
        return value if dims == sorted(dims) else value.permute(*dims)

    def spread(self, value: Any, node: Node, axes: Sequence[IndexAxis]) -> Any:
        """A scalar node's value on all of the axes (in sorted order), repeated along those it does not vary on."""
        wanted = tuple(sorted(axes))
        if wanted == node.axes:
            return value
        wide = self.aligned(value, node, wanted, 0, node.ragged, node.batched)
        return wide.expand(*([-1] if node.batched else []), *(self.sizes[axis.set] for axis in wanted))

    def placed(self, value: Any, node: Node, axes: Sequence[IndexAxis]) -> Any:
        """A batched value whose named axes stand in this order, in the order of the node's."""
        return _moved(value, node, axes, 1)

    def _spread(self, node: Node, value: Any) -> Any:
        body = node.arguments[0]
        wide = self.aligned(value, body, node.axes, len(node.inner), node.ragged, node.batched)
        lead = [-1] if node.batched else []
        return wide.expand(*lead, *(self.sizes[axis.set] for axis in node.axes), *self._inner(node.inner))

    def _inner(self, inner: Sequence[Axis]) -> list[int]:
        return [
            self.sizes[axis.set] if isinstance(axis, SetAxis) else axis.size if isinstance(axis, FixedAxis) else -1
            for axis in inner
        ]

    def _reduce(self, node: Node, values: Sequence[Any]) -> Any:
        function, axis = node.reduction
        body, mask = node.arguments[0], node.arguments[1] if len(node.arguments) > 1 else None
        axes = tuple(sorted({*node.axes, axis}))
        dim = int(node.batched) + axes.index(axis)
        value = self._filled(node, axes, values, body, mask, function)
        if function == "mean" and body.kind is not Scalar.REAL:
            value = value.to(self.dtype)
        if function == "mean" and mask is not None:
            kept = self._counted(node, axes, values[1], mask).sum(self._dim(node, mask, dim))
            return value.sum(dim) / _tail(kept, len(node.inner))
        if function in ("sum", "count"):
            return value.sum(dim)
        if function == "mean":
            return value.mean(dim)
        return value.amax(dim) if function == "max" else value.amin(dim)

    def _filled(
        self,
        node: Node,
        axes: tuple[IndexAxis, ...],
        values: Sequence[Any],
        body: Node,
        mask: Node | None,
        function: str,
    ) -> Any:
        """The body on all axes, filtered entries replaced by what does not count."""
        value = self.aligned(values[0], body, axes, len(node.inner), node.ragged, node.batched)
        missing = any(axis not in body.axes for axis in axes) and (
            mask is None or any(a not in mask.axes for a in axes)
        )
        if mask is not None:
            kept = self.aligned(values[1], mask, axes, 0, node.ragged, node.batched)
            fill = {"max": float("-inf"), "min": float("inf")}.get(function, 0)
            value = torch.where(_tail(kept, len(node.inner)), value, fill)
        if missing:
            lead = [-1] if node.batched else []
            value = value.expand(*lead, *(self.sizes[axis.set] for axis in axes), *self._inner(node.inner))
        return value

    def _dim(self, node: Node, mask: Node, dim: int) -> int:
        """Where an axis of the node's layout stands in a mask on the same axes, which may be the same for all rows."""
        return dim if mask.batched or not node.batched else dim - 1

    def _counted(self, node: Node, axes: tuple[IndexAxis, ...], value: Any, mask: Node) -> Any:
        kept = self.aligned(value, mask, axes, 0, node.ragged, node.batched).to(self.dtype)
        lead = [-1] if node.batched and mask.batched else []
        return kept.expand(*lead, *(self.sizes[axis.set] for axis in axes))

    def _scatter(self, node: Node, values: Sequence[Any]) -> Any:
        function, start, end = node.join
        body = node.arguments[0]
        mask = node.arguments[2] if len(node.arguments) > 2 else None
        axes = tuple(sorted({*(a for n in (body, *([mask] if mask else [])) for a in n.axes), start}))
        dim = int(node.batched) + axes.index(start)
        value = self._filled(node, axes, [values[0], *values[2:]], body, mask, function)
        if start not in body.axes and (mask is None or start not in mask.axes):
            value = value.expand(
                *([-1] if node.batched else []), *(self.sizes[axis.set] for axis in axes), *self._inner(node.inner)
            )
        size = self.sizes[end.set]
        if function in ("max", "min"):
            found = self._leaf(kernels.scatter_extreme, value, values[1], size, dim, function)
        else:
            found = self._leaf(kernels.scatter_sum, value, values[1], size, dim)
            if function == "mean":
                found = found.to(self.dtype) if body.kind is not Scalar.REAL else found
                found = found / self._scattered_count(node, values, axes, dim)
        return _moved(found, node, tuple(end if axis == start else axis for axis in axes), int(node.batched))

    def _scattered_count(self, node: Node, values: Sequence[Any], axes: tuple[IndexAxis, ...], dim: int) -> Any:
        """How many members each entry of a join has, on the layout of its sum."""
        _, start, end = node.join
        size = self.sizes[end.set]
        if len(node.arguments) == 2:
            ones = self._constant(torch.ones(self.sizes[start.set], dtype=self.dtype))
            count = self._leaf(kernels.scatter_sum, ones, values[1], size, 0)
            return count.reshape(*_ones(node, axes, dim, size))
        mask = node.arguments[2]
        kept = self._counted(node, axes, values[2], mask)
        count = self._leaf(kernels.scatter_sum, kept, values[1], size, self._dim(node, mask, dim))
        return _tail(count, len(node.inner))

    def accumulated(self, value: Any, node: Node, scatter: Node, values: Sequence[Any], sign: int) -> Any:
        """``value + sign * scatter`` in one call; None where the layouts differ or the scatter is filtered."""
        function, start, end = scatter.join
        body = scatter.arguments[0]
        axes = tuple(sorted({*body.axes, start}))
        same = tuple(sorted(end if axis == start else axis for axis in axes)) == node.axes == scatter.axes
        plain = (
            function == "sum" and len(scatter.arguments) == 2 and start in body.axes and body.batched and not node.inner
        )
        if not same or not plain or axes.index(start) != node.axes.index(end):
            return None
        dim = 1 + axes.index(start)
        return torch.index_add(value, dim, values[1], values[0], alpha=sign)

    def _reduce_rows(self, node: Node, values: Sequence[Any]) -> Any:
        function, name = node.row_reduction
        body, inner = node.arguments[0], len(node.inner)
        value = self.aligned(values[0], body, node.axes, inner, name, True)
        if not body.batched:
            value = self._leaf(kernels.repeat_for_segments, value, self._lengths(name, node))
        if len(values) == 1:
            return self._leaf(kernels.reduce_segments, value, self._lengths(name, node), function)
        mask = node.arguments[1]
        kept = self.aligned(values[1], mask, node.axes, 0, name, True)
        if not mask.batched:
            kept = self._leaf(kernels.repeat_for_segments, kept, self._lengths(name, node))
        kept = _tail(kept, inner)
        fill = {"max": float("-inf"), "min": float("inf")}.get(function, 0)
        value = torch.where(kept, value, fill)
        total = self._leaf(
            kernels.reduce_segments, value, self._lengths(name, node), "sum" if function == "mean" else function
        )
        if function != "mean":
            return total
        return total / self._leaf(kernels.reduce_segments, kept.to(self.dtype), self._lengths(name, node), "sum")

    def _aggregate(self, node: Node, values: Sequence[Any]) -> Any:
        function = node.name
        if function == "argmax":
            return values[0].argmax(-1)
        return self._leaf(kernels.extreme_mean, values[0], values[1], function == "top_mean")


def _ones(node: Node, axes: tuple[IndexAxis, ...], dim: int, size: int) -> list[int]:
    shape = [1] * (int(node.batched) + len(axes) + len(node.inner))
    shape[dim] = size
    return shape


def _tail(value: Any, inner: int) -> Any:
    for _ in range(inner):
        value = value.unsqueeze(-1)
    return value


def _moved(value: Any, node: Node, axes: Sequence[IndexAxis], start: int) -> Any:
    """Named axes into their sorted order."""
    order = [start + list(axes).index(axis) for axis in node.axes]
    dims = [*range(start), *order]
    if dims == sorted(dims):
        return value
    return value.permute(*dims, *range(len(dims), len(dims) + len(node.inner)))
