"""``let``: a name for a value, an array over indices, or the outputs of a model call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from pdual.dsl import syntax
from pdual.dsl.checking.entities import BrokenEntity, Entity, LetEntity, RecordEntity
from pdual.dsl.checking.heights import extent_of
from pdual.dsl.checking.reductions import bind_all, check_free, report_idle
from pdual.dsl.checking.scope import HIGHEST, UNKNOWN_SET, Place, Scope, is_unknown
from pdual.dsl.checking.walking import walk
from pdual.dsl.near import nearest
from pdual.dsl.spans import Span
from pdual.dsl.typed import Binder, FeaturesOf, LetDefinition, LetRef, ModelCall, OutputOf, TypedExpression
from pdual.dsl.types import ArrayType, RecordType, SetAxis


def check_let(node: syntax.Let, scope: Scope) -> Iterator[tuple[syntax.Name, Entity, tuple[LetDefinition, ...]]]:
    """The names that a ``let`` introduces, what they stand for, and the definitions behind them."""
    for name in node.names:
        check_free(name.name, name.span, scope)
    for binder in node.binders:
        if binder.where is not None:
            scope.diagnostics.add("PD273", binder.where.span, name=node.names[0].name)
    binders, inner = bind_all(node.binders, scope.at(Place.LET))
    body = inner.typed(node.value)
    report_idle(binders, node.binders, (node.value,), scope)
    if is_unknown(body) or any(binder.axis == SetAxis(UNKNOWN_SET) for binder in binders):
        for name in node.names:
            yield name, BrokenEntity(), ()
    elif len(node.names) > 1:
        yield from _taken_apart(node, body, scope)
    else:
        yield _named(node.names[0], node.span, binders, body, node, scope)


def _named(
    name: syntax.Name, span: Span, binders: tuple[Binder, ...], body: TypedExpression, node: syntax.Let, scope: Scope
) -> tuple[syntax.Name, Entity, tuple[LetDefinition, ...]]:
    if isinstance(body.type, ArrayType):
        definition = _definition(name.name, binders, body, body.type, span, scope)
        confined = _reads_features(body, scope)
        if confined:
            scope.context.feature_lets.add(definition.identity)
        return name, LetEntity(definition, confined), (definition,)
    if isinstance(body, ModelCall) and isinstance(body.type, RecordType):
        outputs = {
            output: _definition(
                f"{name.name}.{output}", binders, OutputOf(type, body, output, span=body.span), type, span, scope
            )
            for output, type in body.type.fields
        }
        return name, RecordEntity(name.name, outputs, body, span), tuple(outputs.values())
    scope.diagnostics.add("PD246", node.value.span, found=body.type)
    return name, BrokenEntity(), ()


def _taken_apart(
    node: syntax.Let, body: TypedExpression, scope: Scope
) -> Iterator[tuple[syntax.Name, Entity, tuple[LetDefinition, ...]]]:
    """``let (v, s) = call``: by the names of the outputs, in any order."""
    if not isinstance(body, ModelCall) or not isinstance(body.type, RecordType):
        scope.diagnostics.add("PD225", node.value.span, found=body.type)
        for name in node.names:
            yield name, BrokenEntity(), ()
        return
    types = dict(body.type.fields)
    for name in node.names:
        if name.name not in types:
            has = ", ".join(f"`{output}`" for output in types)
            near = nearest(name.name, types)
            scope.diagnostics.add("PD108", name.span, name=name.name, model=body.model, has=has, near=near)
            yield name, BrokenEntity(), ()
            continue
        value = OutputOf(types[name.name], body, name.name, span=body.span)
        definition = _definition(name.name, (), value, types[name.name], name.span, scope)
        yield name, LetEntity(definition, False), (definition,)


def _definition(
    name: str, binders: Sequence[Binder], body: TypedExpression, type: ArrayType, span: Span, scope: Scope
) -> LetDefinition:
    """An array over the axes of the indices, then those of the body."""
    axes = (*(binder.axis for binder in binders), *type.axes)
    definition = LetDefinition(scope.context.identity(), name, tuple(binders), body, replace(type, axes=axes), span)
    height = extent_of(body, scope.context).height
    if height > HIGHEST:
        scope.diagnostics.add("PD232", span, what="values are built on each other", limit=HIGHEST)
        height = 0  # told once, not for everything above it
    scope.context.heights[definition.identity] = height
    return definition


def _reads_features(body: TypedExpression, scope: Scope) -> bool:
    """Whether duals alone may use it."""
    return any(
        isinstance(item, FeaturesOf)
        or (isinstance(item, LetRef) and item.definition.identity in scope.context.feature_lets)
        for item in walk(body)
    )
