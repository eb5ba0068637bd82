"""``subject to NAME: mean[x in D](...) <= eps``: a constraint on an average, with one multiplier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pdual.dsl import syntax
from pdual.dsl.checking.dual_values import DEFAULT_CAP, KINDS, check_held, held_kind
from pdual.dsl.checking.entities import BrokenEntity, DataEntity, RowEntity
from pdual.dsl.checking.operators import require_real
from pdual.dsl.checking.reductions import check_free
from pdual.dsl.checking.relations import check_relation
from pdual.dsl.checking.scope import Place, Scope, is_unknown
from pdual.dsl.diagnostics import Label
from pdual.dsl.near import nearest
from pdual.dsl.spans import Span
from pdual.dsl.typed import Binder, HeldDual, Reduce, TypedAverage, TypedExpression
from pdual.dsl.types import BOOL, REAL, RaggedAxis

_SCALAR_KINDS = ("shared", "penalty", "none")


def check_averages(
    nodes: Sequence[syntax.Constraint], duals: Sequence[syntax.Dual], family_spans: Mapping[str, Span], scope: Scope
) -> tuple[TypedAverage, ...]:
    """The constraints outside any block."""
    held = _duals(duals, {node.name.name for node in nodes}, scope)
    found = []
    for node in nodes:
        if family_spans.get(node.name.name) == node.name.span:
            average = _average(node, held.get(node.name.name, HeldDual("shared", DEFAULT_CAP)), scope)
            if average is not None:
                found.append(average)
    return tuple(found)


def _duals(nodes: Sequence[syntax.Dual], names: set[str], scope: Scope) -> dict[str, HeldDual]:
    """How the single multiplier of each average is held."""
    held: dict[str, HeldDual] = {}
    spans: dict[str, Span] = {}
    for node in nodes:
        kind = held_kind(node.value, scope)
        value = check_held(node.value, kind, scope) if kind in _SCALAR_KINDS else None
        if kind is None or (kind in KINDS and kind not in _SCALAR_KINDS):
            scope.found.add("PD411", node.value.span)
        elif kind not in KINDS:
            check_held(node.value, kind, scope)
        for target in node.targets:
            name = target.family.name
            if name not in names:
                there = ", ".join(f"`{item}`" for item in sorted(names)) or None
                elsewhere = "yes" if name in scope.context.tables.families or name == "default" else None
                near = nearest(name, names)
                scope.found.add("PD106", target.family.span, name=name, near=near, elsewhere=elsewhere, there=there)
            elif name in spans:
                scope.found.add("PD401", target.span, Label(spans[name], "first"), name=name)
            else:
                spans[name] = target.span
                if value is not None:
                    held[name] = value
    return held


def _average(node: syntax.Constraint, dual: HeldDual, scope: Scope) -> TypedAverage | None:
    if node.binders or node.scale is not None or not isinstance(node.relation, syntax.Compare):
        scope.found.add("PD234", node.span)
        return None
    means = [item for item in node.relation.operands if isinstance(item, syntax.Reduction)]
    if len(means) != 1 or means[0].function != "mean" or len(means[0].binders) != 1:
        scope.found.add("PD234", node.relation.span)
        return None
    (mean,) = means
    bound = _row_binder(mean.binders[0], scope)
    if bound is None:
        return None
    binder, inner = bound
    body = inner.at(Place.AVERAGE).typed(mean.body)
    if is_unknown(body) or (body.type != BOOL and not require_real(body, mean.body, "what is averaged", inner)):
        return None
    value = Reduce(REAL, "mean", (binder,), body, span=mean.span)
    return _related(node, mean, value, binder, dual, scope)


def _related(
    node: syntax.Constraint, mean: syntax.Reduction, value: Reduce, binder: Binder, dual: HeldDual, scope: Scope
) -> TypedAverage | None:
    """The relation with the mean already checked: its place in the text stands for its value."""

    def typer(item: syntax.Expression, where: Scope) -> TypedExpression:
        return value if item is mean else outer(item, where)

    outer = scope.context.typer
    scope.context.typer = typer
    try:
        relation = check_relation(node.relation, scope.at(Place.CONSTANT))
    finally:
        scope.context.typer = outer
    if relation is None:
        return None
    data = binder.rows_of
    assert data is not None
    return TypedAverage(node.name.name, data, binder, relation.operators, relation.operands, dual, node.span)


def _row_binder(node: syntax.Binder, scope: Scope) -> tuple[Binder, Scope] | None:
    """``x in D``: the rows of a data set."""
    check_free(node.name, node.name_span, scope)
    name = node.domain.name if isinstance(node.domain, syntax.Name) else ""
    named = scope.lookup(name)
    if named is not None and isinstance(named.entity, BrokenEntity):
        return None
    if named is None or not isinstance(named.entity, DataEntity):
        tables = scope.context.tables
        there = ", ".join(f"`{item}`" for item in tables.data) or None
        scope.found.add("PD120", node.domain.span, name=name or None, near=nearest(name, tables.data), there=there)
        return None
    scope.context.mark("data", name)
    span = node.name_span.to(node.domain.span)
    binder = Binder(scope.context.identity(), node.name, RaggedAxis(name), None, name, span)
    inner = scope.extended(node.name, RowEntity(name, binder), node.name_span)
    if node.where is not None:
        condition = inner.at(Place.AVERAGE).typed(node.where)
        if is_unknown(condition):
            return None
        if condition.type != BOOL:
            scope.found.add("PD207", node.where.span, found=condition.type)
            return None
        binder = Binder(binder.identity, binder.name, binder.axis, condition, name, span)
        inner = scope.extended(node.name, RowEntity(name, binder), node.name_span)
    return binder, inner
