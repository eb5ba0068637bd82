"""The result of a solver: trained models, multipliers, history, and measurements on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pdual.runtime.evaluation.average_metrics import average_families, average_metrics
from pdual.runtime.evaluation.measured_averages import MeasuredAverages
from pdual.runtime.evaluation.metrics import Measured, split_metrics
from pdual.runtime.evaluation.violations import Violations, families
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
from pdual.runtime.training.training_sets import TrainingSet

#: How a run ended.
Status: TypeAlias = Literal["finished", "budget", "stopped"]


@dataclass(frozen=True)
class Run:
    """A run that ended: ``finished``, after its ``budget``, or ``stopped`` on request. Its models are in
    evaluation mode.
    """

    problem: Problem
    options: Options
    training_sets: tuple[TrainingSet, ...]
    status: Status
    history: tuple[LogLine, ...]
    timing: Timing
    averages: Averages | None = None

    @property
    def splits(self) -> tuple[str, ...]:
        """The splits of any data set, each once."""
        return tuple(dict.fromkeys(split for training_set in self.training_sets for split in training_set.table.splits))

    def measure(self, split: str) -> dict[str, Measured]:
        """One pass over a split of every data set that has it, by data set."""
        return {
            training_set.name: Measured(
                training_set.program,
                found := training_set.evaluate(split),
                Violations.of(found, training_set.program.layout, training_set.multipliers.caps),
            )
            for training_set in self.training_sets
            if split in training_set.table.splits and len(training_set.table.splits[split])
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
        return self.averages.measure({name: item.result for name, item in measured.items()})

    def metrics(
        self,
        dual: str,
        splits: Mapping[str, SplitMetrics],
        recovery: Mapping[str, Mapping[str, Recovery]] | None = None,
        samples: Mapping[str, SampleRecord] | None = None,
    ) -> Metrics:
        """``metrics.json``, from the splits that were measured."""
        held = [training_set for training_set in self.training_sets if training_set.multipliers.active]
        counts = {
            family: sum(part.size for part in parts)
            for training_set in held
            for family, parts in families(training_set.program.layout).items()
            if any(part.name in plan.parts for part in parts for plan in training_set.multipliers.plans)
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
                per_row=sum(len(training_set.multipliers.active) for training_set in held),
                rows=max((len(training_set.train_ids) for training_set in held), default=0),
                families=counts,
                parameters=sum(training_set.multipliers.parameters for training_set in held)
                + (own.parameters if own else 0),
                bytes=sum(training_set.multipliers.bytes for training_set in held) + (own.bytes if own else 0),
            ),
            splits=splits,
            recovery=recovery or {},
            timing=self.timing,
            samples=samples or {},
        )
