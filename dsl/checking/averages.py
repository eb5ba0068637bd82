"""``subject to NAME: mean[x in D](...) <= eps``: a constraint on averages, with one multiplier."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass

from pdual.dsl import syntax
from pdual.dsl.checking.dual_values import DEFAULT_CAP, check_held, held_kind, is_held
from pdual.dsl.checking.entities import BrokenEntity, DataEntity, RowEntity
from pdual.dsl.checking.operators import require_real
from pdual.dsl.checking.reductions import check_free
from pdual.dsl.checking.relations import Relation, check_relation, check_scale
from pdual.dsl.checking.scope import Place, Scope, is_unknown, unknown
from pdual.dsl.checking.walking import children
from pdual.dsl.declarations.registry import duals
from pdual.dsl.diagnostics import Label
from pdual.dsl.near import nearest
from pdual.dsl.spans import Span
from pdual.dsl.typed import Apply, Binder, HeldDual, Reduce, TypedAverage, TypedExpression
from pdual.dsl.types import BOOL, REAL, RaggedAxis

#: How the multiplier of an average is held where the spec says nothing.
KIND_OF_AVERAGES = "shared"


def holds_averages(kind: str) -> bool:
    """Whether the multiplier of an average may be held so."""
    return kind in duals() and duals()[kind].averages


def check_averages(
    nodes: Sequence[syntax.Constraint], duals: Sequence[syntax.Dual], family_spans: Mapping[str, Span], scope: Scope
) -> tuple[TypedAverage, ...]:
    """The constraints outside any block."""
    held = _duals(duals, {node.name.name for node in nodes}, scope)
    found = []
    for node in nodes:
        if family_spans.get(node.name.name) == node.name.span:
            average = _average(node, held.get(node.name.name, HeldDual(KIND_OF_AVERAGES, DEFAULT_CAP)), scope)
            if average is not None:
                found.append(average)
    return tuple(found)


def _duals(nodes: Sequence[syntax.Dual], names: set[str], scope: Scope) -> dict[str, HeldDual]:
    """How the single multiplier of each average is held."""
    held: dict[str, HeldDual] = {}
    spans: dict[str, Span] = {}
    for node in nodes:
        kind = held_kind(node.value, scope)
        value = check_held(node.value, kind, scope) if kind is not None and holds_averages(kind) else None
        if kind is None or (is_held(kind) and not holds_averages(kind)):
            scope.diagnostics.add("PD411", node.value.span)
        elif not is_held(kind):
            check_held(node.value, kind, scope)
        for target in node.targets:
            name = target.family.name
            if name not in names:
                there = ", ".join(f"`{item}`" for item in sorted(names)) or None
                elsewhere = "yes" if name in scope.context.tables.families or name == "default" else None
                near = nearest(name, names)
                scope.diagnostics.add(
                    "PD106", target.family.span, name=name, near=near, elsewhere=elsewhere, there=there
                )
            elif name in spans:
                scope.diagnostics.add("PD401", target.span, Label(spans[name], "first"), name=name)
            else:
                spans[name] = target.span
                if value is not None:
                    held[name] = value
    return held


def _average(node: syntax.Constraint, dual: HeldDual, scope: Scope) -> TypedAverage | None:
    if node.binders or not isinstance(node.relation, syntax.Compare):
        scope.diagnostics.add("PD234", node.span)
        return None
    if not any(_is_over_rows(item, scope) for item in _reductions(node.relation)):
        scope.diagnostics.add("PD234", node.relation.span)
        return None
    constant = scope.at(Place.CONSTANT)
    relation, means = _related(node.relation, constant)
    scale = check_scale(node.scale, constant)
    if relation is None or (node.scale is not None and scale is None):
        return None
    degrees = [_degree(operand, means) for operand in relation.operands]
    if max(degrees) != 1:
        place = next((item for item, n in zip(node.relation.operands, degrees, strict=True) if n > 1), node.relation)
        scope.diagnostics.add("PD234", place.span)
        return None
    return TypedAverage(node.name.name, tuple(means), relation.operators, relation.operands, scale, dual, node.span)


def _related(node: syntax.Compare, scope: Scope) -> tuple[Relation | None, list[Reduce]]:
    """The relation, its operands constants but for means over rows; and these means, in the order of writing."""
    means: list[Reduce] = []

    def typer(item: syntax.Expression, where: Scope) -> TypedExpression:
        if not isinstance(item, syntax.Reduction) or not _is_over_rows(item, where):
            return outer(item, where)
        found = _mean(item, where)
        if found is None:
            return unknown(item.span)
        means.append(found)
        return found

    outer = scope.context.typer
    scope.context.typer = typer
    try:
        return check_relation(node, scope), means
    finally:
        scope.context.typer = outer


def _reductions(node: syntax.Node) -> Iterator[syntax.Reduction]:
    """Every reduction in a tree."""
    waiting: list[object] = [node]
    while waiting:
        item = waiting.pop()
        if isinstance(item, syntax.Reduction):
            yield item
        if isinstance(item, tuple):
            waiting.extend(item)
        elif is_dataclass(item):
            waiting.extend(getattr(item, part.name) for part in fields(item))


def _is_over_rows(node: syntax.Reduction, scope: Scope) -> bool:
    """Whether a reduction is over a data set, or over what is neither a set nor the tokens of a row."""
    if len(node.binders) != 1:
        return False
    domain, tables = node.binders[0].domain, scope.context.tables
    name = domain.name if isinstance(domain, syntax.Name) else ""
    named = scope.lookup(name)
    if named is not None and isinstance(named.entity, DataEntity):
        return True
    return node.function == "mean" and name not in tables.sets and name not in tables.ragged


def _mean(node: syntax.Reduction, scope: Scope) -> Reduce | None:
    """``mean[x in D where c](v)``: v may read the row and call models."""
    if node.function != "mean":
        scope.diagnostics.add("PD234", node.span)
        return None
    bound = _row_binder(node.binders[0], scope)
    if bound is None:
        return None
    binder, inner = bound
    body = inner.at(Place.AVERAGE).typed(node.body)
    if is_unknown(body) or (body.type != BOOL and not require_real(body, node.body, "what is averaged", inner)):
        return None
    return Reduce(REAL, "mean", (binder,), body, span=node.span)


def _degree(expression: TypedExpression, means: Sequence[Reduce]) -> int:
    """0 for a constant, 1 for what is affine in the means, 2 for anything else."""
    if any(expression is mean for mean in means):
        return 1
    inside = [_degree(child, means) for child in children(expression)]
    if not any(inside) or not isinstance(expression, Apply):
        return 2 if any(inside) else 0
    match expression.operation:
        case "add" | "subtract" | "negate":
            return max(inside)
        case "multiply":
            return min(2, sum(inside))
        case "divide":
            return inside[0] if not inside[1] else 2
    return 2


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
        scope.diagnostics.add(
            "PD120", node.domain.span, name=name or None, near=nearest(name, tables.data), there=there
        )
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
            scope.diagnostics.add("PD207", node.where.span, found=condition.type)
            return None
        binder = Binder(binder.identity, binder.name, binder.axis, condition, name, span)
        inner = scope.extended(node.name, RowEntity(name, binder), node.name_span)
    return binder, inner
