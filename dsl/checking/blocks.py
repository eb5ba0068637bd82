"""``over``: statements about one row, or one group of rows, of a data set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import islice

from pdual.dsl import syntax
from pdual.dsl.checking.duals import check_duals
from pdual.dsl.checking.entities import BrokenEntity, Entity, GroupEntity, RowEntity
from pdual.dsl.checking.lets import check_let
from pdual.dsl.checking.operators import require_real, require_scalar
from pdual.dsl.checking.reductions import bind_all, check_free, report_idle
from pdual.dsl.checking.relations import check_relation, check_scale
from pdual.dsl.checking.scope import Named, Place, Scope, is_unknown
from pdual.dsl.checking.split_by import groups_rows
from pdual.dsl.diagnostics import Label
from pdual.dsl.near import nearest
from pdual.dsl.spans import Span
from pdual.dsl.typed import LetDefinition, TypedBlock, TypedFamily, TypedMetric, TypedObjective, named_over
from pdual.dsl.types import BOOL, ArrayType, RaggedAxis, RecordType


@dataclass
class _Parts:
    """The statements of a block by kind, as they are checked."""

    lets: list[LetDefinition] = field(default_factory=list)
    objectives: list[TypedObjective] = field(default_factory=list)
    families: dict[str, TypedFamily] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)
    metrics: list[TypedMetric] = field(default_factory=list)
    duals: list[syntax.Dual] = field(default_factory=list)


def check_block(node: syntax.Over, scope: Scope, family_spans: Mapping[str, Span]) -> TypedBlock:
    """A block: lets in order, then what uses them, then how the multipliers are held."""
    context = scope.context
    context.calls.clear()
    context.features_of.clear()
    names: dict[str, Named] = {}
    scope = replace(scope, place=Place.BLOCK, block=names)
    check_free(node.row.name, node.row.span, scope)
    names[node.row.name] = Named(_row(node, scope), node.row.span)
    parts = _Parts()
    _check_lets(node, names, parts, scope)
    by = node.by.name if node.by is not None else None
    over = named_over(node.data.name, by)
    for statement in node.body:
        _check_statement(statement, over, parts, family_spans, scope)
    duals = check_duals(parts.duals, parts.families, parts.broken, scope)
    _check_features(scope)
    _check_ragged(scope)
    return TypedBlock(
        node.data.name,
        node.row.name,
        by,
        tuple(parts.lets),
        tuple(parts.objectives),
        tuple(parts.families.values()),
        duals,
        tuple(parts.metrics),
        node.span,
    )


def _row(node: syntax.Over, scope: Scope) -> Entity:
    """What the variable of the block stands for."""
    tables = scope.context.tables
    name = node.data.name
    if name not in tables.data:
        named = scope.lookup(name)
        if named is None or not isinstance(named.entity, BrokenEntity):
            there = ", ".join(f"`{item}`" for item in tables.data) or None
            scope.diagnostics.add("PD120", node.data.span, name=name, near=nearest(name, tables.data), there=there)
        return BrokenEntity()
    scope.context.mark("data", name)
    if node.by is None:
        return RowEntity(name)
    fields = {item.name: item for item in tables.data[name].fields}
    if node.by.name not in fields:
        has = ", ".join(f"`{item}`" for item in fields) or None
        near = nearest(node.by.name, fields)
        scope.diagnostics.add("PD107", node.by.span, name=node.by.name, owner=f"a row of `{name}`", near=near, has=has)
        return BrokenEntity()
    scope.context.mark("field", name, node.by.name)
    type = fields[node.by.name].type
    if not groups_rows(type):
        scope.diagnostics.add("PD230", node.by.span, name=node.by.name, found=type)
        return BrokenEntity()
    if node.row.name in tables.sets or node.row.name in tables.ragged:
        spans = {**tables.ragged, **{item.name: item.span for item in tables.sets.values()}}
        labels = Label(spans[node.row.name], "hidden")
        scope.diagnostics.add("PD112", node.row.span, labels, name=node.row.name, what="an index set")
        return BrokenEntity()
    return GroupEntity(node.row.name, name)


def _check_lets(node: syntax.Over, names: dict[str, Named], parts: _Parts, scope: Scope) -> None:
    lets = [statement for statement in node.body if isinstance(statement, syntax.Let)]
    to_come = {name.name: let for let in lets for name in let.names}
    for let in lets:
        # The let in hand first: ``report_later`` asks what leads back to it.
        scope.context.lets_to_come = {**{name.name: let for name in let.names}, **to_come}
        for name, entity, definitions in check_let(let, scope):
            names.setdefault(name.name, Named(entity, name.span))
            parts.lets.extend(definitions)
            if definitions:
                scope.context.lets.append((name, tuple(item.identity for item in definitions)))
        for name in let.names:
            to_come.pop(name.name, None)
    scope.context.lets_to_come = {}


def _check_statement(
    statement: syntax.BlockStatement, over: str, parts: _Parts, family_spans: Mapping[str, Span], scope: Scope
) -> None:
    match statement:
        case syntax.Minimize():
            objective = check_objective(statement, scope)
            if objective is not None:
                parts.objectives.append(objective)
        case syntax.SubjectTo(constraints):
            for constraint in constraints:
                # A second one of this name was reported where the names were collected.
                if family_spans.get(constraint.name.name) == constraint.name.span:
                    _check_family(constraint, over, parts, scope)
        case syntax.Metric():
            _check_metric(statement, over, parts, scope)
        case syntax.Dual():
            parts.duals.append(statement)
        case _:
            pass


def check_objective(node: syntax.Minimize, scope: Scope) -> TypedObjective | None:
    """A term of the objective: one real number."""
    value, scale = scope.typed(node.value), check_scale(node.scale, scope)
    if is_unknown(value) or not require_real(value, node.value, "an objective", scope):
        return None
    return TypedObjective(value, scale, node.span)


def _check_family(node: syntax.Constraint, over: str, parts: _Parts, scope: Scope) -> None:
    binders, inner = bind_all(node.binders, scope)
    scale = check_scale(node.scale, inner)
    relation = check_relation(node.relation, inner)
    name = node.name.name
    if relation is None:
        parts.broken.add(name)
        scope.context.tables.broken.add(name)
        return
    report_idle(binders, node.binders, (node.relation,), scope)
    family = TypedFamily(name, binders, relation.operators, relation.operands, scale, node.span)
    parts.families[name] = family
    scope.context.tables.families[name] = (over, family)


def _check_metric(node: syntax.Metric, over: str, parts: _Parts, scope: Scope) -> None:
    value = scope.typed(node.value)
    name = node.name.name
    scalar = not is_unknown(value) and require_scalar(value, node.value, scope)
    if not scalar or (value.type != BOOL and not require_real(value, node.value, "a metric", scope)):
        scope.context.tables.broken.add(name)
        return
    metric = TypedMetric(name, value, node.span)
    earlier = scope.context.tables.metrics.get(name)
    if earlier is not None:
        scope.diagnostics.add("PD111", node.name.span, Label(earlier[1].span, "first"), name=name, what="a metric")
        return
    parts.metrics.append(metric)
    scope.context.tables.metrics[name] = (over, metric)


def _check_features(scope: Scope) -> None:
    """``features(model)`` in a let was read before the statements that may call the model again."""
    for model, span in scope.context.features_of:
        count = len(scope.context.calls.get(model, ()))
        if count > 1:
            found = f"{count} different calls of `{model}`"
            scope.diagnostics.add("PD406", span, name=model, found=found)


def _check_ragged(scope: Scope) -> None:
    """Warn where one ragged axis may have two lengths on a row: a model called with different arguments."""
    for model, calls in scope.context.calls.items():
        output = scope.context.tables.models[model].output
        types = [type for _, type in output.fields] if isinstance(output, RecordType) else [output]
        ragged = [
            axis.name
            for item in types
            if isinstance(item, ArrayType)
            for axis in item.axes
            if isinstance(axis, RaggedAxis)
        ]
        if len(calls) > 1 and ragged:
            first, second = islice(calls, 2)
            scope.diagnostics.add("PD231", second.span, Label(first.span, "first"), axis=ragged[0], model=model)
