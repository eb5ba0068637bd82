"""Constraint families as facts: one ``PartFact`` a part, in the order of rows."""

from __future__ import annotations

from math import inf, isnan

from pdual.compiler.graph import DualChoice, Graph
from pdual.compiler.layout import Sense
from pdual.compiler.rows import PartRows
from pdual.dsl import typed
from pdual.dsl.declarations.registry import duals
from pdual.dsl.parts import part_shapes
from pdual.explaining import text
from pdual.explaining.records import PartFact, Span2


def parts(spec: typed.TypedSpec, graph: Graph) -> tuple[PartFact, ...]:
    """Every part of every family, those of which nothing is left included."""
    families = {family.name: family for block in spec.blocks for family in block.families}
    averages = {average.name: average for average in spec.averages}
    of_rows = [
        _part(part, families[part.layout.family], data.data, data.duals, spec)._replace(of_groups=bool(data.grouping))
        for data in graph.data
        for part in (*data.parts, *data.without_rows)
    ]
    of_averages = [
        _part(part, averages[part.layout.family], ", ".join(graph.averages.data_of(part)), graph.averages.duals, spec)
        for part in graph.averages.parts
    ]
    of_averages += [
        _part(part, average, ", ".join(average.data), graph.averages.duals, spec)
        for part in graph.averages.without_rows
        for average in (averages[part.layout.family],)
    ]
    return (*of_rows, *(fact._replace(average=True) for fact in of_averages))


def _part(
    part: PartRows,
    family: typed.TypedFamily | typed.TypedAverage,
    data: str,
    choices: tuple[DualChoice, ...],
    spec: typed.TypedSpec,
) -> PartFact:
    layout = part.layout
    choice = holder(layout.name, choices)
    kind = choice.kind if choice is not None else "none"
    cap = choice.cap if choice is not None else None
    return PartFact(
        name=layout.name,
        family=layout.family,
        part=layout.part,
        data=data,
        sets=layout.sets,
        normal_form=_normal_form(family, layout.part, spec),
        sense=str(layout.sense),
        entries=layout.size,
        masked=layout.masked,
        filtered=part.filtered,
        without_side=part.without_side,
        range=_ends([value for value in layout.range or () if not isnan(value)]),
        scale=_ends(list(layout.scale)),
        residual=_residual(part),
        dual=kind,
        cap=cap,
        multiplier=multiplier_range(choice, layout.name, layout.sense),
    )


def holder(part: str, choices: tuple[DualChoice, ...]) -> DualChoice | None:
    """What holds a part's multipliers."""
    return next((choice for choice in choices if part in choice.parts), None)


def multiplier_range(choice: DualChoice | None, part: str, sense: Sense) -> Span2:
    """Where a multiplier of the part may lie, scaled; a formula's is its inferred range within the cap."""
    if choice is None or not duals()[choice.kind].multipliers:
        return (0.0, 0.0)
    low = -choice.cap if sense is Sense.EQUAL else 0.0
    formula = next((item.interval for item in choice.formulas if item.part == part), None)
    if formula is None:
        return (low, choice.cap)
    return (max(low, formula.lo), min(choice.cap, formula.hi))


def _normal_form(family: typed.TypedFamily | typed.TypedAverage, part: str, spec: typed.TypedSpec) -> str:
    operands = tuple(text.written(spec.source, operand.span) for operand in family.operands)
    shapes = (shape for kind in (False, True) for shape in part_shapes(family.operators, kind))
    return text.normal_form(operands, next(shape for shape in shapes if shape.name == part))


def _ends(values: list[float]) -> Span2 | None:
    return (min(values), max(values)) if values else None


def _residual(part: PartRows) -> Span2 | None:
    if not part.intervals:
        return None
    return (min(item.lo for item in part.intervals), max(item.hi for item in part.intervals))


def unbounded(span: Span2 | None) -> bool:
    """Whether nothing is known of it."""
    return span is None or span == (-inf, inf)
