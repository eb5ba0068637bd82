"""Makes IR nodes: infers their layout, interns equal ones, and simplifies on the way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pdual.compiler.attributes import (
    Attributes,
    Axes,
    Call,
    GivenField,
    IndexAxis,
    Join,
    Named,
    Nothing,
    Number,
    Reduction,
    RowField,
    RowReduction,
)
from pdual.compiler.ir import Node, Scalar
from pdual.compiler.simplify import simplified
from pdual.dsl.operations import OPERATIONS
from pdual.dsl.operations.operation import Result
from pdual.dsl.spans import NOWHERE, Span
from pdual.dsl.types import Axis, SetAxis


class Builder:
    """The only maker of nodes of one graph. ``builder("add", x, y)`` applies a primitive (``dsl.operations.Applier``)."""

    def __init__(self) -> None:
        self._interned: dict[tuple[Any, ...], Node] = {}
        self.span: Span = NOWHERE

    def __call__(self, operation: str, *arguments: Node) -> Node:
        """An element-wise primitive; axes are the union of the arguments', inner axes must agree."""
        if OPERATIONS[operation].commutative and arguments[0].identity > arguments[1].identity:
            arguments = arguments[::-1]  # equal sums and products are then one node
        simple = simplified(self, operation, arguments)
        if simple is not None:
            return simple
        return self._make(
            operation,
            arguments,
            Nothing(),
            _element_kind(operation, arguments),
            _axes_of(arguments),
            max((argument.inner for argument in arguments), key=len),
        )

    def known(self, operation: str, *arguments: Node) -> Node | None:
        """The node of a primitive, if it was made already."""
        kind = _element_kind(operation, arguments)
        axes = _axes_of(arguments)
        inner = max((argument.inner for argument in arguments), key=len)
        return self._interned.get(_key(operation, arguments, Nothing(), axes, inner, kind))

    def number(self, value: float, declared: bool = False) -> Node:
        """A constant; ``declared`` where it is a parameter's that is declared to have infinite ends, and infinite."""
        kind = Scalar.BOOL if isinstance(value, bool) else Scalar.INT if isinstance(value, int) else Scalar.REAL
        return self._make("number", (), Number(value, declared), kind, (), ())

    def given(self, given: str, name: str, component: str, kind: Scalar, inner: tuple[Axis, ...]) -> Node:
        """A known constant."""
        return self._make("given", (), GivenField(given, name, component), kind, (), inner)

    def field(self, data: str, name: str, component: str, kind: Scalar, inner: tuple[Axis, ...]) -> Node:
        """A field of a row of a data set."""
        return self._make("field", (), RowField(data, name, component), kind, (), inner, batched=True)

    def index(self, axis: IndexAxis) -> Node:
        """The position along an axis."""
        return self._make("index", (), Nothing(), Scalar.INT, (axis,), ())

    def ragged_index(self, name: str) -> Node:
        """The position along a ragged axis."""
        return self._make("ragged_index", (), Named(name), Scalar.INT, (), (), batched=True, ragged=name)

    def select(self, base: Node, index: Node) -> Node:
        """``base[index]``: the first inner axis of base is taken."""
        if base.operation == "collect" and index.operation == "index":
            collected = base.named_axes
            if collected[0] == index.axes[0] and len(collected) == 1:
                return base.arguments[0]
        axes = tuple(sorted({*base.axes, *index.axes}))
        return self._make(
            "select", (base, index), Nothing(), base.kind, axes, base.inner[1:], ragged=index.ragged or base.ragged
        )

    def collect(self, body: Node, axes: Sequence[IndexAxis]) -> Node:
        """Turns named axes into leading inner axes, in this order."""
        left = tuple(axis for axis in body.axes if axis not in axes)
        inner = tuple(SetAxis(axis.set) for axis in axes)
        return self._make("collect", (body,), Axes(tuple(axes)), body.kind, left, inner + body.inner)

    def spread(self, body: Node, axes: Sequence[IndexAxis]) -> Node:
        """The same value at every member of further axes."""
        everything = tuple(sorted({*body.axes, *axes}))
        return self._make("spread", (body,), Axes(tuple(axes)), body.kind, everything, body.inner)

    def norm(self, model: str) -> Node:
        """The sum of squares of a model's parameters."""
        return self._make("norm", (), Named(model), Scalar.REAL, (), ())

    def reduce(self, function: str, axis: IndexAxis, body: Node, mask: Node | None) -> Node:
        """Reduces a named axis; entries whose mask is false do not count."""
        arguments = (body,) if mask is None else (body, mask)
        axes = tuple(sorted({a for argument in arguments for a in argument.axes} - {axis}))
        return self._make("reduce", arguments, Reduction(function, axis), _reduced(function, body), axes, body.inner)

    def reduce_rows(self, function: str, name: str, body: Node, mask: Node | None) -> Node:
        """Reduces a ragged axis: one value a row is left."""
        arguments = (body,) if mask is None else (body, mask)
        axes = tuple(sorted({a for argument in arguments for a in argument.axes}))
        kind = _reduced(function, body)
        return self._make(
            "reduce_rows", arguments, RowReduction(function, name), kind, axes, body.inner, batched=True, ragged=""
        )

    def scatter(
        self, function: str, start: IndexAxis, end: IndexAxis, body: Node, where: Node, mask: Node | None
    ) -> Node:
        """A join: entry ``i`` of ``end`` reduces the members ``g`` of ``start`` with ``where[g] == i``."""
        arguments = (body, where) if mask is None else (body, where, mask)
        axes = tuple(sorted(({a for argument in arguments for a in argument.axes} - {start}) | {end}))
        return self._make("scatter", arguments, Join(function, start, end), _reduced(function, body), axes, body.inner)

    def call(self, model: str, names: Sequence[str], arguments: Sequence[Node], by_row: bool = False) -> Node:
        """A model call; ``names`` are the part names of its inputs. With arguments that are the same on every row, so is what it
        returns, unless it asks which row it is called on (``by_row``).
        """
        batched = True if by_row else None
        return self._make(
            "call", tuple(arguments), Call(model, tuple(names)), Scalar.OPAQUE, (), (), batched=batched, ragged=""
        )

    def output(self, call: Node, name: str, inner: tuple[Axis, ...], kind: Scalar = Scalar.REAL) -> Node:
        """One real part of a call's outputs."""
        return self._make("output", (call,), Named(name), kind, (), inner)

    def features(self, call: Node, key: str, inner: tuple[Axis, ...]) -> Node:
        """The penultimate representation of a call, detached."""
        return self._make("features", (call,), Named(key), Scalar.REAL, (), inner)

    def feature_input(self, key: str, inner: tuple[Axis, ...]) -> Node:
        """Features that a formula is handed from outside."""
        return self._make("feature_input", (), Named(key), Scalar.REAL, (), inner, batched=True)

    def member(self, row: Node, axis: IndexAxis) -> Node:
        """A value of every row, seen from its group: along ``axis`` are the group's rows."""
        if not row.batched:
            return row
        axes = tuple(sorted({*row.axes, axis}))
        return self._make("member", (row,), Axes((axis,)), row.kind, axes, row.inner, batched=True, ragged="")

    def present(self, axis: IndexAxis) -> Node:
        """Which places along an axis of a group are rows of it."""
        return self._make("present", (), Axes((axis,)), Scalar.BOOL, (axis,), (), batched=True, ragged="")

    def average(self, data: str, body: Node, mask: Node | None) -> Node:
        """The mean of a value of a row over all rows of a data set that a mask keeps."""
        arguments = (body,) if mask is None else (body, mask)
        return self._make("average", arguments, Named(data), Scalar.REAL, (), (), batched=False, ragged="")

    def aggregate(self, function: str, *arguments: Node) -> Node:
        """A function of an array's only inner axis."""
        kind = Scalar.INT if function == "argmax" else Scalar.REAL
        return self._make("aggregate", arguments, Named(function), kind, arguments[0].axes, (), batched=None, ragged="")

    def _make(
        self,
        operation: str,
        arguments: tuple[Node, ...],
        attributes: Attributes,
        kind: Scalar,
        axes: tuple[IndexAxis, ...],
        inner: tuple[Axis, ...],
        batched: bool | None = None,
        ragged: str | None = None,
    ) -> Node:
        key = _key(operation, arguments, attributes, axes, inner, kind)
        found = self._interned.get(key)
        if found is None:
            is_batched = any(argument.batched for argument in arguments) if batched is None else batched
            if ragged is None:
                ragged = next((argument.ragged for argument in arguments if argument.ragged), None)
            found = Node(
                len(self._interned), operation, arguments, attributes, kind, axes, inner, is_batched, ragged or None,
                self.span,
            )  # fmt: skip
            self._interned[key] = found
        return found


def _key(
    operation: str,
    arguments: Sequence[Node],
    attributes: Attributes,
    axes: tuple[IndexAxis, ...],
    inner: tuple[Axis, ...],
    kind: Scalar,
) -> tuple[Any, ...]:
    """What equal nodes have in common. Named tuples of two types may be equal, and numbers of two kinds."""
    identities = tuple([argument.identity for argument in arguments])
    return operation, identities, type(attributes), attributes, axes, inner, kind


def _axes_of(arguments: Sequence[Node]) -> tuple[IndexAxis, ...]:
    """The axes of an element-wise value: those of its arguments."""
    axes = {axis for argument in arguments for axis in argument.axes}
    return tuple(sorted(axes)) if axes else ()


def _element_kind(operation: str, arguments: Sequence[Node]) -> Scalar:
    gives = OPERATIONS[operation].gives
    if gives is Result.TRUTH:
        return Scalar.BOOL
    if gives is Result.REAL:
        return Scalar.REAL
    kinds = {argument.kind for argument in arguments[1 if gives is Result.AS_CHOSEN else 0 :]}
    return kinds.pop() if len(kinds) == 1 else Scalar.REAL


def _reduced(function: str, body: Node) -> Scalar:
    if function == "mean" or body.kind is Scalar.REAL:
        return Scalar.REAL
    return Scalar.INT if function in ("sum", "count") else body.kind
