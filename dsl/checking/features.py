"""``features(NAME)``: the penultimate representation of one model call, which duals read."""

from __future__ import annotations

from pdual.dsl import syntax
from pdual.dsl.checking.entities import BrokenEntity, LetEntity, ModelEntity, RecordEntity
from pdual.dsl.checking.scope import Place, Scope, is_unknown, unknown
from pdual.dsl.declarations.registry import architectures
from pdual.dsl.typed import FeaturesOf, ModelCall, OutputOf, TypedExpression, TypedModel
from pdual.dsl.types import ArrayType, Kind, MemberFeatures, OpenAxis, Type


def type_features(node: syntax.Call, scope: Scope) -> TypedExpression:
    """``features`` of a let bound to one model call, of a model that the block calls once, or of a call."""
    if len(node.arguments) != 1:
        found = len(node.arguments) or "none"
        scope.diagnostics.add(
            "PD202", node.span, name="features", expected="1 argument", found=found, signature="features(name)"
        )
        return unknown(node.span)
    if scope.place not in (Place.DUAL, Place.LET):
        scope.diagnostics.add("PD405", node.span, name="features")
        return unknown(node.span)
    call = _call(node.arguments[0].value, scope)
    if call is None:
        return unknown(node.span)
    model = scope.context.tables.models[call.model]
    type = _features_type(model, scope)
    if type is None:
        if model.name not in scope.context.tables.unbuilt:
            architecture = None if model.architecture is None else model.architecture.architecture
            scope.diagnostics.add("PD407", node.span, model=model.name, architecture=architecture)
        return unknown(node.span)
    return FeaturesOf(type, call, span=node.span)


def _call(node: syntax.Expression, scope: Scope) -> ModelCall | None:
    """The one call meant; None where it was refused."""
    named = scope.lookup(node.name) if isinstance(node, syntax.Name) else None
    match named.entity if named is not None else None:
        case LetEntity(definition):
            scope.context.mark("let", str(definition.identity))
            body = definition.body.call if isinstance(definition.body, OutputOf) else definition.body
            if isinstance(body, ModelCall) and not definition.binders:
                return body
            scope.diagnostics.add(
                "PD406", node.span, name=definition.name, found=f"`{definition.name}`, which is not one"
            )
            return None
        case RecordEntity(name, outputs, call):
            for definition in outputs.values():
                scope.context.mark("let", str(definition.identity))
                if definition.binders:
                    scope.diagnostics.add("PD406", node.span, name=name, found=f"one for every index of `{name}`")
                    return None
            return call
        case ModelEntity(model):
            scope.context.mark("model", model.name)
            calls = list(scope.context.calls.get(model.name, ()))
            if len(calls) == 1:
                scope.context.features_of.append((model.name, node.span))
                return calls[0]
            found = f"{_times(len(calls))} of `{model.name}`"
            scope.diagnostics.add("PD406", node.span, name=model.name, found=found)
            return None
        case BrokenEntity():
            return None
        case _:
            pass
    value = scope.deeper().typed(node)
    if isinstance(value, ModelCall):
        return value
    if not is_unknown(value):
        scope.diagnostics.add("PD406", node.span, found=f"`{value.type}`")
    return None


def _times(count: int) -> str:
    return f"{count} different calls" if count else "no call before this"


def _features_type(model: TypedModel, scope: Scope) -> Type | None:
    if model.name in scope.context.tables.unbuilt:
        return None
    if model.architecture is None:
        return ArrayType(Kind.REAL, (OpenAxis(),)) if model.features_layer is not None else None
    declaration = architectures()[model.architecture.architecture]
    found: ArrayType | MemberFeatures | None = declaration.features(
        model.signature, model.architecture.settings, known_sizes(scope)
    )
    return found


def known_sizes(scope: Scope) -> dict[str, int]:
    """The sizes of the sets that the spec lists."""
    return {name: len(known.labels) for name, known in scope.context.tables.sets.items() if known.labels is not None}
