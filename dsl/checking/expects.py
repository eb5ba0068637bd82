"""``expect``: what is checked after the run, on one split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pdual.dsl import syntax
from pdual.dsl.checking.constants import has_finite_constants
from pdual.dsl.checking.entities import BrokenEntity, Entity, LetEntity
from pdual.dsl.checking.operators import require_real
from pdual.dsl.checking.scope import Named, Place, Scope, is_unknown
from pdual.dsl.checking.statistics import is_per_row
from pdual.dsl.checking.walking import walk
from pdual.dsl.declarations.registry import sources
from pdual.dsl.declarations.source import BOUND_NAME
from pdual.dsl.declarations.splits import SPLITS
from pdual.dsl.near import nearest
from pdual.dsl.spans import NOWHERE
from pdual.dsl.typed import FamilyStatistic, LetDefinition, LetRef, RowStatistic, TypedExpect, TypedExpression, data_of


def check_expect(node: syntax.Expect, scope: Scope) -> TypedExpect | None:
    """One expectation; None where it was refused."""
    tables = scope.context.tables
    data = node.data.name
    fits = True
    if data in tables.data:
        scope.context.mark("data", data)
        fits = _has_split(data, node.split, scope)
    else:
        fits = False
        named = scope.lookup(data)
        if named is None or not isinstance(named.entity, BrokenEntity):
            there = ", ".join(f"`{item}`" for item in tables.data) or None
            scope.diagnostics.add("PD120", node.data.span, name=data, near=nearest(data, tables.data), there=there)
    scope = replace(scope, place=Place.EXPECT, block=_metrics(scope))
    if not isinstance(node.relation, syntax.Compare):
        scope.diagnostics.add("PD208", node.relation.span, found="a value")
        return None
    operands = tuple(scope.typed(operand) for operand in node.relation.operands)
    for operand, written in zip(operands, node.relation.operands, strict=True):
        fits = _is_one_number(operand, written, scope) and has_finite_constants(operand, scope) and fits
    if not fits or not _is_about(operands, data, scope):
        return None
    return TypedExpect(node.name.name, data, node.split.name, node.relation.operators, operands, node.span)


def _metrics(scope: Scope) -> dict[str, Named]:
    """The metrics by name, each as what was measured under that name."""
    tables = scope.context.tables
    found: dict[str, Named] = {}
    for name, (_, metric) in tables.metrics.items():
        value = metric.value
        measured = LetDefinition(scope.context.identity(), name, (), value, value.type, metric.span)
        entity: Entity = LetEntity(measured, reads_features=False)
        found[name] = Named(entity, metric.span)
    for name in tables.broken - set(found):
        found[name] = Named(BrokenEntity(), NOWHERE)
    return found


def _is_about(operands: Sequence[TypedExpression], data: str, scope: Scope) -> bool:
    """Whether what is named is of this data set (PD126), and each statistic is over rows alone or groups alone (PD127)."""
    fits = True
    for item in walk(*operands):
        name, over = _named(item, scope) or ("", data)
        if (owner := data_of(over)) != data:
            scope.diagnostics.add("PD126", item.span, name=name, owner=owner, data=data)
            fits = False
    for item in walk(*operands) if fits else ():
        if isinstance(item, RowStatistic):
            units = sorted({found[1] for part in walk(item.argument) if (found := _named(part, scope)) is not None})
            if len(units) > 1:
                scope.diagnostics.add("PD127", item.span, one=units[0], other=units[1])
                fits = False
    return fits


def _named(item: TypedExpression, scope: Scope) -> tuple[str, str] | None:
    """A constraint or a metric, and what it is about, one at a time: rows of a data set, or groups of them."""
    tables = scope.context.tables
    match item:
        case FamilyStatistic(family=family, average=False):
            return family, tables.families[family][0]
        case LetRef(definition=definition) if definition.name in tables.metrics:
            return definition.name, tables.metrics[definition.name][0]
    return None


def _has_split(data: str, split: syntax.Name, scope: Scope) -> bool:
    """Whether the source divides its rows so; where only the data tell, any of train, val and test will do."""
    typed = scope.context.tables.data[data]
    declaration = sources().get(typed.source if typed.source is not None else BOUND_NAME)
    rows = None
    if declaration is not None and isinstance(typed.settings, declaration.settings):
        rows = declaration.rows(typed.settings)
    splits = tuple(rows) if rows is not None else SPLITS
    if split.name in splits:
        return True
    there = ", ".join(f"`{item}`" for item in splits)
    scope.diagnostics.add(
        "PD119", split.span, name=split.name, data=data, near=nearest(split.name, splits), there=there
    )
    return False


def _is_one_number(operand: TypedExpression, node: syntax.Expression, scope: Scope) -> bool:
    if is_unknown(operand) or not require_real(operand, node, "what is expected", scope):
        return False
    if is_per_row(operand):
        shown = node.name if isinstance(node, syntax.Name) else None
        units = {found[1] for item in walk(operand) if (found := _named(item, scope)) is not None}
        unit = "group" if any(data_of(unit) != unit for unit in units) else "row"
        scope.diagnostics.add("PD229", node.span, name=shown, unit=unit)
        return False
    return True
