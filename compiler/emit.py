"""IR to torch.fx: one GraphModule for a list of outputs. Models are leaf modules, constants are buffers."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import torch
from torch import Tensor, fx, nn

from pdual.compiler import kernels
from pdual.compiler.attributes import IndexAxis
from pdual.compiler.constants import Constants
from pdual.compiler.emit_nodes import NodeEmitter
from pdual.compiler.fusion import fuse
from pdual.compiler.ir import Node, Scalar, topological
from pdual.compiler.program import MEMBERS, PRESENT, ROWS
from pdual.dsl.diagnostics import refuse
from pdual.dsl.types import RaggedAxis


class Emission:
    """Builds one GraphModule with the call ``module(values, ids, features)``.

    ``values``: a RowBatch's fields by part name; ``ids``: [batch] int64; ``features``: only what ``feature_input`` nodes read.
    ``of_groups``: what is batched are groups of rows, whose ids are among the values (``ROWS``).
    """

    def __init__(
        self,
        constants: Constants,
        sizes: Mapping[str, int],
        models: nn.ModuleDict,
        dtype: torch.dtype,
        group_axes: Sequence[str] = (),
        of_groups: bool = False,
    ) -> None:
        self._graph = fx.Graph()
        self._tracer = fx.proxy.GraphAppendingTracer(self._graph)
        self._root = nn.Module()
        self._constants = constants
        self._models = models
        self._dtype = dtype
        self._values = self._proxy(self._graph.placeholder("values"))
        self._ids = self._proxy(self._graph.placeholder("ids"))
        self._features = self._proxy(self._graph.placeholder("features", default_value=None))
        self._of_groups = of_groups
        largest = {axis: self.call(_places, self._values) for axis in group_axes}
        self._emitter = NodeEmitter({**sizes, **largest}, dtype, self.call, self.buffer)
        self._done: dict[int, Any] = {}
        self._buffers = 0
        self.sizes = sizes

    def call(self, function: Any, *arguments: Any) -> Any:
        """Records a call of a function that is not traced into."""
        return self._tracer.create_proxy("call_function", function, arguments, {})

    def buffer(self, value: Tensor, hint: str = "constant") -> Any:
        """A constant of the module: reals in the program's precision."""
        name = f"{hint}_{self._buffers}"
        self._buffers += 1
        self._root.register_buffer(
            name, value.to(self._dtype) if value.is_floating_point() else value, persistent=False
        )
        return self._proxy(self._graph.get_attr(name))

    def constant(self, node: Node) -> Tensor:
        """The folded value of a constant node, in double precision."""
        return self._constants.value(node)

    def value(self, node: Node) -> Any:
        """The proxy of a node's value; everything below it is emitted once."""
        for item in topological([node]):
            if item.identity not in self._done:
                self._done[item.identity] = self._emit(item)
        return self._done[node.identity]

    def meet(self, roots: Sequence[Node]) -> None:
        """Learn the lengths of every ragged axis below the roots, also for what only counts along one."""
        for node in topological(roots):
            axis = node.inner[0] if node.inner and node.operation in ("output", "features", "feature_input") else None
            if isinstance(axis, RaggedAxis) and axis.name not in self._emitter.offsets:
                self._emitter.offsets[axis.name] = self.value(node).offsets

    @property
    def dtype(self) -> torch.dtype:
        """The precision of the program's reals."""
        return self._dtype

    def dense(self, node: Node) -> Any:
        """A node's value, a constant becoming a buffer."""
        self.value(node)
        return self._materialised(node)

    def rows(self, node: Node) -> Any:
        """A node as one value a row: [batch, *axes]."""
        value = self.dense(node)
        if node.batched:
            return value
        return value.expand(self._ids.shape[0], *([-1] * (len(node.axes) + len(node.inner))))

    def groups(self, node: Node) -> Any:
        """A scalar node as one number a group of the batch: [groups]."""
        value = self.dense(node)
        return value if node.batched else value.expand(self._values[PRESENT].shape[0])

    def flat(self, node: Node, axes: Sequence[IndexAxis], members: Sequence[tuple[int, ...]]) -> Any:
        """A node on the live entries of a part, [batch, entries]; where it does not vary along an axis, it is repeated."""
        value = self._emitter.spread(self.dense(node), node, axes)
        if not node.batched:
            value = value.expand(self._ids.shape[0], *([-1] * len(axes)))
        if not axes:
            return value.unsqueeze(1)
        value = value.flatten(1) if len(axes) > 1 else value
        chosen = self._positions(axes, members)
        if chosen == list(range(prod(self.sizes[axis.set] for axis in axes))):
            return value
        if len(chosen) == 1:
            return value.narrow(1, chosen[0], 1)
        return value.index_select(1, self.buffer(torch.tensor(chosen), "entries"))

    def entries(self, node: Node, axes: Sequence[IndexAxis], members: Sequence[tuple[int, ...]]) -> Tensor:
        """A constant node on the live entries of a part, [entries], double precision."""
        value: Tensor = self._emitter.spread(self.constant(node).to(torch.float64), node, axes)
        return value.reshape(-1)[torch.tensor(self._positions(axes, members))]

    def no_columns(self) -> Any:
        """An empty residual matrix: [batch, 0]."""
        return self._ids.new_zeros((self._ids.shape[0], 0), dtype=self._dtype)

    def always(self, columns: int) -> Any:
        """A mask that keeps everything: [batch, columns]."""
        return self._ids.new_ones((1, columns), dtype=torch.bool).expand(self._ids.shape[0], columns)

    def _positions(self, axes: Sequence[IndexAxis], members: Sequence[tuple[int, ...]]) -> list[int]:
        """Flat positions, the axes in sorted order (the layout of every value)."""
        order = sorted(range(len(axes)), key=lambda i: axes[i])
        flat = []
        for member in members:
            position = 0
            for i in order:
                position = position * self.sizes[axes[i].set] + member[i]
            flat.append(position)
        return flat

    def finish(self, outputs: Any) -> fx.GraphModule:
        """The module that returns these proxies."""
        self._graph.output(
            fx.node.map_aggregate(outputs, lambda item: item.node if isinstance(item, fx.Proxy) else item)
        )
        module = fx.GraphModule(self._root, self._graph)
        fuse(module.graph)
        module.graph.lint()
        module.recompile()
        return module

    def _proxy(self, node: fx.Node) -> Any:
        return fx.Proxy(node, self._tracer)

    def _emit(self, node: Node) -> Any:
        if node.constant:
            return _LAZY
        match node.operation:
            case "field":
                _, name, component = node.field
                return self._values[f"{name}.{component}" if component else name]
            case "call":
                return self._call(node)
            case "output":
                return self._placed(self._read(node.arguments[0])[0][node.name], node)
            case "features":
                key = node.name
                inside = key.split("/", 1)[1] if "/" in key else ("" if not _is_ragged(node) else "token")
                return self._placed(self._detached(self._read(node.arguments[0])[1][inside], node), node)
            case "feature_input":
                return self._features[node.name]
            case "member":
                row = node.arguments[0]
                if row.ragged or _is_ragged(row):
                    raise refuse("PD299", node.span)
                taken = self.call(_members, self._materialised(row), self._values[MEMBERS])
                return self._emitter.placed(taken, node, (*node.named_axes, *row.axes))
            case "present":
                return self._values[PRESENT]
            case "norm":
                return self._norm(node.name)
        if node.operation == "divide" and node.arguments[1].constant and not node.arguments[0].constant:
            return self._times_reciprocal(node)
        if node.operation in ("add", "subtract"):
            joined = self._accumulated(node)
            if joined is not None:
                return joined
        return self._emitter.emit(node, [self._materialised(argument) for argument in node.arguments])

    def _accumulated(self, node: Node) -> Any:
        """A sum with a join adds into the other operand: no array of zeros, one pass less."""
        left, right = node.arguments
        sign = -1 if node.operation == "subtract" else 1
        if right.operation != "scatter" and left.operation == "scatter" and sign == 1:
            left, right = right, left
        if right.operation != "scatter" or not left.batched or left.axes != node.axes or left.kind is not Scalar.REAL:
            return None
        if right.ragged or left.ragged or right.arguments[0].kind is not Scalar.REAL:
            return None
        values = [self._materialised(argument) for argument in right.arguments]
        return self._emitter.accumulated(self._materialised(left), node, right, values, sign)

    def _materialised(self, node: Node) -> Any:
        value = self._done[node.identity]
        if value is _LAZY:
            value = self.buffer(self.constant(node))
            self._done[node.identity] = value
        return value

    def _times_reciprocal(self, node: Node) -> Any:
        """A division by a constant is a multiplication: cheaper forward and backward."""
        top, bottom = node.arguments
        value = self._emitter.aligned(
            self._materialised(top), top, node.axes, len(node.inner), node.ragged, node.batched
        )
        inverse = self.buffer(self.constant(bottom).to(torch.float64).reciprocal())
        return torch.mul(
            value, self._emitter.aligned(inverse, bottom, node.axes, len(node.inner), node.ragged, node.batched)
        )

    def _call(self, node: Node) -> Any:
        model, names = node.call
        if model not in dict(self._root.named_children()):
            self._root.add_module(model, self._models[model])
        ids = self._values[ROWS] if self._of_groups else self._ids
        if not node.batched:
            ids = self.buffer(torch.zeros(1, dtype=torch.int64), "row")
        rows = (
            item for item in node.arguments if item.batched and item.kind is not Scalar.OPAQUE and not _is_ragged(item)
        )
        like = next(map(self._materialised, rows), ids)
        inputs = {
            name: self._materialised(item) if item.batched else self._on_rows(item, like)
            for name, item in zip(names, node.arguments, strict=True)
        }
        inputs["@row"] = ids
        return self._tracer.create_proxy("call_module", model, (inputs,), {})

    def _on_rows(self, node: Node, like: Any) -> Any:
        """An argument that is the same on every row, on as many rows as another one has: models are called on rows."""
        return self.call(kernels.repeat_for_rows, self._materialised(node), like)

    def _placed(self, value: Any, node: Node) -> Any:
        """What a call says of the one row that stands for all, without the row."""
        return value if node.batched else value.select(0, 0)

    def _read(self, call: Node) -> Any:
        """(outputs, features) of a call."""
        value = self._done[call.identity]
        return self.call(operator.getitem, value, 0), self.call(operator.getitem, value, 1)

    def _detached(self, value: Any, node: Node) -> Any:
        return self.call(_detach_ragged, value) if _is_ragged(node) else value.detach()

    def _norm(self, model: str) -> Any:
        name = f"norm_of_{model}"
        if name not in dict(self._root.named_children()):
            self._root.add_module(name, kernels.ParameterNorm(self._models[model]))
        return self._tracer.create_proxy("call_module", name, (), {})


def _places(values: Mapping[str, Any]) -> int:
    return int(values[PRESENT].shape[1])


def _members(rows: Tensor, members: Tensor) -> Tensor:
    """[groups, largest, ...] from [batch, ...]; a place that is no row of the group holds another one's value."""
    return rows.index_select(0, members.flatten()).reshape(*members.shape, *rows.shape[1:])


_LAZY = object()  # a constant that becomes a buffer only when something batched reads it


def _is_ragged(node: Node) -> bool:
    return any(isinstance(axis, RaggedAxis) for axis in node.inner)


def _detach_ragged(value: Any) -> Any:
    return type(value)(value.values.detach(), value.offsets)
