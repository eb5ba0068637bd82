"""Indices and what is done over them: ``sum[g in gen where at[g] == i](s[g])``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass

from pdual.dsl import syntax
from pdual.dsl.checking.entities import BrokenEntity, DataEntity, GroupEntity, IndexEntity, described
from pdual.dsl.checking.scope import UNKNOWN_SET, Scope, is_unknown, unknown
from pdual.dsl.diagnostics import Label
from pdual.dsl.near import nearest
from pdual.dsl.operations import REDUCTIONS
from pdual.dsl.spans import Span
from pdual.dsl.typed import Binder, Literal, Reduce, TypedExpression
from pdual.dsl.types import BOOL, ArrayType, Axis, Kind, RaggedAxis, SetAxis

#: Reductions that also take arrays, element by element over the axes that remain.
_ELEMENTWISE = ("sum", "mean")


def type_reduction(node: syntax.Reduction, scope: Scope) -> TypedExpression:
    """A reduction over one or more indices."""
    binders, inner = bind_all(node.binders, scope.deeper())
    body = inner.typed(node.body)
    if node.function not in REDUCTIONS:
        near = nearest(node.function, REDUCTIONS)
        there = ", ".join(f"`{name}`" for name in REDUCTIONS)
        scope.diagnostics.add(
            "PD103", node.function_span, name=node.function, what="a reduction", near=near, there=there
        )
        return unknown(node.span)
    if is_unknown(body) or any(binder.axis == SetAxis(UNKNOWN_SET) for binder in binders):
        return unknown(node.span)
    rule = REDUCTIONS[node.function]
    if not isinstance(body.type, ArrayType) or (body.type.axes and node.function not in _ELEMENTWISE):
        scope.diagnostics.add("PD213", node.body.span, shown=node.function, expected=rule.expects, found=body.type)
        return unknown(node.span)
    result = rule.result(body.type.element)
    if result is None:
        scope.diagnostics.add("PD213", node.body.span, shown=node.function, expected=rule.expects, found=body.type)
        return unknown(node.span)
    if node.function == "count" and body.type.element is Kind.BOOL and not isinstance(body, Literal):
        scope.diagnostics.add("PD233", node.body.span)
    elif node.function != "count":
        report_idle(binders, node.binders, (node.body,), scope)
    return Reduce(ArrayType(result, body.type.axes), node.function, binders, body, span=node.span)


def bind_all(nodes: Sequence[syntax.Binder], scope: Scope) -> tuple[tuple[Binder, ...], Scope]:
    """The indices in order, each in reach of the filters of those after it; and the scope that has them all."""
    binders: list[Binder] = []
    for node in nodes:
        binder, scope = bind(node, scope)
        binders.append(binder)
    return tuple(binders), scope


def bind(node: syntax.Binder, scope: Scope) -> tuple[Binder, Scope]:
    """One index, and the scope in which it stands for a member."""
    free = check_free(node.name, node.name_span, scope)
    axis, rows_of = _domain(node.domain, scope)
    if not free:
        axis = SetAxis(UNKNOWN_SET)
    span = node.name_span.to(node.domain.span)
    binder = Binder(scope.context.identity(), node.name, axis, None, rows_of, span)
    if node.where is not None:
        condition = _extended(scope, binder, node).typed(node.where)
        if not is_unknown(condition) and condition.type != BOOL:
            scope.diagnostics.add("PD207", node.where.span, found=condition.type)
        elif not is_unknown(condition):
            binder = Binder(binder.identity, binder.name, axis, condition, rows_of, span)
    return binder, _extended(scope, binder, node)


def _extended(scope: Scope, binder: Binder, node: syntax.Binder) -> Scope:
    broken = binder.axis == SetAxis(UNKNOWN_SET)
    return scope.extended(node.name, BrokenEntity() if broken else IndexEntity(binder), node.name_span)


def _domain(node: syntax.Expression, scope: Scope) -> tuple[Axis, str | None]:
    """What an index ranges over; for the rows of a group also their data set."""
    tables = scope.context.tables
    if isinstance(node, syntax.Name):
        named = scope.lookup(node.name)
        if named is not None and isinstance(named.entity, GroupEntity):
            return RaggedAxis(named.entity.name), named.entity.data
        if node.name in tables.sets:
            scope.context.mark("set", node.name)
            return SetAxis(node.name), None
        if node.name in tables.ragged:
            return RaggedAxis(node.name), None
        if named is not None and not isinstance(named.entity, BrokenEntity):
            rows = named.entity.data.name if isinstance(named.entity, DataEntity) else None
            scope.diagnostics.add("PD226", node.span, name=node.name, what=described(named.entity), rows=rows)
            return SetAxis(UNKNOWN_SET), None
        if named is None:
            near = nearest(node.name, [*tables.sets, *tables.ragged])
            scope.diagnostics.add("PD102", node.span, name=node.name, what="set", near=near)
        return SetAxis(UNKNOWN_SET), None
    scope.diagnostics.add("PD226", node.span, name=_dotted(node), what="no index set")
    return SetAxis(UNKNOWN_SET), None


def _dotted(node: syntax.Expression) -> str:
    if isinstance(node, syntax.Member):
        return f"{_dotted(node.base)}.{node.name}"
    return node.name if isinstance(node, syntax.Name) else "this"


def check_free(name: str, span: Span, scope: Scope) -> bool:
    """Whether a local name hides no other one; one that would is reported."""
    hidden = scope.lookup(name)
    if hidden is not None and not isinstance(hidden.entity, BrokenEntity):
        scope.diagnostics.add("PD112", span, Label(hidden.span, "hidden"), name=name, what=described(hidden.entity))
        return False
    return True


def report_idle(
    binders: Sequence[Binder], nodes: Sequence[syntax.Binder], bodies: Sequence[syntax.Node], scope: Scope
) -> None:
    """Warn of an index that nothing under it reads."""
    for position, (binder, node) in enumerate(zip(binders, nodes, strict=True)):
        filters = [other.where for other in nodes[position:] if other.where is not None]
        if binder.axis == SetAxis(UNKNOWN_SET) or any(mentions(part, node.name) for part in (*bodies, *filters)):
            continue
        scope.diagnostics.add("PD214", node.name_span, name=node.name, over=str(binder.axis))


def mentions(node: syntax.Node, name: str) -> bool:
    """Whether a name occurs anywhere in a tree."""
    waiting: list[object] = [node]
    while waiting:
        item = waiting.pop()
        if isinstance(item, syntax.Name) and item.name == name:
            return True
        if isinstance(item, tuple):
            waiting.extend(item)
        elif is_dataclass(item):
            waiting.extend(getattr(item, part.name) for part in fields(item))
    return False
