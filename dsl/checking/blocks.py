"""``over``: what is said about one row, or one group of rows, of a data set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from pdual.dsl import syntax
from pdual.dsl.checking.duals import check_duals
from pdual.dsl.checking.entities import BrokenEntity, Entity, GroupEntity, RowEntity
from pdual.dsl.checking.lets import check_let
from pdual.dsl.checking.operators import require_real
from pdual.dsl.checking.reductions import bind_all, check_free
from pdual.dsl.checking.relations import check_relation, check_scale
from pdual.dsl.checking.scope import UNKNOWN_SET, Named, Place, Scope, is_unknown
from pdual.dsl.diagnostics import Label
from pdual.dsl.near import nearest
from pdual.dsl.typed import LetDefinition, TypedBlock, TypedFamily, TypedMetric, TypedObjective
from pdual.dsl.types import BOOL, ArrayType, Kind, MemberOf, SetAxis


@dataclass
class _Parts:
    """A block while it is read."""

    lets: list[LetDefinition] = field(default_factory=list)
    written: list[tuple[syntax.Name, LetDefinition]] = field(default_factory=list)
    objectives: list[TypedObjective] = field(default_factory=list)
    families: list[TypedFamily] = field(default_factory=list)
    duals: list[syntax.Dual] = field(default_factory=list)
    metrics: list[TypedMetric] = field(default_factory=list)


def check_block(node: syntax.Over, outer: Sequence[syntax.Dual], scope: Scope) -> TypedBlock | None:
    """One block; ``outer`` are the ``dual`` statements outside any block. None where its data set is unknown."""
    tables = scope.context.tables
    data = tables.data.get(node.data.name)
    if data is None:
        named = scope.lookup(node.data.name)
        if named is None or not isinstance(named.entity, BrokenEntity):
            near = nearest(node.data.name, tables.data)
            scope.found.add("PD118", node.data.span, name=node.data.name, near=near)
        return None
    scope.context.mark("data", data.name)
    scope.context.calls.clear()
    _check_group(node, scope)
    check_free(node.row.name, node.row.span, scope)
    entity: Entity = GroupEntity(node.row.name, data.name) if node.by is not None else RowEntity(data.name)
    inside = replace(scope, place=Place.BLOCK, block={node.row.name: Named(entity, node.row.span)})
    parts = _Parts()
    for statement in node.body:
        inside = _statement(statement, parts, inside, data.name)
    own = {family.name for family in parts.families}
    duals = [*parts.duals, *(dual for dual in outer if any(target.family.name in own for target in dual.targets))]
    held = check_duals(duals, parts.families, inside)
    for name, definition in parts.written:
        if ("let", str(definition.identity)) not in scope.context.used:
            scope.found.add("PD131", name.span, name=name.name, what="let")
    group = node.by.name if node.by is not None else None
    return TypedBlock(
        data.name,
        node.row.name,
        group,
        tuple(parts.lets),
        tuple(parts.objectives),
        tuple(parts.families),
        held,
        tuple(parts.metrics),
        node.span,
    )


def _check_group(node: syntax.Over, scope: Scope) -> None:
    if node.by is None:
        return
    fields = {item.name: item for item in scope.context.tables.data[node.data.name].fields}
    found = fields.get(node.by.name)
    if found is None:
        near = nearest(node.by.name, fields)
        scope.found.add("PD107", node.by.span, name=node.by.name, owner=node.data.name, near=near)
        return
    scope.context.mark("field", node.data.name, node.by.name)
    kind = found.type
    fits = isinstance(kind, ArrayType) and not kind.axes
    if not fits or not (isinstance(kind.element, MemberOf) or kind.element in (Kind.ID, Kind.INT, Kind.TEXT)):
        scope.found.add("PD272", node.by.span, name=node.by.name, found=found.type)


def _statement(node: syntax.BlockStatement, parts: _Parts, scope: Scope, data: str) -> Scope:
    match node:
        case syntax.Let():
            for name, entity, definitions in check_let(node, scope):
                parts.lets.extend(definitions)
                parts.written.extend((name, definition) for definition in definitions[:1])
                scope = replace(scope, block={**scope.block, name.name: Named(entity, name.span)})
        case syntax.Minimize():
            objective = check_objective(node, scope)
            if objective is not None:
                parts.objectives.append(objective)
        case syntax.SubjectTo(constraints=constraints):
            for constraint in constraints:
                family = _family(constraint, scope, data)
                if family is not None:
                    parts.families.append(family)
        case syntax.Dual():
            parts.duals.append(node)
        case syntax.Metric():
            metric = _metric(node, scope, data)
            if metric is not None:
                parts.metrics.append(metric)
    return scope


def check_objective(node: syntax.Minimize, scope: Scope) -> TypedObjective | None:
    """A term of the objective: one real number."""
    value = scope.typed(node.value)
    scale = check_scale(node.scale, scope)
    if is_unknown(value) or not require_real(value, node.value, "an objective", scope):
        return None
    return TypedObjective(value, scale, node.span)


def _family(node: syntax.Constraint, scope: Scope, data: str) -> TypedFamily | None:
    tables = scope.context.tables
    name = node.name.name
    first = tables.families[name][1].span if name in tables.families else tables.averages.get(name)
    if first is not None:
        scope.found.add("PD111", node.name.span, Label(first, "first"), name=name, what="a constraint")
    binders, inner = bind_all(node.binders, scope)
    relation = check_relation(node.relation, inner)
    scale = check_scale(node.scale, inner)
    if relation is None or any(binder.axis == SetAxis(UNKNOWN_SET) for binder in binders):
        return None
    family = TypedFamily(name, binders, relation.operators, relation.operands, scale, node.span)
    if first is None:
        tables.families[name] = (data, replace(family, span=node.name.span))
    return family


def _metric(node: syntax.Metric, scope: Scope, data: str) -> TypedMetric | None:
    metrics = scope.context.tables.metrics
    name = node.name.name
    if name in metrics:
        first = Label(metrics[name][1].span, "first")
        scope.found.add("PD111", node.name.span, first, name=name, what="a metric")
    value = scope.typed(node.value)
    if is_unknown(value):
        return None
    if value.type != BOOL and not require_real(value, node.value, "a metric", scope):
        return None
    metric = TypedMetric(name, value, node.name.span)
    metrics.setdefault(name, (data, metric))
    return metric
