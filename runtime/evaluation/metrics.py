"""From passes over rows to the numbers of ``metrics.json``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan, nan

import torch
from torch import Tensor

from pdual.compiler.layout import PartLayout, Sense
from pdual.compiler.program import Program
from pdual.runtime.evaluation.result import EvaluationResult
from pdual.runtime.evaluation.violations import Violations, families, unit
from pdual.runtime.storage.records import (
    Above,
    FamilyMetrics,
    PartMetrics,
    SplitMetrics,
    SplitViolation,
    Spread,
    Summary,
    ViolationMetrics,
)

#: The threshold of ``mean_above``, in the unit of the violation.
ABOVE = 1e-4


@dataclass(frozen=True, slots=True)
class Measured:
    """One data set's pass over one split, and its violations."""

    program: Program
    result: EvaluationResult
    violations: Violations


def split_metrics(measured: Sequence[Measured], terms: float | None) -> SplitMetrics:
    """The numbers of one split. ``terms`` is the value of the objective's terms that need no data, in own
    units.
    """
    metrics = {name: summary(values) for item in measured for name, values in item.result.metrics.items()}
    constrained = [item.violations for item in measured if item.violations.layout.columns]
    at_cap = [
        violations.at_cap for violations in constrained if violations.has_multipliers and violations.at_cap is not None
    ]
    objectives = [value for item in measured if (value := objective(item.program, item.result)) is not None]
    if terms is not None:
        objectives.append(terms)
    of_rows = [item for item in measured if item.program.groups_by is None]
    return SplitMetrics(
        rows=sum(len(item.result.ids) for item in of_rows or measured),
        objective=sum(objectives) if objectives else None,
        metrics=metrics,
        violation=split_violation(constrained) if constrained else None,
        families={name: found for violations in constrained for name, found in family_metrics(violations).items()},
        rows_at_cap=float(torch.cat([flags.any(1) for flags in at_cap]).double().mean()) if at_cap else None,
    )


def objective(program: Program, result: EvaluationResult) -> float | None:
    """A data set's mean objective, in own units: over rows, and over groups; groups that have nothing to average left out."""
    means = []
    if result.objective is not None:
        means.append(float(result.objective.double().mean()))
    if result.group_objective is not None:
        means.append(float(result.group_objective.double().nanmean()))
    return sum(means) * program.objective_scale if means else None


def split_violation(profiles: Sequence[Violations]) -> SplitViolation:
    """Violations over all parts of all data sets, and over inequalities and equalities apart."""
    both = violation(profiles, tuple(Sense))
    return SplitViolation(
        **both.model_dump() if both else {},
        inequalities=violation(profiles, (Sense.AT_MOST,)),
        equalities=violation(profiles, (Sense.EQUAL,)),
        groups={name: mean for violations in profiles for name, mean in _groups(violations).items()},
    )


def _groups(violations: Violations) -> dict[str, float]:
    """By inequality and component (``generation.re``): the mean violation of the entries above the tolerance."""
    parts: dict[str, list[PartLayout]] = {}
    for part in violations.layout.parts:
        if part.sense is Sense.AT_MOST:
            component = part.part.split(".")[0]
            name = f"{part.family}.{component}" if component in ("re", "im") else part.family
            parts.setdefault(name, []).append(part)
    found = {}
    for name, pieces in parts.items():
        columns = violations.columns(pieces)
        exceeding = violations.violation[:, columns][violations.violated[:, columns]].double()
        found[name] = float(exceeding.mean()) if len(exceeding) else 0.0
    return found


def violation(profiles: Sequence[Violations], senses: Sequence[Sense]) -> ViolationMetrics | None:
    """Violations over the parts of some senses; None where there is no such part."""
    chosen = [
        (violations, parts)
        for violations in profiles
        if (parts := [part for part in violations.layout.parts if part.sense in senses])
    ]
    if not chosen:
        return None
    means, above, largest, feasible, live_entries = [], [], [], [], 0
    for violations, parts in chosen:
        columns = violations.columns(parts)
        entries, live = violations.violation[:, columns].double(), violations.live[:, columns]
        counts = live.sum(1)
        means.append((entries.sum(1) / counts.clamp(min=1))[counts > 0])
        above.append(entries[entries > ABOVE])
        largest.append(entries.amax(1))
        feasible.append(~violations.violated[:, columns].any(1))
        live_entries += int(counts.sum())
    exceeding = torch.cat(above)
    return ViolationMetrics(
        unit=_common(unit(part) for _, parts in chosen for part in parts),
        mean=spread(torch.cat(means)),
        mean_above=Above(
            **spread(exceeding).model_dump(),
            threshold=ABOVE,
            entries=len(exceeding) / max(1, live_entries),
        ),
        max=summary(torch.cat(largest)),
        feasible_rows=float(torch.cat(feasible).double().mean()),
    )


def family_metrics(violations: Violations) -> dict[str, FamilyMetrics]:
    """Every family with its parts."""
    totals = _Totals.of(violations)
    found = {}
    for family, parts in families(violations.layout).items():
        whole = totals.over(parts)
        pieces = {part.part: totals.over([part]) for part in parts if part.part}
        found[family] = FamilyMetrics(**whole.model_dump(), parts=pieces)
    return found


def summary(values: Tensor) -> Summary:
    """Mean, standard deviation, median, 95th percentile (linear interpolation) and maximum of [n] numbers; zeros
    where n is 0.
    """
    moments = spread(values)
    if not len(values):
        return Summary(mean=0.0, std=0.0, median=0.0, p95=0.0, max=0.0)
    ordered = values.double().sort().values
    return Summary(
        mean=moments.mean,
        std=moments.std,
        median=_quantile(ordered, 0.5),
        p95=_quantile(ordered, 0.95),
        max=float(ordered[-1]),
    )


def spread(values: Tensor) -> Spread:
    """Mean and standard deviation (divided by n) of [n] numbers; zeros where n is 0."""
    if not len(values):
        return Spread(mean=0.0, std=0.0)
    numbers = values.double()
    return Spread(mean=float(numbers.mean()), std=float(numbers.std(correction=0)))


@dataclass(frozen=True, slots=True)
class _Totals:
    """Sums and maxima over rows, one number a column, as plain lists."""

    violations: Violations
    numbers: Mapping[str, list[float]]

    @classmethod
    def of(cls, violations: Violations) -> _Totals:
        violation, violated = violations.violation, violations.violated
        columns = {
            "live": violations.live.sum(0),
            "total": violation.sum(0, dtype=torch.float64),
            "max": violation.amax(0),
            "violated": violated.sum(0),
            "violated_total": torch.where(violated, violation, 0.0).sum(0, dtype=torch.float64),
        }
        if violations.multipliers is not None and violations.at_cap is not None:
            columns["at_cap"] = violations.at_cap.sum(0)
            live = torch.where(violations.live, violations.multipliers, 0.0)
            columns["multiplier"] = live.sum(0, dtype=torch.float64)
        return cls(violations, {name: column.tolist() for name, column in columns.items()})

    def over(self, parts: Sequence[PartLayout]) -> PartMetrics:
        columns = self.violations.columns(parts).tolist()
        live = max(1.0, self._sum("live", columns))
        violated = self._sum("violated", columns)
        level = self._sum("multiplier", columns) / live if "multiplier" in self.numbers else nan
        multiplier = None if isnan(level) else level
        return PartMetrics(
            unit=_common(unit(part) for part in parts),
            mean=self._sum("total", columns) / live,
            max=max((self.numbers["max"][column] for column in columns), default=0.0),
            violated=violated / live,
            mean_violated=self._sum("violated_total", columns) / max(1.0, violated),
            at_cap=None if multiplier is None else self._sum("at_cap", columns) / live,
            multiplier=multiplier,
        )

    def _sum(self, name: str, columns: list[int]) -> float:
        return float(sum(self.numbers[name][column] for column in columns))


def _quantile(ordered: Tensor, share: float) -> float:
    at = share * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return float(torch.lerp(ordered[low], ordered[high], at - low))


def _common(units: object) -> str:
    found = list(dict.fromkeys(units))  # type: ignore[call-overload]
    return found[0] if len(found) == 1 else "mixed"
