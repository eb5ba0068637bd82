"""Constraints on averages: means over the rows of data sets, and the relations that are affine in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import nan

from pdual.compiler.exact import Number
from pdual.compiler.finite import Finite
from pdual.compiler.graph import AverageGraph, DualChoice, Weighted
from pdual.compiler.interval_analysis import IntervalAnalysis
from pdual.compiler.ir import Node, topological
from pdual.compiler.layout import Layout
from pdual.compiler.lower import Lowering
from pdual.compiler.rows import PartRows, constant, family_rows
from pdual.dsl import typed
from pdual.dsl.checking.averages import KIND_OF_AVERAGES, holds_averages
from pdual.dsl.checking.dual_values import DEFAULT_CAP
from pdual.dsl.diagnostics import Collector

#: The operation of a mean over all rows.
AVERAGE = "average"


def averages_graph(
    spec: typed.TypedSpec,
    lowering: Lowering,
    intervals: IntervalAnalysis,
    labels: Mapping[str, Sequence[str]],
    overrides: Mapping[str, str],
    diagnostics: Collector,
    finite: Finite,
) -> AverageGraph:
    """Every constraint on averages: its parts as a family without an index has them, and how its multipliers are held.

    The residual of a part is a node over the means; a mean lies where the values of its rows lie, so ranges, scales and
    curvature follow by the same rules.
    """
    parts: list[PartRows] = []
    empty: list[PartRows] = []
    choices: list[DualChoice] = []
    for average in spec.averages:
        family = typed.TypedFamily(
            average.name, (), average.operators, average.operands, average.scale, span=average.span
        )
        written = family_rows(family, lowering, intervals, labels, diagnostics, finite)
        empty.extend(part for part in written if not part.layout.size)
        own = [part for part in written if part.layout.size]
        if own:
            choices.append(_choice(average, own, len(parts), overrides))
            parts.extend(own)
    weighted = tuple(_weighted(part.residual, intervals, finite) for part in parts)
    return AverageGraph(
        tuple(parts), weighted, tuple(choices), Layout("", tuple(part.layout for part in parts)), tuple(empty)
    )


def means_over(data: str, averages: AverageGraph) -> tuple[Node, ...]:
    """The means over a data set that constraints read, each once."""
    nodes = topological(part.residual for part in averages.parts)
    means = [node for node in nodes if node.operation == AVERAGE and node.name == data]
    return tuple(sorted(means, key=lambda mean: mean.identity))  # as they were lowered, and so written


def held_kind(name: str, written: str, overrides: Mapping[str, str]) -> str:
    """The kind in force. An average has one multiplier, so what asks all constraints for one a row leaves it ``shared``."""
    kind = overrides.get(name, overrides.get("*"))
    if kind is None:
        return written
    return kind if holds_averages(kind) else KIND_OF_AVERAGES


def _choice(
    average: typed.TypedAverage, parts: Sequence[PartRows], start: int, overrides: Mapping[str, str]
) -> DualChoice:
    kind = held_kind(average.name, average.dual.kind, overrides)
    written = typed.TypedDual(
        tuple((average.name, part.layout.part) for part in parts), average.dual, span=average.dual.span
    )
    return DualChoice(
        kind=kind,
        parts=tuple(part.layout.name for part in parts),
        columns=tuple(range(start, start + len(parts))),
        cap=average.dual.cap or DEFAULT_CAP,  # `none` and `penalty` name none, and `--dual` may ask for multipliers
        written=written,
        features={},
    )


def _weighted(residual: Node, intervals: IntervalAnalysis, finite: Finite) -> Weighted:
    """``left - right`` as a weighted sum of means and a constant."""
    if residual.operation == AVERAGE:
        return Weighted({residual: 1.0}, 0.0)
    if not any(node.operation == AVERAGE for node in topological([residual])):
        value = constant(intervals.range(residual, {}))
        if value is None:  # what rounding leaves of a difference of large numbers
            exact = finite.values.range(residual, {})
            value = exact.value if isinstance(exact, Number) else nan
        return Weighted({}, value)
    terms = [_weighted(argument, intervals, finite) for argument in residual.arguments]
    match residual.operation:
        case "negate":
            return _sum((-1.0, terms[0]))
        case "add":
            return _sum((1.0, terms[0]), (1.0, terms[1]))
        case "subtract":
            return _sum((1.0, terms[0]), (-1.0, terms[1]))
        case "multiply":
            factor, term = (terms[0], terms[1]) if not terms[0].means else (terms[1], terms[0])
            return _sum((factor.offset, term))
        case "divide":
            return _sum((1.0 / terms[1].offset, terms[0]))
    raise AssertionError(f"not affine in its means, which the checker refuses: {residual}")


def _sum(*terms: tuple[float, Weighted]) -> Weighted:
    means: dict[Node, float] = {}
    for factor, term in terms:
        for mean, weight in term.means.items():
            means[mean] = means.get(mean, 0.0) + factor * weight
    return Weighted(means, sum(factor * term.offset for factor, term in terms))
