"""Typed expressions to IR: complex values become pairs, bound indices become axes, joins become scatters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from math import inf, isinf
from typing import TypeAlias

from pdual.compiler.attributes import IndexAxis
from pdual.compiler.axes import Binders, axis_name, group_binders, is_along_a_row, is_average, own_axes
from pdual.compiler.builder import Builder
from pdual.compiler.feature_keys import FeatureKeys
from pdual.compiler.ir import Node, Scalar
from pdual.compiler.joins import conjuncts, join_key
from pdual.compiler.scalars import scalar_of
from pdual.compiler.values import CallValue, Value, each, nodes_of, over
from pdual.dsl import typed
from pdual.dsl.checking.walking import children, factors_of
from pdual.dsl.declarations.registry import answers_by_row
from pdual.dsl.declarations.signature import part_names
from pdual.dsl.diagnostics import refuse
from pdual.dsl.operations import OPERATIONS
from pdual.dsl.operations.operation import Pair
from pdual.dsl.types import ArrayType, Element, Kind, RaggedAxis

Indices: TypeAlias = Mapping[int, Node]
PartMaker: TypeAlias = Callable[[str], Node]


class Lowering:
    """Lowers the expressions of one block into one graph.

    ``features_outside`` makes features inputs of the graph instead of outputs of a call: a formula dual is compiled so, and never
    runs the primal model.
    """

    def __init__(self, spec: typed.TypedSpec, builder: Builder, keys: FeatureKeys, features_outside: bool = False):
        self.builder = builder
        self._spec = spec
        self._models = {model.name: model for model in spec.models}
        self._lets: dict[tuple[object, ...], Value] = {}
        self._binders: Binders = {}
        # What an argument of a function became, which may stand in very many places: by identities, so that both are kept.
        self._done: dict[tuple[object, ...], tuple[Value, typed.TypedExpression, Indices]] = {}
        self._row_of: IndexAxis | None = None  # the group's axis whose fields are meant row by row
        self._rows: set[int] = set()  # indices over a whole data set: their fields are those of a row
        self._calling = ""  # the model whose arguments they are
        self.keys = keys
        self._features_outside = features_outside
        self._may_be_infinite = {p.name for p in spec.params if inf in (p.high, -(p.low or 0.0))}

    def scalar(self, expression: typed.TypedExpression, indices: Indices) -> Node:
        """An expression that is real, integer or a truth value."""
        value = self.value(expression, indices)
        assert isinstance(value, Node)
        return value

    def value(self, expression: typed.TypedExpression, indices: Indices) -> Value:
        """Any expression, with the bound indices' nodes by the identity of their binders."""
        key = (id(expression), id(indices), self._row_of, self._calling, len(self._rows))
        if key in self._done:
            return self._done[key][0]
        before, self.builder.span = self.builder.span, expression.span
        try:
            value = self._value(expression, indices)
        finally:
            self.builder.span = before
        if children(expression):
            self._done[key] = value, expression, indices
        return value

    def _value(self, expression: typed.TypedExpression, indices: Indices) -> Value:
        build = self.builder
        match expression:
            case typed.Literal(value=value):
                assert not isinstance(value, str)
                return build.number(value)
            case typed.ParamRef(name=name):
                parameter = self._spec.param_values[name]
                assert not isinstance(parameter, str)
                return build.number(parameter, declared=isinf(parameter) and name in self._may_be_infinite)
            case typed.GivenRef(given=given, name=name, type=ArrayType(element, axes)):
                return self._parts(element, lambda part: build.given(given, name, part, scalar_of(element), axes))
            case typed.FieldRef(data=data, name=name, type=ArrayType(element, axes)):
                parts = self._parts(element, lambda part: build.field(data, name, part, scalar_of(element), axes))
                return self._of_group(parts, expression, indices)
            case typed.FieldRef(data=data, name=name):
                return self._of_group(build.field(data, name, "", Scalar.OPAQUE, ()), expression, indices)
            case typed.IndexRef(binder=binder):
                return indices[binder.identity]
            case typed.LetRef(definition=definition):
                return self._array_let(definition)
            case typed.Apply(
                operation="abs2", arguments=(typed.Apply(operation="multiply" | "divide" as name) as inside,)
            ):
                # |x y|^2 = |x|^2 |y|^2: a constant factor folds, and |v|^2 is shared.
                squares = [replace(expression, arguments=(argument,)) for argument in inside.arguments]
                return self._apply(name, [self.value(square, indices) for square in squares])
            case typed.Apply(operation="multiply" | "divide"):
                return self._product(expression, indices)
            case typed.Apply(operation=name, arguments=arguments):
                return self._apply(name, [self.value(argument, indices) for argument in arguments])
            case typed.Select(base=base, indices=chosen):
                return self._select(base, chosen, indices)
            case typed.Reduce() | typed.Aggregate() if (
                is_along_a_row(expression) and self._row_of is None and (groups := self._axes_of(expression, indices))
            ):
                return self._of_one_row(expression, indices, groups)
            case typed.Reduce():
                return self._reduce(expression, indices)
            case typed.Aggregate(function=function, arguments=arguments):
                return build.aggregate(function, *(self.scalar(argument, indices) for argument in arguments))
            case typed.ModelCall():
                return self._outputs(self._call(expression, indices))
            case typed.OutputOf(call=call, name=name):
                return self._output(self._call(call, indices), name)
            case typed.FeaturesOf(call=call):
                return self._features(call)
            case typed.SquaredNorm(model=model):
                return build.norm(model)
        raise AssertionError(f"not an expression of a block: {expression}")

    def _parts(self, element: Element, make: PartMaker) -> Node | Pair:
        return Pair(make("re"), make("im")) if element is Kind.COMPLEX else make("")

    def _apply(self, name: str, arguments: Sequence[Value]) -> Value:
        operation = OPERATIONS[name]
        if operation.lower is not None:
            lowered: Value = operation.lower(self.builder, *arguments)
            return lowered
        assert all(isinstance(argument, Node) for argument in arguments), name
        return self.builder(name, *arguments)  # type: ignore[arg-type]

    def _product(self, expression: typed.TypedExpression, indices: Indices) -> Value:
        """A product with its constant factors together, which fold into one, and the others in their order."""
        factors = [(self.value(factor, indices), inverse) for factor, inverse in factors_of(expression)]
        ordered = sorted(factors, key=lambda pair: pair[1])
        constant = [pair for pair in ordered if all(node.constant for node in nodes_of(pair[0]))]
        varying = [pair for pair in ordered if pair not in constant]
        if not constant or not varying or varying[0][1]:
            return self._chain(constant + varying)
        return self._apply("multiply", [self._chain(constant), self._chain(varying)])

    def _chain(self, factors: Sequence[tuple[Value, bool]]) -> Value:
        result: Value = self.builder.number(1.0)
        for position, (factor, inverse) in enumerate(factors):
            result = (
                factor
                if position == 0 and not inverse
                else self._apply("divide" if inverse else "multiply", [result, factor])
            )
        return result

    # --- lets and indexing ---------------------------------------------------------------------------------

    def _let(self, definition: typed.LetDefinition, chosen: Sequence[Node]) -> Value:
        key = (definition.identity, self._row_of, *(node.identity for node in chosen))
        if key not in self._lets:
            inner = {binder.identity: node for binder, node in zip(definition.binders, chosen, strict=True)}
            self._lets[key] = self.value(definition.body, inner)
        return self._lets[key]

    def _array_let(self, definition: typed.LetDefinition) -> Value:
        """The whole array of a let: its binders on axes of their own, then collected."""
        if not definition.binders:
            return self._let(definition, ())
        axes = own_axes(definition.binders)
        body = self._let(definition, [self._index(b, axis) for b, axis in zip(definition.binders, axes, strict=True)])
        named = [axis for axis in axes if axis is not None]
        if not named:
            return body
        return each(body, lambda node: self.builder.collect(over(self.builder, node, named), named))

    def _select(self, base: typed.TypedExpression, chosen: Sequence[typed.TypedExpression], indices: Indices) -> Value:
        nodes = [self.scalar(index, indices) for index in chosen]
        if isinstance(base, typed.LetRef) and len(base.definition.binders) == len(nodes):
            plain = all(node.operation in ("index", "ragged_index") for node in nodes)
            if plain and len({node.identity for node in nodes}) == len(nodes):
                return self._let(base.definition, nodes)
        value = self.value(base, indices)
        for node in nodes:
            value = each(value, lambda part, index=node: self.builder.select(part, index))  # type: ignore[misc]
        return value

    def _index(self, binder: typed.Binder, axis: IndexAxis | None) -> Node:
        if axis is not None:
            return self.builder.index(axis)
        assert isinstance(binder.axis, RaggedAxis)
        return self.builder.ragged_index(binder.axis.name)

    # --- reductions ----------------------------------------------------------------------------------------

    def _reduce(self, expression: typed.Reduce, indices: Indices) -> Value:
        binders = list(expression.binders)
        inner = dict(indices)
        filters: list[typed.TypedExpression] = []
        ragged: str | None = None
        axes: list[IndexAxis] = []
        present: list[Node] = []
        if is_average(expression):
            return self._average(expression)
        for binder in binders:
            if binder.rows_of is not None:
                axes.append(self._free_axis(binder, inner))
                inner[binder.identity] = self.builder.index(axes[-1])
                present.append(self.builder.present(axes[-1]))
                if self._row_of is not None:  # the rows of a group, for one row of it
                    raise refuse("PD291", expression.span, model=self._calling)
            elif isinstance(binder.axis, RaggedAxis):
                ragged = binder.axis.name
                inner[binder.identity] = self.builder.ragged_index(ragged)
            else:
                axes.append(self._free_axis(binder, inner))
                inner[binder.identity] = self.builder.index(axes[-1])
            filters.extend(conjuncts(binder.where))
        if ragged is None and len(axes) == 1 and not present:
            joined = self._joined(expression, axes[0], inner, filters)
            if joined is not None:
                return joined
        mask = self._mask(filters, inner, present)
        body = self._body(expression, inner)
        return self._over_axes(expression.function, axes, ragged, body, mask)

    def _average(self, expression: typed.Reduce) -> Node:
        """The mean over the rows of a data set: what it reads of its index, it reads of a row."""
        (binder,) = expression.binders
        assert binder.rows_of is not None
        self._rows.add(binder.identity)
        mask = None if binder.where is None else self.scalar(binder.where, {})
        body = self._body(expression, {})
        assert isinstance(body, Node)
        return self.builder.average(binder.rows_of, body, mask)

    def _over_axes(
        self, function: str, axes: Sequence[IndexAxis], ragged: str | None, body: Value, mask: Node | None
    ) -> Value:
        build = self.builder
        if function == "mean" and len(axes) + (ragged is not None) > 1:
            total = self._over_axes("sum", axes, ragged, body, mask)
            count = self._over_axes("sum", axes, ragged, build.number(1), mask)
            return self._apply("divide", [total, count])
        steps = list(axes)
        for position, axis in enumerate(steps):
            body = self._reduced(function, axis, body, mask if position == 0 else None)
            if mask is not None and position == 0 and len(steps) > 1 and function in ("max", "min"):
                mask = build.reduce("max", axis, mask, None)
        if ragged is not None:
            rest = None if steps else mask
            body = each(body, lambda node: build.reduce_rows(function, ragged, node, rest))
        return body

    def _reduced(self, function: str, axis: IndexAxis, body: Value, mask: Node | None) -> Value:
        return each(body, lambda node: self.builder.reduce(function, axis, node, mask))

    def _joined(
        self, expression: typed.Reduce, axis: IndexAxis, inner: dict[int, Node], filters: list[typed.TypedExpression]
    ) -> Value | None:
        """``sum[g in gen where at[g] == i](body)`` as a scatter along ``at``: under the filter ``i`` *is* ``at[g]``."""
        for position, condition in enumerate(filters):
            key = join_key(condition, inner, axis)
            if key is None:
                continue
            outer, image = key
            where = self.scalar(image, inner)
            if where.axes != (axis,) or not where.constant or where.inner:
                continue
            end = inner[outer].axes[0]
            joined = {**inner, outer: where}
            mask = self._mask([c for k, c in enumerate(filters) if k != position], joined)
            body = self._body(expression, joined)
            parts = [*nodes_of(body), *([mask] if mask is not None else [])]
            if any(end in part.axes for part in parts):
                continue
            return self._scattered(expression.function, axis, end, body, where, mask)
        return None

    def _scattered(
        self, function: str, start: IndexAxis, end: IndexAxis, body: Value, where: Node, mask: Node | None
    ) -> Value:
        return each(body, lambda node: self.builder.scatter(function, start, end, node, where, mask))

    def _body(self, expression: typed.Reduce, inner: Indices) -> Value:
        if expression.function == "count":
            return self.builder.number(1)
        body = self.value(expression.body, inner)
        if isinstance(body, Node) and body.kind is Scalar.BOOL:
            body = self.builder("as_real", body)
        return body

    def _mask(
        self, filters: Sequence[typed.TypedExpression], inner: Indices, present: Sequence[Node] = ()
    ) -> Node | None:
        kept = [*present, *(self.scalar(f, inner) for f in filters)]
        return reduce(lambda a, b: self.builder("and", a, b), kept) if kept else None

    def _free_axis(self, binder: typed.Binder, inner: Indices) -> IndexAxis:
        name = axis_name(binder)
        used = {axis.level for node in inner.values() for axis in node.axes if axis.set == name}
        level = next(level for level in range(len(used) + 1) if level not in used)
        return IndexAxis(name, level)

    # --- groups --------------------------------------------------------------------------------------------

    def _of_group(self, value: Node | Pair, field: typed.FieldRef, indices: Indices) -> Value:
        """A field of the row that an index over a group stands at."""
        if field.binder is None or field.binder.identity in self._rows:
            return value
        (axis,) = indices[field.binder.identity].axes
        return value if axis == self._row_of else self._spread_over(value, axis)

    def of_a_row(self, expression: typed.TypedExpression, binder: typed.Binder) -> Node:
        """What an expression over one index of a group says of the row that the index stands at: a value a row."""
        axis = IndexAxis(axis_name(binder))
        before, self._row_of = self._row_of, axis
        try:
            return self.scalar(expression, {binder.identity: self.builder.index(axis)})
        finally:
            self._row_of = before

    def _of_one_row(self, expression: typed.TypedExpression, indices: Indices, axes: frozenset[IndexAxis]) -> Value:
        """What is reduced over an axis of another length in every row is so in each row of a group, before they are put together."""
        if len(axes) > 1:
            raise refuse("PD299", expression.span)
        (axis,) = axes
        before, self._row_of = self._row_of, axis
        try:
            value = self._value(expression, indices)
        finally:
            self._row_of = before
        return self._spread_over(value, axis)

    def _spread_over(self, value: Value, axis: IndexAxis) -> Value:
        return each(value, lambda node: self.builder.member(node, axis))

    # --- models --------------------------------------------------------------------------------------------

    def _call(self, call: typed.ModelCall, indices: Indices) -> CallValue:
        group = self._group_of(call, indices)
        if group is None or group == self._row_of:
            return self._call_once(call, indices)
        before, self._row_of, self._calling = self._row_of, group, call.model
        try:
            return replace(self._call_once(call, indices), group=group)
        finally:
            self._row_of = before

    def _group_of(self, call: typed.ModelCall, indices: Indices) -> IndexAxis | None:
        """The axis of a group whose rows a model is called on; PD291 where a call needs two rows at once."""
        axes = self._axes_of(call, indices)
        if len(axes) > 1:
            raise refuse("PD291", call.span, model=call.model)
        return next(iter(axes), None)

    def _axes_of(self, expression: typed.TypedExpression, indices: Indices) -> frozenset[IndexAxis]:
        """The axes of the groups whose rows an expression reads."""
        return frozenset(indices[own].axes[0] for own in group_binders(expression, self._binders) if own in indices)

    def _call_once(self, call: typed.ModelCall, indices: Indices) -> CallValue:
        model = self._models[call.model]
        names: list[str] = []
        nodes: list[Node] = []
        for (name, kind), argument in zip(model.signature.inputs, call.arguments, strict=True):
            value = self.value(argument, indices)
            parts = nodes_of(value)
            if isinstance(kind, ArrayType) and kind.element is Kind.REAL:  # a whole number is one of the real numbers
                parts = tuple(p if p.kind is Scalar.REAL else self.builder("as_real", p) for p in parts)
            nodes.extend(parts)
            names.extend(part_names(name, kind) if isinstance(kind, ArrayType) else (name,))
        if any(node.axes for node in nodes):
            raise refuse("PD291", call.span, model=call.model)
        ragged = any(isinstance(axis, RaggedAxis) for output in model.signature.outputs for axis in output.type.axes)
        by_row = ragged or answers_by_row(model.architecture, model.signature)
        return CallValue(self.builder.call(call.model, names, nodes, by_row), model.signature)

    def _outputs(self, call: CallValue) -> Value:
        outputs = call.signature.outputs
        return self._output(call, outputs[0].name) if len(outputs) == 1 and not outputs[0].name else call

    def _output(self, call: CallValue, name: str) -> Value:
        output = next(item for item in call.signature.outputs if item.name == name)
        names = part_names(name, output.type)
        kind = scalar_of(output.type.element)
        parts = [self.builder.output(call.node, part, output.type.axes, kind) for part in names]
        value = Pair(*parts) if len(parts) == 2 else parts[0]
        return value if call.group is None else self._spread_over(value, call.group)

    def _features(self, call: typed.ModelCall) -> Value:
        kind = self.keys.types[call.model]
        assert isinstance(kind, ArrayType)
        return self.feature(call, self.keys.key(call), kind.axes)

    def feature(self, call: typed.ModelCall, key: str, axes: Sequence[object]) -> Node:
        """Features under a key: an input of the graph, or taken from the call."""
        inner = tuple(axes)
        if self._features_outside:
            return self.builder.feature_input(key, inner)  # type: ignore[arg-type]
        return self.builder.features(self._call(call, {}).node, key, inner)  # type: ignore[arg-type]
