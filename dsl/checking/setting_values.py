"""The value of one setting: a number, a text, a word, a list, a reference, or a nested call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pdual.dsl import syntax
from pdual.dsl.checking.accepted import Accepted
from pdual.dsl.checking.constants import constant
from pdual.dsl.checking.entities import AmbiguousEntity, BrokenEntity, GivenEntity, GivenFieldEntity, ParamEntity
from pdual.dsl.checking.lookup import entity_value, type_member
from pdual.dsl.checking.scope import Scope
from pdual.dsl.declarations.optimisers import OPTIMISERS
from pdual.dsl.declarations.references import (
    ArchitectureUse,
    FieldName,
    GivenField,
    GivenReference,
    OptimiserUse,
    Settings,
)
from pdual.dsl.declarations.registry import architectures
from pdual.dsl.near import nearest
from pdual.dsl.typed import GivenRef

#: Builds the settings of a nested call: ``(record, positional, call, name, scope)``.
Builder = Callable[[type[Settings], Sequence[str], syntax.Call, str, Scope], Settings | None]


class Refused:
    """Stands for a value that was already reported."""


REFUSED = Refused()


def setting_value(node: syntax.Expression, takes: Accepted, scope: Scope, build: Builder) -> Any:
    """The value as the settings record is given it; ``REFUSED`` where it was reported."""
    if isinstance(node, syntax.ListOf):
        values = [setting_value(item, takes, scope, build) for item in node.items]
        return REFUSED if any(value is REFUSED for value in values) else tuple(values)
    if isinstance(node, syntax.Name):
        return _name(node, takes, scope, build)
    if isinstance(node, syntax.Member) and takes.takes(GivenField):
        return _given_field(node, scope)
    if isinstance(node, syntax.Member) and takes.takes(ArchitectureUse):
        return _architecture(syntax.Call(node, (), span=node.span), scope, build)
    if isinstance(node, syntax.Call):
        return _call(node, takes, scope, build)
    return _constant(node, scope)


def _constant(node: syntax.Expression, scope: Scope) -> Any:
    value = constant(node, scope)
    return REFUSED if value is None else value


def _name(node: syntax.Name, takes: Accepted, scope: Scope, build: Builder) -> Any:
    """A word of the setting, a parameter, a reference into a given, or an architecture without arguments."""
    if node.name in takes.words:
        return node.name
    if takes.takes(FieldName):
        return FieldName(node.name, node.span)
    named = scope.lookup(node.name)
    match named.entity if named is not None else None:
        case BrokenEntity():
            return REFUSED
        case GivenEntity(given) if takes.takes(GivenReference):
            scope.context.mark("given", given.name)
            return GivenReference(given.name)
        case (GivenFieldEntity() | AmbiguousEntity()) as entity if takes.takes(GivenField):
            return _reference(entity_value(entity, node.name, node.span, scope))
        case ParamEntity():
            return _constant(node, scope)
    if takes.takes(ArchitectureUse):
        return _architecture(syntax.Call(node, (), span=node.span), scope, build)
    if named is None and node.name not in ("true", "false", "inf", "pi"):
        found = [name for name, entity in scope.reachable() if _fits(entity, takes)]
        near = nearest(node.name, [*takes.words, *found, *takes.records])
        scope.diagnostics.add("PD110", node.span, name=node.name, near=near, expected=takes.expected)
        return REFUSED
    return _constant(node, scope)


def _fits(entity: object, takes: Accepted) -> bool:
    return (
        (isinstance(entity, GivenEntity) and takes.takes(GivenReference))
        or (isinstance(entity, GivenFieldEntity) and takes.takes(GivenField))
        or isinstance(entity, ParamEntity)
    )


def _given_field(node: syntax.Member, scope: Scope) -> Any:
    return _reference(type_member(node, scope))


def _reference(typed: object) -> Any:
    if isinstance(typed, GivenRef):
        return GivenField(typed.given, typed.name, typed.type)  # type: ignore[arg-type]
    return REFUSED


def _call(node: syntax.Call, takes: Accepted, scope: Scope, build: Builder) -> Any:
    name = dotted(node.function)
    if takes.takes(ArchitectureUse):
        return _architecture(node, scope, build)
    if takes.takes(OptimiserUse):
        return _nested(node, OPTIMISERS, "an optimiser", scope, build, lambda settings: OptimiserUse(name, settings))
    if takes.records:
        return _nested(node, takes.records, "a schedule", scope, build, lambda settings: settings)
    return _constant(node, scope)


def _nested(
    node: syntax.Call,
    known: Mapping[str, type[Settings]],
    what: str,
    scope: Scope,
    build: Builder,
    use: Callable[[Settings], Any],
) -> Any:
    name = dotted(node.function)
    if name not in known:
        there = ", ".join(f"`{item}`" for item in known)
        scope.diagnostics.add("PD103", node.function.span, name=name, what=what, near=nearest(name, known), there=there)
        return REFUSED
    settings = build(known[name], (), node, name, scope)
    return REFUSED if settings is None else use(settings)


def _architecture(node: syntax.Call, scope: Scope, build: Builder) -> Any:
    use = architecture_use(node, scope, build)
    return REFUSED if use is None else use


def architecture_use(node: syntax.Call, scope: Scope, build: Builder) -> ArchitectureUse | None:
    """``mlp(hidden = [128])`` with its settings checked; None where it was refused."""
    name = dotted(node.function)
    declaration = architectures().get(name)
    if declaration is None:
        there = ", ".join(f"`{item}`" for item in sorted(architectures()))
        near = nearest(name, architectures())
        scope.diagnostics.add("PD105", node.function.span, name=name, near=near, there=there)
        return None
    settings = build(declaration.settings, declaration.positional, node, name, scope)
    return None if settings is None else ArchitectureUse(name, settings)


def dotted(node: syntax.Expression) -> str:
    """``power.case`` from its parts."""
    if isinstance(node, syntax.Member):
        return f"{dotted(node.base)}.{node.name}"
    return node.name if isinstance(node, syntax.Name) else "?"
