"""What a solver leaves: trained models, multipliers, history; and what can be asked of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pdual.runtime.evaluation.average_metrics import average_families, average_metrics
from pdual.runtime.evaluation.measured_averages import MeasuredAverages
from pdual.runtime.evaluation.metrics import Measured, split_metrics
from pdual.runtime.evaluation.violations import Profile, families
from pdual.runtime.problem.problem import Options, Problem
from pdual.runtime.storage.records import (
    LogLine,
    Metrics,
    MultiplierMetrics,
    Recovery,
    SampleRecord,
    SplitMetrics,
    Timing,
)
from pdual.runtime.training.averages import Averages
from pdual.runtime.training.training_sets import Lane

#: How a run ended.
Status: TypeAlias = Literal["finished", "budget", "stopped"]


@dataclass(frozen=True)
class Run:
    """A run that ended: ``finished``, after its ``budget``, or ``stopped`` on request. Its models are in
    evaluation mode.
    """

    problem: Problem
    options: Options
    lanes: tuple[Lane, ...]
    status: Status
    history: tuple[LogLine, ...]
    timing: Timing
    averages: Averages | None = None

    @property
    def splits(self) -> tuple[str, ...]:
        """The splits of any data set, each once."""
        return tuple(dict.fromkeys(split for lane in self.lanes for split in lane.table.splits))

    def measure(self, split: str) -> dict[str, Measured]:
        """One pass over a split of every data set that has it, by data set."""
        return {
            lane.name: Measured(
                lane.program,
                found := lane.evaluate(split),
                Profile.of(found, lane.program.layout, lane.multipliers.caps),
            )
            for lane in self.lanes
            if split in lane.table.splits and len(lane.table.splits[split])
        }

    def split(self, measured: Mapping[str, Measured]) -> SplitMetrics:
        """The numbers of a split that was measured."""
        free = self.problem.free_objective() if self.problem.terms else None
        found = split_metrics(list(measured.values()), free)
        averages = self.averaged(measured)
        families = {**found.families, **average_families(averages)}
        return found.model_copy(update={"families": families, "averages": average_metrics(averages)})

    def averaged(self, measured: Mapping[str, Measured]) -> MeasuredAverages | None:
        """The constraints on averages over a split that was measured; None where there are none, or no rows for them."""
        if self.averages is None:
            return None
        return self.averages.measure({name: item.found for name, item in measured.items()})

    def metrics(
        self,
        dual: str,
        splits: Mapping[str, SplitMetrics],
        recovery: Mapping[str, Mapping[str, Recovery]] | None = None,
        samples: Mapping[str, SampleRecord] | None = None,
    ) -> Metrics:
        """``metrics.json``, from the splits that were measured."""
        held = [lane for lane in self.lanes if lane.multipliers.active]
        counts = {
            family: sum(part.size for part in parts)
            for lane in held
            for family, parts in families(lane.program.layout).items()
            if any(part.name in plan.parts for part in parts for plan in lane.multipliers.plans)
        }
        own = self.averages.multipliers if self.averages is not None else None
        if self.averages is not None:
            held_names = {name for plan in self.averages.multipliers.plans for name in plan.parts}
            for family, parts in families(self.averages.layout).items():
                if any(part.name in held_names for part in parts):
                    counts[family] = len(parts)
        return Metrics(
            problem=self.problem.name,
            dual=dual,
            status=self.status,
            multipliers=MultiplierMetrics(
                per_row=sum(len(lane.multipliers.active) for lane in held),
                rows=max((len(lane.train_ids) for lane in held), default=0),
                families=counts,
                parameters=sum(lane.multipliers.parameters for lane in held) + (own.parameters if own else 0),
                bytes=sum(lane.multipliers.bytes for lane in held) + (own.bytes if own else 0),
            ),
            splits=splits,
            recovery=recovery or {},
            timing=self.timing,
            samples=samples or {},
        )
