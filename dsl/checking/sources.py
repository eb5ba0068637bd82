"""``given`` and ``data``: the source with its settings, and what is taken from what it offers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from pdual.dsl import syntax
from pdual.dsl.checking.annotations import has_unknown, value_type
from pdual.dsl.checking.constants import interval
from pdual.dsl.checking.scope import UNKNOWN_SET, Scope
from pdual.dsl.checking.setting_values import dotted
from pdual.dsl.checking.settings import brace_settings, call_settings
from pdual.dsl.checking.split_by import check_split_by
from pdual.dsl.checking.standardised import check_standardised
from pdual.dsl.declarations.references import Settings
from pdual.dsl.declarations.registry import sources
from pdual.dsl.declarations.source import ANY, BOUND_NAME, Offer, SourceDeclaration, SourceRole
from pdual.dsl.diagnostics import Label
from pdual.dsl.near import nearest
from pdual.dsl.record import record
from pdual.dsl.spans import Span
from pdual.dsl.typed import TypedData, TypedField, TypedGiven, TypedSet
from pdual.dsl.types import ArrayType, Axis, Element, FixedAxis, GraphType, Kind, MemberOf, SetAxis


@record(frozen=True, slots=True)
class _Origin:
    """The source of a declaration, as far as it could be checked."""

    name: str
    settings: Settings
    offer: Offer | None  # None: unknown, so that nothing is said about fields
    refused: frozenset[str] = frozenset()  # sets that it does not offer: nothing is said about fields over them


def check_given(node: syntax.Given, scope: Scope) -> TypedGiven:
    """Known structure; its sets are declared before its fields are read."""
    name = node.name.name
    origin = _origin(node.source, SourceRole.GIVEN, scope)
    refused: set[str] = set()
    for item in node.sets:
        if origin.offer is not None and item.name not in origin.offer.sets and not origin.offer.open:
            near = _report_offer(item.span, item.name, "set", origin.name, origin.offer.sets, scope)
            refused.add(item.name)
            if near is not None:  # what uses the right name is right
                scope.context.tables.sets.setdefault(near, TypedSet(near, None, name, item.span))
        scope.context.tables.sets.setdefault(item.name, TypedSet(item.name, None, name, item.span))
    fields = tuple(_fields(node.fields, replace(origin, refused=frozenset(refused)), "a field of a given", scope))
    return TypedGiven(name, origin.name, origin.settings, tuple(item.name for item in node.sets), fields, node.span)


def check_data(node: syntax.Data, scope: Scope) -> TypedData:
    """A data set and the fields of its rows."""
    name = node.name.name
    if node.source is None:
        declaration = sources()[BOUND_NAME]
        settings = brace_settings(declaration.settings, node.settings, f"data {name}", node.name.span, scope)
        origin = _Origin("", settings or Settings(), Offer(open=True))
    else:
        for setting in node.settings:
            source = dotted(node.source.function)
            scope.diagnostics.add("PD261", setting.span, name=setting.name.name, source=source)
        origin = _origin(node.source, SourceRole.DATA, scope)
    fields = tuple(_fields(node.fields, origin, "a field of a row", scope))
    check_standardised(name, origin.settings, fields, scope)
    check_split_by(name, origin.settings, fields, scope)
    return TypedData(name, origin.name or None, origin.settings, fields, node.span)


def _origin(call: syntax.Call, role: SourceRole, scope: Scope) -> _Origin:
    name = dotted(call.function)
    declaration = sources().get(name) if name != BOUND_NAME else None
    if declaration is None or declaration.role is not role:
        known = sorted(item.name for item in sources().values() if item.role is role and item.name != BOUND_NAME)
        code = "PD104" if declaration is None else "PD262"
        near = nearest(name, known) if declaration is None else None
        there = ", ".join(f"`{item}`" for item in known)
        scope.diagnostics.add(code, call.function.span, name=name, near=near, there=there, role=role)
        return _Origin(name, Settings(), None)
    settings = call_settings(declaration.settings, declaration.positional, call, name, scope)
    if settings is None:
        return _Origin(name, Settings(), _default_offer(declaration))
    return _Origin(name, settings, declaration.offer(settings))


def _default_offer(declaration: SourceDeclaration) -> Offer | None:
    """What is offered whatever the settings are; None where that cannot be told without them."""
    try:
        return declaration.offer(declaration.settings.model_construct())
    except (AttributeError, AssertionError):
        return None


def _fields(
    nodes: tuple[syntax.FieldDeclaration, ...], origin: _Origin, where: str, scope: Scope
) -> Iterator[TypedField]:
    seen: dict[str, Span] = {}
    for node in nodes:
        found = value_type(node.type, scope.context, where)
        bounds = node.type.interval if isinstance(node.type, syntax.ArrayTypeName) else None
        low, high = interval(bounds, scope)
        if bounds is not None and isinstance(found, ArrayType) and not _may_bound(found):
            scope.diagnostics.add("PD263", bounds.span, found=found.element)
            low = high = None
        for name in node.names:
            if name.name in seen:
                scope.diagnostics.add(
                    "PD111", name.span, Label(seen[name.name], "first"), name=name.name, what="a field"
                )
                continue
            seen[name.name] = name.span
            meant = _check_offer(name, node, found, origin, scope)
            yield TypedField(name.name, found, low, high, node.column, name.span)
            if meant is not None and all(meant != item.name for other in nodes for item in other.names):
                yield TypedField(meant, ArrayType(MemberOf(UNKNOWN_SET)), span=name.span)


def _may_bound(type: ArrayType) -> bool:
    return type.element in (Kind.REAL, Kind.INT) or has_unknown(type)


def _check_offer(
    name: syntax.Name, node: syntax.FieldDeclaration, kind: ArrayType | GraphType, origin: _Origin, scope: Scope
) -> str | None:
    """A field has to be one that the source offers, with the type it has there. The name that was meant where it is not."""
    if origin.offer is None or origin.offer.open:
        return None
    offered: Mapping[str, ArrayType | GraphType] = dict(origin.offer.fields)
    column = node.column if node.column is not None else name.name
    if column not in offered:
        near = _report_offer(name.span, column, "field", origin.name, offered, scope)
        return near if node.column is None else None
    if not has_unknown(kind) and not matches(offered[column], kind) and not _is_over(kind, origin.refused):
        scope.diagnostics.add(
            "PD216", node.type.span, name=name.name, source=origin.name, expected=shown(offered[column]), found=kind
        )
    return None


def _is_over(type: ArrayType | GraphType, sets: frozenset[str]) -> bool:
    """Whether an array has an axis, or members, of one of the sets."""
    if not isinstance(type, ArrayType):
        return False
    named = {axis.set for axis in type.axes if isinstance(axis, SetAxis)}
    if isinstance(type.element, MemberOf):
        named.add(type.element.set)
    return not sets.isdisjoint(named)


def _report_offer(
    span: Span, name: str, what: str, source: str, offered: Mapping[str, object] | tuple[str, ...], scope: Scope
) -> str | None:
    near = nearest(name, offered)
    there = ", ".join(f"`{item}`" for item in offered) or None
    scope.diagnostics.add("PD122", span, name=name, what=what, source=source, near=near, there=there)
    return near


def matches(offered: ArrayType | GraphType, kind: ArrayType | GraphType) -> bool:
    """Whether a declared type is the offered one, ``*`` in the offer standing for any set."""
    if isinstance(offered, GraphType) and isinstance(kind, GraphType):
        mine, theirs = dict(offered.fields), dict(kind.fields)
        return set(theirs) <= set(mine) and all(matches(mine[name], theirs[name]) for name in theirs)
    if not isinstance(offered, ArrayType) or not isinstance(kind, ArrayType):
        return False
    if len(offered.axes) != len(kind.axes) or not _element_matches(offered.element, kind.element):
        return False
    return all(_axis_matches(mine, theirs) for mine, theirs in zip(offered.axes, kind.axes, strict=True))


def _element_matches(offered: Element, element: Element) -> bool:
    if offered == MemberOf(ANY):
        return isinstance(element, MemberOf)
    return offered == element


def _axis_matches(offered: Axis, axis: Axis) -> bool:
    if offered == SetAxis(ANY):
        return isinstance(axis, SetAxis | FixedAxis)
    return offered == axis


def shown(type: ArrayType | GraphType) -> str:
    """An offered type in words."""
    text = str(type)
    return "a member of an index set" if text == ANY else f"`{text.replace(ANY, 'SET')}`"
