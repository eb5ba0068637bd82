"""Constraints on averages as the numbers of ``metrics.json`` and of the log."""

from __future__ import annotations

from pdual.dsl.declarations.registry import duals
from pdual.runtime.evaluation.measured_averages import MeasuredAverages
from pdual.runtime.evaluation.metrics import family_metrics
from pdual.runtime.evaluation.violations import unit
from pdual.runtime.storage.records import AverageMetrics, FamilyMetrics


def average_metrics(measured: MeasuredAverages | None) -> dict[str, AverageMetrics]:
    """Every part whose means have rows, by name (``kept``, ``level.lower``)."""
    if measured is None:
        return {}
    plan, violations = measured.plan, measured.violations
    found = {}
    for column, part in enumerate(plan.layout.parts):
        if not bool(violations.live[0, column]):
            continue
        held = violations.multipliers is not None and any(
            column in item.columns for item in plan.duals if duals()[item.kind].in_force
        )
        multiplier = float(violations.multipliers[0, column]) if held and violations.multipliers is not None else None
        found[part.name] = AverageMetrics(
            residual=float(measured.result.residuals[0, column]) * part.scale[0],
            means=tuple(float(measured.means[data][place]) for data, place in plan.reads[column]),
            unit=unit(part),
            violation=float(violations.violation[0, column]),
            violated=bool(violations.violated[0, column]),
            multiplier=multiplier,
            price=None if multiplier is None else multiplier * plan.multiplier_units[column],
            at_cap=None if not held or violations.at_cap is None else bool(violations.at_cap[0, column]),
        )
    return found


def average_families(measured: MeasuredAverages | None) -> dict[str, FamilyMetrics]:
    """The same as families with one entry on one row, where all their parts are there."""
    if measured is None:
        return {}
    live = {part.family: True for part in measured.plan.layout.parts}
    for column, part in enumerate(measured.plan.layout.parts):
        live[part.family] &= bool(measured.violations.live[0, column])
    return {name: found for name, found in family_metrics(measured.violations).items() if live[name]}
