"""How a run ended: whether it is feasible, where it is not, which multipliers are at their cap, and advice where the log supports it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf

import torch
from torch import Tensor

from pdual.compiler.program import Program
from pdual.dsl.declarations.registry import duals
from pdual.runtime.data.tables import Table
from pdual.runtime.evaluation.average_metrics import average_metrics
from pdual.runtime.evaluation.metrics import Measured
from pdual.runtime.evaluation.violations import Violations, address, families, unit
from pdual.runtime.models.interface import tables_of_rows
from pdual.runtime.storage.records import RANGE, TOLERANCE, LogLine
from pdual.runtime.training.run import Run

#: Outer iterations that are looked at for a trend, and the fewest that tell one.
TREND, SHORTEST = 5, 3

#: A quantity that fell by less than this share over the trend counts as standing still.
STILL = 0.1


class Advice(StrEnum):
    """What would help."""

    MORE_ITERATIONS = "more_iterations"  # violations still fall
    OTHER_SPLITS = "other_splits"  # the train rows are met, others are not


@dataclass(frozen=True, slots=True)
class FamilyVerdict:
    """A family with violated entries: their share, the worst one with its address, in ``unit``."""

    data: str
    split: str
    family: str
    violated: float
    worst: float
    unit: str
    address: str


@dataclass(frozen=True, slots=True)
class CapVerdict:
    """A data set with train rows, or groups, at a cap: how many, and the entry at its cap with the largest violation."""

    data: str
    rows: int
    share: float
    worst: float
    unit: str
    address: str
    of: str = "row"


@dataclass(frozen=True, slots=True)
class AverageVerdict:
    """A part of a constraint on averages that a split misses, in ``unit``, or whose multiplier is at its cap."""

    split: str
    name: str
    violation: float
    violated: bool
    unit: str
    at_cap: bool


@dataclass(frozen=True, slots=True)
class Verdict:
    """``feasible``: every train row meets every constraint within ``tolerance`` (scaled), and so do averages over them.

    ``feasible_rows`` is the share of such rows by split; ``families`` are the violated ones, split after
    split, the most often violated first; ``at_cap`` are train rows whose constraint is being bought off; ``averages`` are
    constraints on averages that are missed, or bought off. ``at_start`` is empty where no other split was measured. ``samples`` says
    what stood in for rows or models that were not on the machine.
    """

    feasible: bool
    tolerance: float
    feasible_rows: Mapping[str, float]
    families: tuple[FamilyVerdict, ...]
    at_cap: tuple[CapVerdict, ...]
    advice: tuple[Advice, ...]
    averages: tuple[AverageVerdict, ...] = ()
    only_averages: bool = False  # no constraint is on rows
    at_start: tuple[str, ...] = ()  # models that hold a value of every train row, and on other splits say their start
    of: tuple[str, ...] = ("row",)  # what is constrained: "row", "group"
    switched_off: Mapping[str, int] = field(
        default_factory=dict
    )  # by part: entries whose bound is infinite, which have no row
    constrained: bool = True  # whether there is any constraint
    samples: tuple[str, ...] = ()


def verdict(
    run: Run,
    measured: Mapping[str, Mapping[str, Measured]],
    switched_off: Mapping[str, int] | None = None,
    samples: tuple[str, ...] = (),
) -> Verdict:
    """The verdict of a run from what was measured, by split and data set; ``switched_off`` as ``Graph`` has it; ``samples`` are told
    first.
    """
    shares = {split: share for split, found in measured.items() if (share := _feasible_rows(found)) is not None}
    averages = tuple(item for split, found in measured.items() for item in _averages(run, split, found))
    missed = {item.split for item in averages if item.violated}
    feasible = shares.get("train", 1.0) == 1.0 and "train" not in missed
    at_cap = tuple(found for name, item in measured.get("train", {}).items() if (found := _at_cap(run, name, item)))
    at_start = tables_of_rows(run.problem.models) if measured.keys() - {"train"} else ()
    return Verdict(
        feasible=feasible,
        tolerance=TOLERANCE,
        feasible_rows=shares,
        families=tuple(found for split, items in measured.items() for found in _violated(run, split, items)),
        at_cap=at_cap,
        advice=advise(
            run.history,
            feasible,
            # What a table of rows says of other rows is its start: nothing helps it there.
            (all(share == 1.0 for share in shares.values()) and not missed) or (feasible and bool(at_start)),
            _grows(run) and not at_cap and not any(item.at_cap for item in averages),
        ),
        averages=averages,
        only_averages=run.averages is not None and not shares,
        at_start=at_start,
        of=tuple(
            sorted(
                {
                    _of(training_set.program)
                    for training_set in run.training_sets
                    if training_set.program.layout.columns
                },
                reverse=True,
            )
            or ["row"]
        ),
        switched_off=dict(switched_off or {}),
        constrained=run.averages is not None
        or any(training_set.program.layout.columns for training_set in run.training_sets),
        samples=samples,
    )


def _of(program: Program) -> str:
    return "row" if program.groups_by is None else "group"


def _grows(run: Run) -> bool:
    """Whether there are multipliers that learn."""
    plans = [plan for training_set in run.training_sets for plan in training_set.multipliers.plans]
    plans += run.averages.multipliers.plans if run.averages is not None else ()
    return any(duals()[plan.kind].multipliers for plan in plans)


def advise(history: Sequence[LogLine], feasible: bool, everywhere: bool, grows: bool) -> tuple[Advice, ...]:
    """What would help, given whether train rows and all rows are met, and whether multipliers can still grow.

    Of a cap that binds nothing is advised: whether the predictor can meet the row at all is not known.
    """
    if everywhere or (not feasible and not history):
        return ()
    if feasible:
        return (Advice.OTHER_SPLITS,)
    # Where violations stand still, a log cannot tell flat constraints or rows that nothing meets from too small a rho: nothing is advised.
    return (Advice.MORE_ITERATIONS,) if grows and _falls([_missed(line) for line in history]) else ()


def _falls(missed: Sequence[float]) -> bool:
    """Whether violations fell at the end, and have not risen in the last three quarters of a run: an oscillation falls half of the time."""
    recent = missed[-TREND:]
    before = min(missed[: -TREND + 1], default=inf)
    if len(recent) < SHORTEST or not recent[-1] < (1 - STILL) * min(recent[0], before):
        return False
    lowest = inf
    for value in missed[-max(TREND, 3 * len(missed) // 4) :]:
        if value > (1 + STILL) * lowest:
            return False
        lowest = min(lowest, value)
    return True


def _missed(line: LogLine) -> float:
    """The mean violation of rows, and the violations of averages: what should fall."""
    return line.violation_mean + sum(item.violation for item in line.averages.values())


def lines(verdict: Verdict) -> list[str]:
    """The verdict in words, one sentence a line."""
    missed = [item for item in verdict.averages if item.split == "train" and item.violated]
    rows_met = verdict.feasible_rows.get("train", 1.0) == 1.0
    units = " and ".join(f"{item}s" for item in verdict.of)
    if verdict.feasible:
        met = "every average over train rows" if verdict.only_averages else f"every train {' and '.join(verdict.of)}"
        words = [f"feasible: {met} is met"]
    elif rows_met and missed:
        words = ["not feasible: an average over train rows is not met"]
    else:
        words = [f"not feasible: some train {units} are not met"]
    words[0] += f" (tolerance {verdict.tolerance:g}, scaled)"
    if not verdict.constrained:
        words = ["no constraints: there was nothing to be met"]
    if verdict.switched_off:
        parts = ", ".join(f"{name} {count:,}" for name, count in verdict.switched_off.items())
        words.append(f"switched off by an infinite bound, and not counted: {parts}")
    words += [f"{split}: {share:.2%} of the {units} are met" for split, share in verdict.feasible_rows.items()]
    for item in verdict.families:
        amount = _amount(item.worst, item.unit)
        words.append(
            f"{item.split}: {item.family} violated in {item.violated:.3%} of its entries, "
            f"worst {item.address} by {amount}"
        )
    for cap in verdict.at_cap:
        amount = _amount(cap.worst, cap.unit)
        rows = f"1 train {cap.of} has a multiplier" if cap.rows == 1 else f"{cap.rows} train {cap.of}s have multipliers"
        words.append(f"{rows} at the cap ({cap.share:.2%}), the worst at {cap.address}, which is missed by {amount}")
    for average in verdict.averages:
        amount = _amount(average.violation, average.unit)
        if average.violated:
            words.append(f"{average.split}: {average.name}, an average, is missed by {amount}")
        if average.at_cap:
            words.append(f"the multiplier of {average.name} is at its cap")
    for model in verdict.at_start:
        words.append(
            f"`{model}` holds a value of every train row: on other splits it says its start, which nothing trained"
        )
    return [*verdict.samples, *words, *(_ADVICE[item] for item in verdict.advice)]


_ADVICE = {
    Advice.MORE_ITERATIONS: "violations still fell when the run ended: more outer iterations may help",
    Advice.OTHER_SPLITS: "train rows are met, and not all unseen rows are",
}


def _amount(worst: float, unit: str) -> str:
    return f"{worst:.2%} of its range" if unit == RANGE else f"{worst:.3g}" + ("" if unit == "1" else f" {unit}")


def _feasible_rows(measured: Mapping[str, Measured]) -> float | None:
    flags = [item.violations.feasible() for item in measured.values() if item.violations.layout.columns]
    return float(torch.cat(flags).double().mean()) if flags else None


def _violated(run: Run, split: str, measured: Mapping[str, Measured]) -> list[FamilyVerdict]:
    tables = {training_set.name: training_set.table for training_set in run.training_sets}
    verdicts = []
    for data, item in measured.items():
        for family, parts in families(item.violations.layout).items():
            columns = item.violations.columns(parts)
            violated = item.violations.violated[:, columns]
            if not violated.any():
                continue
            worst, row, column = _worst(item.violations, violated, columns)
            share = float(violated.sum()) / max(1, int(item.violations.live[:, columns].sum()))
            place, measure = _place(item, tables[data], row, column)
            verdicts.append(FamilyVerdict(data, split, family, share, worst, measure, place))
    return sorted(verdicts, key=lambda verdict: -verdict.violated)


def _at_cap(run: Run, data: str, item: Measured) -> CapVerdict | None:
    if item.violations.at_cap is None or not item.violations.at_cap.any():
        return None
    table = next(training_set.table for training_set in run.training_sets if training_set.name == data)
    columns = torch.arange(item.violations.layout.columns, device=item.violations.at_cap.device)
    worst, row, column = _worst(item.violations, item.violations.at_cap, columns)
    rows = int(item.violations.at_cap.any(1).sum())
    place, measure = _place(item, table, row, column)
    return CapVerdict(data, rows, rows / len(item.result.ids), worst, measure, place, _of(item.program))


def _averages(run: Run, split: str, measured: Mapping[str, Measured]) -> list[AverageVerdict]:
    return [
        AverageVerdict(split, name, item.violation, item.violated, item.unit, bool(item.at_cap) and split == "train")
        for name, item in average_metrics(run.averaged(measured)).items()
        if item.violated or (item.at_cap and split == "train")
    ]


def _worst(violations: Violations, among: Tensor, columns: Tensor) -> tuple[float, int, int]:
    """The largest violation among some entries [n, k] of ``columns`` [k], its row and its column."""
    violation = torch.where(among, violations.violation[:, columns].nan_to_num(nan=torch.inf), -1.0)
    row, column = divmod(int(violation.argmax()), len(columns))
    return float(violation[row, column]), row, int(columns[column])


def _place(item: Measured, table: Table, row: int, column: int) -> tuple[str, str]:
    """The address of an entry and the unit of its violation."""
    layout = item.violations.layout
    part = next(
        part for part, start in zip(layout.parts, layout.starts, strict=True) if start <= column < start + part.size
    )
    return address(layout, column, table.address(int(item.result.ids[row]))), unit(part)
