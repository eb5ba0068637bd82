"""Calls: functions of the language, models, functions of the spec's own, and functions of a whole array."""

from __future__ import annotations

from dataclasses import replace

from pdual.dsl import syntax
from pdual.dsl.checking.annotations import has_unknown
from pdual.dsl.checking.entities import BrokenEntity, DefEntity, Entity, ModelEntity, ValueEntity, described
from pdual.dsl.checking.features import type_features
from pdual.dsl.checking.indexing import written
from pdual.dsl.checking.operators import apply, require_real
from pdual.dsl.checking.scope import MOST_EXPANSIONS, Named, Place, Scope, is_unknown, unknown
from pdual.dsl.checking.statistics import STATISTICS, type_statistic
from pdual.dsl.diagnostics import Collector, Label
from pdual.dsl.near import nearest
from pdual.dsl.operations import AGGREGATES, FUNCTIONS, REDUCTIONS
from pdual.dsl.typed import Aggregate, Literal, ModelCall, SquaredNorm, TypedExpression, TypedModel
from pdual.dsl.types import (
    ArrayType,
    GraphType,
    Kind,
    MemberOf,
    OpenAxis,
    RaggedAxis,
    SetAxis,
    Type,
)

FEATURES = "features"
SQUARED_NORM = "squared_norm"


def type_call(node: syntax.Call, scope: Scope) -> TypedExpression:
    """A call, by what its name stands for: the spec's own functions and models come before the language's."""
    if not isinstance(node.function, syntax.Name):
        scope.diagnostics.add("PD247", node.function.span)
        return unknown(node.span)
    name = node.function.name
    for argument in node.arguments:
        if argument.name is not None:
            scope.diagnostics.add("PD248", argument.span, name=argument.name, function=name)
            return unknown(node.span)
    named = scope.lookup(name)
    entity = named.entity if named is not None else None
    if isinstance(entity, DefEntity):
        return _expand(node, entity.definition, scope)
    if isinstance(entity, ModelEntity):
        return _call_model(node, entity.model, scope)
    if scope.place is Place.EXPECT and name in STATISTICS:
        return type_statistic(node, name, scope)
    if name == FEATURES:
        return type_features(node, scope)
    if name == SQUARED_NORM:
        return _squared_norm(node, scope)
    if name in AGGREGATES:
        return _aggregate(node, name, scope)
    if name in FUNCTIONS:
        return _function(node, name, scope)
    if isinstance(entity, BrokenEntity):
        return unknown(node.span)
    _report_unknown(node, name, entity, scope)
    return unknown(node.span)


def _report_unknown(node: syntax.Call, name: str, entity: Entity | None, scope: Scope) -> None:
    if name not in STATISTICS:  # their arguments are names of constraints
        for argument in node.arguments:
            scope.deeper().typed(argument.value)
    if name in REDUCTIONS:
        scope.diagnostics.add("PD249", node.function.span, name=name)
    elif name in STATISTICS:
        scope.diagnostics.add("PD250", node.function.span, name=name)
    elif entity is not None:
        scope.diagnostics.add("PD251", node.function.span, name=name, what=described(entity))
    else:
        callable_names = [found for found, item in scope.reachable() if isinstance(item, DefEntity | ModelEntity)]
        near = nearest(name, [*callable_names, *FUNCTIONS, *AGGREGATES, FEATURES, SQUARED_NORM])
        scope.diagnostics.add("PD103", node.function.span, name=name, what="a function", near=near)


def check_count(node: syntax.Call, name: str, wanted: int, signature: str, scope: Scope) -> bool:
    """Whether a call has as many arguments as it should."""
    if len(node.arguments) == wanted:
        return True
    found = len(node.arguments)
    expected = f"{wanted} argument{'' if wanted == 1 else 's'}"
    scope.diagnostics.add("PD202", node.span, name=name, expected=expected, found=found or "none", signature=signature)
    return False


def _values(node: syntax.Call, scope: Scope) -> list[TypedExpression]:
    return [scope.deeper().typed(argument.value) for argument in node.arguments]


def _function(node: syntax.Call, name: str, scope: Scope) -> TypedExpression:
    operation = FUNCTIONS[name]
    arguments = _values(node, scope)
    if not check_count(node, name, operation.arity, f"{name}({', '.join('abc'[: operation.arity])})", scope):
        return unknown(node.span)
    return apply(operation, name, arguments, [item.value for item in node.arguments], node.span, scope)


# --- models ------------------------------------------------------------------------------------------------


def _call_model(node: syntax.Call, model: TypedModel, scope: Scope) -> TypedExpression:
    scope.context.mark("model", model.name)
    inputs = model.signature.inputs
    arguments = _values(node, scope)
    if has_unknown(model.output):
        return unknown(node.span)
    if not check_count(node, model.name, len(inputs), f"{model.name}({', '.join(name for name, _ in inputs)})", scope):
        return unknown(node.span)
    if scope.place in (Place.CONSTANT, Place.OBJECTIVE, Place.EXPECT):
        scope.diagnostics.add("PD252", node.span, name=model.name)
        return unknown(node.span)
    fits = True
    for (name, wanted), argument, item in zip(inputs, arguments, node.arguments, strict=True):
        if is_unknown(argument) or has_unknown(wanted):
            fits = False
        elif not _accepts(wanted, argument.type):
            shown = written(argument, item.value)
            scope.diagnostics.add(
                "PD215",
                item.value.span,
                argument=name,
                model=model.name,
                expected=wanted,
                found=argument.type,
                name=shown,
            )
            fits = False
    if not fits:
        return unknown(node.span)
    call = ModelCall(model.output, model.name, tuple(arguments), span=node.span)
    if scope.place is not Place.DUAL:
        scope.context.calls.setdefault(model.name, {}).setdefault(call)
    return call


def _accepts(wanted: Type, type: Type) -> bool:
    """Whether a value may be handed to an input: the same type, ``_`` taking any axis of one length on every row."""
    if isinstance(wanted, GraphType) or not isinstance(wanted, ArrayType) or not isinstance(type, ArrayType):
        return wanted == type
    if len(wanted.axes) != len(type.axes):
        return False
    same_element = wanted.element == type.element or (wanted.element is Kind.REAL and type.element is Kind.INT)
    return same_element and all(
        mine == theirs or (isinstance(mine, OpenAxis) and not isinstance(theirs, RaggedAxis))
        for mine, theirs in zip(wanted.axes, type.axes, strict=True)
    )


def _squared_norm(node: syntax.Call, scope: Scope) -> TypedExpression:
    if not check_count(node, SQUARED_NORM, 1, f"{SQUARED_NORM}(model)", scope):
        return unknown(node.span)
    argument = node.arguments[0].value
    named = scope.lookup(argument.name) if isinstance(argument, syntax.Name) else None
    if named is None or not isinstance(named.entity, ModelEntity):
        if named is None or not isinstance(named.entity, BrokenEntity):
            models = scope.context.tables.models
            near = nearest(argument.name, models) if isinstance(argument, syntax.Name) else None
            scope.diagnostics.add("PD227", argument.span, near=near)
        return unknown(node.span)
    scope.context.mark("model", named.entity.model.name)
    if scope.place is not Place.OBJECTIVE:
        scope.diagnostics.add("PD253", node.span, model=named.entity.model.name)
        return unknown(node.span)
    return SquaredNorm(ArrayType(Kind.REAL), named.entity.model.name, span=node.span)


# --- functions of a whole array ----------------------------------------------------------------------------


def _aggregate(node: syntax.Call, name: str, scope: Scope) -> TypedExpression:
    rule = AGGREGATES[name]
    arguments = _values(node, scope)
    signature = f"{name}(array)" if rule.arity == 1 else f"{name}(array, share)"
    if not check_count(node, name, rule.arity, signature, scope) or any(map(is_unknown, arguments)):
        return unknown(node.span)
    array, first = arguments[0], node.arguments[0].value
    axes = array.type.axes if isinstance(array.type, ArrayType) else ()
    real = isinstance(array.type, ArrayType) and array.type.element in (Kind.REAL, Kind.INT)
    if not real or len(axes) != 1 or (name == "argmax" and not isinstance(axes[0], SetAxis)):
        scope.diagnostics.add("PD254", first.span, name=name, expected=rule.expects, found=array.type)
        return unknown(node.span)
    if name == "argmax" and isinstance(axes[0], SetAxis):
        return Aggregate(ArrayType(MemberOf(axes[0].set)), name, tuple(arguments), span=node.span)
    if not require_real(arguments[1], node.arguments[1].value, "a share", scope):
        return unknown(node.span)
    share = arguments[1]
    if isinstance(share, Literal) and not 0 < share.value <= 1:  # type: ignore[operator]
        scope.diagnostics.add("PD255", node.arguments[1].value.span, name=name, found=f"{share.value:g}")
        return unknown(node.span)
    return Aggregate(ArrayType(Kind.REAL), name, tuple(arguments), span=node.span)


# --- functions of the spec's own ---------------------------------------------------------------------------


def _expand(node: syntax.Call, definition: syntax.Def, scope: Scope) -> TypedExpression:
    """The body of a ``def`` with its arguments in place; it sees the names of the top level only."""
    name = definition.name.name
    scope.context.mark("def", name)
    parameters = definition.parameters
    signature = f"{name}({', '.join(parameter.name.name for parameter in parameters)})"
    arguments = [_argument(argument.value, scope) for argument in node.arguments]
    if not check_count(node, name, len(parameters), signature, scope):
        return unknown(node.span)
    broken = tuple(isinstance(argument, BrokenEntity) for argument in arguments)
    if any(broken):
        # What the body itself has wrong is told at the first of these calls.
        if (name, broken) in scope.context.broken_calls:
            return unknown(node.span)
        scope.context.broken_calls.add((name, broken))
    if name in scope.expanding:
        return unknown(node.span)  # recursion is reported where the definitions are
    scope.context.expansions += 1
    if scope.context.expansions > MOST_EXPANSIONS:
        if scope.context.expansions == MOST_EXPANSIONS + 1:
            scope.diagnostics.add("PD232", node.span, what="functions of the spec are expanded", limit=MOST_EXPANSIONS)
        return unknown(node.span)
    inner = {
        parameter.name.name: Named(entity, parameter.name.span)
        for parameter, entity in zip(parameters, arguments, strict=True)
    }
    body = replace(scope, block={}, inner=inner, expanding=(*scope.expanding, name), depth=scope.depth + 1)
    return replace(_typed_body(body, definition, node), span=node.span)


def _typed_body(body: Scope, definition: syntax.Def, node: syntax.Call) -> TypedExpression:
    """The typed body; a mistake in it names the call that brought it up, and is told once however often it is called."""
    context, outer = body.context, body.diagnostics
    context.diagnostics = Collector()
    try:
        value = body.typed(definition.body)
        inside = context.diagnostics.diagnostics
    finally:
        context.diagnostics = outer
    told = {(item.code, item.span) for item in outer}
    for item in inside:
        if (item.code, item.span) not in told:
            within = definition.span.start <= item.span.start < definition.span.end
            calls = (
                (Label(node.span, "call"),) if within and not any(label.role == "call" for label in item.labels) else ()
            )
            outer.extend([replace(item, labels=(*item.labels, *calls))])
    return value


def _argument(node: syntax.Expression, scope: Scope) -> Entity:
    """What an argument stands for: a row, a model or a let by name keeps its meaning, anything else is a value."""
    named = scope.lookup(node.name) if isinstance(node, syntax.Name) else None
    if named is not None:
        return named.entity
    value = scope.deeper().typed(node)
    return BrokenEntity() if is_unknown(value) else ValueEntity(value)
