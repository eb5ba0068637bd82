"""``base[i, j]``: one index an axis, each of the axis's own set."""

from __future__ import annotations

from collections.abc import Sequence

from pdual.dsl import syntax
from pdual.dsl.checking.scope import UNKNOWN_SET, Scope, is_unknown, unknown
from pdual.dsl.diagnostics import Label
from pdual.dsl.near import nearest
from pdual.dsl.typed import GivenRef, IndexRef, Literal, Select, TypedExpression
from pdual.dsl.types import ArrayType, Axis, FixedAxis, MemberOf, RaggedAxis, SetAxis


def type_index(node: syntax.Index, scope: Scope) -> TypedExpression:
    """``base[i, j]`` takes the leading axes of an array."""
    inner = scope.deeper()
    base = inner.typed(node.base)
    if is_unknown(base):
        for index in node.indices:
            inner.typed(index)
        return unknown(node.span)
    if not isinstance(base.type, ArrayType) or len(node.indices) > len(base.type.axes):
        axes = len(base.type.axes) if isinstance(base.type, ArrayType) else 0
        scope.diagnostics.add(
            "PD205",
            node.span,
            name=written(base, node.base),
            type=base.type,
            axes=_counted(axes),
            found=_indices(len(node.indices)),
        )
        return unknown(node.span)
    indices = [
        _index(index, axis, base, node.base, inner) for index, axis in zip(node.indices, base.type.axes, strict=False)
    ]
    if any(is_unknown(index) for index in indices):
        return unknown(node.span)
    result = ArrayType(base.type.element, base.type.axes[len(indices) :])
    if isinstance(base, Select):
        return Select(result, base.base, (*base.indices, *indices), span=node.span)
    return Select(result, base, tuple(indices), span=node.span)


def _index(
    node: syntax.Expression, axis: Axis, base: TypedExpression, base_node: syntax.Expression, scope: Scope
) -> TypedExpression:
    if isinstance(axis, FixedAxis):
        return _position(node, axis, base, base_node, scope)
    if not isinstance(axis, SetAxis | RaggedAxis):
        scope.diagnostics.add("PD242", node.span, name=written(base, base_node), type=base.type)
        return unknown(node.span)
    wanted = MemberOf(axis.set if isinstance(axis, SetAxis) else axis.name)
    index = typed_as_member(node, wanted, scope)
    if is_unknown(index):
        return index
    if index.type != ArrayType(wanted):
        _report_mismatch(index, wanted, base, base_node, node, scope)
        return unknown(node.span)
    return index


def typed_as_member(node: syntax.Expression, element: MemberOf, scope: Scope) -> TypedExpression:
    """An expression where a member of a set is wanted: the set's labels are in reach there (``z[3]``, ``price[upper]``)."""
    labels = scope.labels(element.set)
    if labels is not None:
        if isinstance(node, syntax.Number) and node.integer:
            label = str(int(node.value))
            if label in labels:
                return Literal(ArrayType(element), labels.index(label), span=node.span)
            scope.diagnostics.add("PD243", node.span, label=label, set=element.set, labels=_listed(labels))
            return unknown(node.span)
        if isinstance(node, syntax.Name) and scope.lookup(node.name) is None:
            scope.context.mark("set", element.set)
            if node.name in labels:
                return Literal(ArrayType(element), labels.index(node.name), span=node.span)
            near = nearest(node.name, [*labels, *(name for name, _ in scope.reachable())])
            if near in labels:
                shown = _listed(labels)
                scope.diagnostics.add("PD243", node.span, label=node.name, set=element.set, labels=shown, near=near)
                return unknown(node.span)
    return scope.typed(node)


def _position(
    node: syntax.Expression, axis: FixedAxis, base: TypedExpression, base_node: syntax.Expression, scope: Scope
) -> TypedExpression:
    index = scope.typed(node)
    if is_unknown(index):
        return index
    fits = isinstance(index, Literal) and type(index.value) is int and isinstance(index.type, ArrayType)
    if not fits or not 0 <= int(index.value) < axis.size:  # type: ignore[union-attr]
        found = str(index.value) if isinstance(index, Literal) else str(index.type)
        scope.diagnostics.add("PD206", node.span, name=written(base, base_node), last=axis.size - 1, found=found)
        return unknown(node.span)
    return index


def _report_mismatch(
    index: TypedExpression,
    wanted: MemberOf,
    base: TypedExpression,
    base_node: syntax.Expression,
    node: syntax.Expression,
    scope: Scope,
) -> None:
    name = written(base, base_node)
    element = index.type.element if isinstance(index.type, ArrayType) and not index.type.axes else None
    if not isinstance(element, MemberOf):
        scope.diagnostics.add("PD244", node.span, name=name, wanted=wanted, found=index.type)
        return
    if element.set == UNKNOWN_SET:
        return
    maps = _maps(element.set, wanted.set, scope)
    labels = [Label(index.binder.span, "declared")] if isinstance(index, IndexRef) else []
    scope.diagnostics.add(
        "PD204",
        node.span,
        *labels,
        name=name,
        wanted=wanted,
        index=index.binder.name if isinstance(index, IndexRef) else None,
        subject=f"`{index.binder.name}` ranges over" if isinstance(index, IndexRef) else "the index is a member of",
        found=element,
        maps=" and ".join(f"`{item}`" for item in maps) or None,
        converted=f"{maps[0]}[{index.binder.name}]" if len(maps) == 1 and isinstance(index, IndexRef) else None,
        none="yes" if not maps else None,
    )


def _maps(domain: str, target: str, scope: Scope) -> list[str]:
    """The given fields that turn a member of one set into one of the other: ``at: bus[gen]``."""
    wanted = ArrayType(MemberOf(target), (SetAxis(domain),))
    return [
        field.name for given in scope.context.tables.givens.values() for field in given.fields if field.type == wanted
    ]


def written(expression: TypedExpression, node: syntax.Expression) -> str:
    """How an array is called in a message."""
    if isinstance(node, syntax.Name):
        return node.name
    if isinstance(node, syntax.Member):
        base = written(expression, node.base) if isinstance(node.base, syntax.Name | syntax.Member) else ""
        return f"{base}.{node.name}" if base else node.name
    if isinstance(node, syntax.Call) and isinstance(node.function, syntax.Name):
        return f"{node.function.name}(...)"
    if isinstance(expression, GivenRef):
        return expression.name
    return "this array"


def _counted(axes: int) -> str:
    return {0: "no axis", 1: "1 axis"}.get(axes, f"{axes} axes")


def _indices(count: int) -> str:
    return "1 index" if count == 1 else f"{count} indices"


def _listed(labels: Sequence[str]) -> str:
    shown = ", ".join(f"`{label}`" for label in labels[:6])
    return shown if len(labels) <= 6 else f"{shown}, ... `{labels[-1]}`"
