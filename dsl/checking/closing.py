"""What follows the blocks: constraints on averages, ``expect``, ``solve``, and names that nothing uses."""

from __future__ import annotations

from dataclasses import replace

from pdual.dsl import syntax
from pdual.dsl.checking.duals import DEFAULT_CAP
from pdual.dsl.checking.entities import RowEntity, ValueEntity
from pdual.dsl.checking.operators import require_real
from pdual.dsl.checking.relations import check_relation
from pdual.dsl.checking.scope import Place, Scope, is_unknown
from pdual.dsl.checking.settings import brace_settings
from pdual.dsl.checking.statistics import is_per_row
from pdual.dsl.declarations.registry import sources
from pdual.dsl.declarations.solving import SolveSettings
from pdual.dsl.declarations.source import BOUND_NAME
from pdual.dsl.diagnostics import Label
from pdual.dsl.near import nearest
from pdual.dsl.typed import (
    Binder,
    HeldDual,
    LetDefinition,
    LetRef,
    Reduce,
    TypedAverage,
    TypedData,
    TypedExpect,
)
from pdual.dsl.types import BOOL, REAL, RaggedAxis

_ORDER = ("<=", ">=", "==", "<", ">")
_SPLITS = ("train", "val", "test")


def check_average(node: syntax.Constraint, scope: Scope) -> TypedAverage | None:
    """``subject to NAME: mean[x in D](...) <= eps`` outside any block."""
    tables = scope.context.tables
    name = node.name.name
    first = tables.families[name][1].span if name in tables.families else tables.averages.get(name)
    if first is not None:
        scope.found.add("PD111", node.name.span, Label(first, "first"), name=name, what="a constraint")
    tables.averages.setdefault(name, node.name.span)
    reduction = _mean_over_rows(node.relation)
    data = tables.data.get(reduction.binders[0].domain.name) if reduction is not None else None  # type: ignore[union-attr]
    if reduction is None or data is None or node.binders:
        scope.found.add("PD273", node.span, name=name)
        return None
    written = reduction.binders[0]
    scope.context.mark("data", data.name)
    binder = Binder(scope.context.identity(), written.name, RaggedAxis(data.name), None, data.name, written.span)
    body = scope.at(Place.AVERAGE).extended(written.name, RowEntity(data.name), written.name_span).typed(reduction.body)
    if is_unknown(body) or not require_real(body, reduction.body, "an average", scope):
        return None
    value = ValueEntity(Reduce(REAL, "mean", (binder,), body, span=reduction.span))
    hidden = scope.extended(_HIDDEN, value, reduction.span)
    relation = check_relation(_replaced(node.relation, reduction), hidden)
    if relation is None:
        return None
    held = HeldDual("shared", DEFAULT_CAP)
    return TypedAverage(name, data.name, binder, relation.operators, relation.operands, held, node.span)


_HIDDEN = "mean of the rows"  # a name that no text can spell


def _mean_over_rows(relation: syntax.Expression) -> syntax.Reduction | None:
    if not isinstance(relation, syntax.Compare):
        return None
    found = [item for item in relation.operands if isinstance(item, syntax.Reduction) and item.function == "mean"]
    one = found[0] if len(found) == 1 else None
    if one is None or len(one.binders) != 1 or one.binders[0].where is not None:
        return None
    return one if isinstance(one.binders[0].domain, syntax.Name) else None


def _replaced(relation: syntax.Expression, old: syntax.Reduction) -> syntax.Expression:
    assert isinstance(relation, syntax.Compare)
    hidden = syntax.Name(_HIDDEN, span=old.span)
    return replace(relation, operands=tuple(hidden if item is old else item for item in relation.operands))


def check_expect(node: syntax.Expect, scope: Scope) -> TypedExpect | None:
    """A statement about a split: one number a side."""
    tables = scope.context.tables
    data = tables.data.get(node.data.name)
    if data is None:
        near = nearest(node.data.name, tables.data)
        scope.found.add("PD118", node.data.span, name=node.data.name, near=near)
        return None
    splits = splits_of(data)
    if node.split.name not in splits:
        there = ", ".join(f"`{split}`" for split in splits)
        near = nearest(node.split.name, splits)
        scope.found.add("PD117", node.split.span, name=node.split.name, data=data.name, there=there, near=near)
        return None
    inside = scope.at(Place.EXPECT)
    for name, (owner, metric) in tables.metrics.items():
        if owner == data.name:
            definition = LetDefinition(scope.context.identity(), name, (), metric.value, REAL, metric.span)
            inside = inside.extended(name, ValueEntity(LetRef(REAL, definition, span=metric.span)), metric.span)
    return _stated(node, data, inside)


def _stated(node: syntax.Expect, data: TypedData, scope: Scope) -> TypedExpect | None:
    relation = node.relation
    if not isinstance(relation, syntax.Compare) or any(operator not in _ORDER for operator in relation.operators):
        scope.found.add("PD274", relation.span)
        return None
    operands = tuple(scope.typed(operand) for operand in relation.operands)
    if any(is_unknown(operand) for operand in operands):
        return None
    for operand, written in zip(operands, relation.operands, strict=True):
        if operand.type != BOOL and not require_real(operand, written, "what is expected", scope):
            return None
        if is_per_row(operand):
            scope.found.add("PD275", written.span)
            return None
    return TypedExpect(node.name.name, data.name, node.split.name, relation.operators, operands, node.span)


def splits_of(data: TypedData) -> tuple[str, ...]:
    """The splits that a data set has, as far as its source says."""
    declaration = sources()[data.source or BOUND_NAME]
    try:
        rows = declaration.rows(data.settings)
    except AttributeError:  # the settings were refused
        rows = None
    return tuple(rows) if rows else _SPLITS


def check_solve(nodes: list[syntax.Solve], scope: Scope) -> SolveSettings:
    """The settings of Algorithm 1; defaults where there is no ``solve``."""
    if len(nodes) > 1:
        first = Label(nodes[0].span, "first")
        scope.found.add("PD111", nodes[1].span, first, name="solve", what="a statement")
    if not nodes:
        return SolveSettings()
    settings = brace_settings(SolveSettings, nodes[0].settings, "solve", nodes[0].span, scope)
    return settings if isinstance(settings, SolveSettings) else SolveSettings()


def report_unused(spec: syntax.Spec, scope: Scope) -> None:
    """Warn of declarations that nothing reads."""
    used, tables = scope.context.used, scope.context.tables
    for name, param in tables.params.items():
        if ("param", name) not in used:
            scope.found.add("PD131", param.span, name=name, what="param")
    for name, model in tables.models.items():
        if ("model", name) not in used and not any(other.frozen_of == name for other in tables.models.values()):
            scope.found.add("PD131", model.span, name=name, what="model")
    for name, data in tables.data.items():
        if ("data", name) not in used:
            scope.found.add("PD131", data.span, name=name, what="data")


