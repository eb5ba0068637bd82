"""One line of the log for an outer iteration."""

from __future__ import annotations

from collections.abc import Sequence

from pdual.runtime.duals.multipliers import Multipliers, Update
from pdual.runtime.evaluation.average_metrics import average_families, average_metrics
from pdual.runtime.evaluation.measured_averages import MeasuredAverages
from pdual.runtime.evaluation.metrics import Measured, objective, split_metrics
from pdual.runtime.storage.records import LogLine


def log_line(
    outer: int,
    step: int,
    seconds: float,
    loss: float,
    measured: Sequence[Measured],
    averages: MeasuredAverages | None,
    multipliers: Sequence[Multipliers],
    updates: Sequence[Update],
) -> LogLine:
    """What the pass over the train rows showed, and what the update of the multipliers asked for."""
    found = split_metrics(measured, None)
    own = {item.program.data: objective(item.program, item.result) for item in measured}
    entries = max(1, sum(update.entries for update in updates))
    return LogLine(
        outer=outer,
        step=step,
        seconds=seconds,
        loss=loss,
        objective={data: value for data, value in own.items() if value is not None},
        violation_mean=found.violation.mean.mean if found.violation else 0.0,
        violation_max=found.violation.max.max if found.violation else 0.0,
        feasible_rows=found.violation.feasible_rows if found.violation else 1.0,
        rows_at_cap=found.rows_at_cap or 0.0,
        rho=max((held.rho for held in multipliers), default=0.0),
        rho_equal=max((held.rho_equal for held in multipliers), default=0.0),
        multiplier=sum(update.level * update.entries for update in updates) / entries,
        moved=sum(update.moved * update.entries for update in updates) / entries,
        fit_error={parts: error for update in updates for parts, error in update.errors.items()},
        families={**found.families, **average_families(averages)},
        averages=average_metrics(averages),
    )
