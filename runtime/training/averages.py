"""Constraints on averages under way: G over all rows, known exactly once an outer iteration and tracked between.

psi(G, lam) is not a mean over rows: max and square of an estimate are biased, and a product of two estimates from one batch is
too. Its gradient is c dG with the scalar c = [lam + rho G]_+ (lam + rho h for an equality), and dG is a mean over rows. So a step
takes c at an estimate of G that its own batch has no part in, times the batch's unbiased estimate of dG: the direction is
unbiased, and c lags. The estimate starts at the exact G of the evaluation pass; each batch then tells how much its rows moved
since that pass, which varies far less than their values do, and the estimate follows with exponential forgetting.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from pdual.compiler.layout import Layout
from pdual.compiler.program import AveragePlan, Evaluation
from pdual.dsl.declarations.solving import SolveSettings
from pdual.dsl.diagnostics import refuse
from pdual.runtime.data.features import FeatureCache
from pdual.runtime.data.tables import RowBatch
from pdual.runtime.duals.build import active_columns, build_store, in_force
from pdual.runtime.duals.multipliers import Multipliers, Update
from pdual.runtime.duals.pointwise import RowTable
from pdual.runtime.evaluation.measured_averages import MeasuredAverages
from pdual.runtime.evaluation.result import EvaluationResult
from pdual.runtime.evaluation.violations import Violations
from pdual.runtime.optimisation.lagrangian import Lagrangian
from pdual.runtime.problem.problem import Options, Problem
from pdual.runtime.training.training_sets import TrainingSet

#: How far the estimate of G follows a batch; further where a batch is a larger share of all rows.
FOLLOWED = 0.1


class MeansOf:
    """The means over the train rows of one data set, [k] each: sums of what counts, and of how many rows count, over all rows.

    ``value`` and ``share`` are mean m v and mean m of all rows (m: whether a row counts), as tracked; a mean is their ratio.
    Both are double precision: a mean over many rows in float32 would lose what a tolerance is about.
    """

    def __init__(self, rows: Tensor, means: int, dtype: torch.dtype) -> None:
        self._rows = rows
        like = torch.zeros(2 * means, dtype=dtype, device=rows.device)
        self._seen = RowTable(rows, like)  # m v and m of every row, as the last pass saw them
        self._exact = torch.zeros(2 * means, dtype=torch.float64, device=rows.device)
        self._tracked = torch.zeros_like(self._exact)

    @property
    def value(self) -> Tensor:
        """mean m v, as tracked: [k]."""
        return self._tracked.chunk(2)[0]

    @property
    def share(self) -> Tensor:
        """mean m, as tracked: [k]."""
        return self._tracked.chunk(2)[1]

    def look(self, result: EvaluationResult) -> None:
        """Take over the pass over all rows."""
        assert result.averaged is not None
        columns = _with_counts(result.averaged.to(self._seen.entries), result.kept)
        self._seen.write(result.ids, columns)
        self._exact = columns.double().mean(0)
        self._tracked = self._exact.clone()

    @property
    def rows(self) -> int:
        """How many there are."""
        return len(self._rows)

    def follow(self, ids: Tensor, evaluation: Evaluation, rows_per_step: float, weights: Tensor | None = None) -> None:
        """Take a batch of the rows ``ids`` ([batch]) into account, at the weights it was drawn with ([batch]; None: all 1)."""
        assert evaluation.averaged is not None
        columns = _with_counts(evaluation.averaged.detach().to(self._seen.entries), evaluation.kept)
        moved = (columns - self._seen.read(ids)).double()
        moved = (moved if weights is None else moved * weights[:, None]).sum(0) / rows_per_step
        rate = max(FOLLOWED, min(1.0, rows_per_step / self.rows))
        self._tracked = torch.lerp(self._tracked, self._exact + moved, rate)

    def state(self) -> dict[str, object]:
        """Everything that ``load_state`` needs to go on exactly from here."""
        return {"seen": self._seen.entries, "exact": self._exact, "tracked": self._tracked}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from a saved state."""
        self._seen.entries.copy_(state["seen"])
        self._exact = state["exact"].to(self._exact)
        self._tracked = state["tracked"].to(self._tracked)


class Averages:
    """All constraints on averages of a problem, their multipliers and what is known of their means.

    Matrices of ``multipliers`` are [1, columns]: there is one row. Columns that the problem drops (``none``) are measured only.
    """

    def __init__(
        self,
        plan: AveragePlan,
        train: Mapping[str, Tensor],
        settings: SolveSettings,
        device: torch.device,
        dtype: torch.dtype,
    ) -> None:
        self.plan = plan
        self.multipliers = _multipliers(plan, settings, device, dtype)
        self._weights = {data: weights.to(device) for data, weights in plan.weights.items()}
        self._offsets = plan.offsets.to(device)
        self._active = torch.tensor(self.multipliers.active, dtype=torch.long, device=device)
        #: Data sets whose rows a constraint in force averages over.
        self.data = tuple(data for data, w in self._weights.items() if bool((w[self._active] != 0).any()))
        self._means = {data: MeansOf(train[data], self._weights[data].shape[1], dtype) for data in self.data}
        self._place = torch.zeros(1, dtype=torch.long, device=device)
        self.ready = False

    @classmethod
    def of(cls, problem: Problem, training_sets: Sequence[TrainingSet], options: Options) -> Averages | None:
        """Those of a problem whose data sets are on the device; None where it has none."""
        if problem.averages is None:
            return None
        train = {training_set.name: training_set.train_ids for training_set in training_sets}
        return cls(problem.averages, train, problem.settings, options.placement.device, options.placement.dtype)

    @property
    def layout(self) -> Layout:
        """The columns."""
        return self.plan.layout

    @property
    def level(self) -> Tensor:
        """The multipliers, [1, columns], scaled; 0 where a constraint is dropped."""
        return self.multipliers.spread(self.multipliers.read(self._place, {}, {}))

    def look(self, passes: Mapping[str, EvaluationResult]) -> MeasuredAverages | None:
        """Take over the passes over all train rows, by data set, and measure. Raises PD608 where a mean is over none."""
        for data, means in self._means.items():
            if bool((_counts(*_of(passes[data])) == 0).any()):
                raise refuse("PD608", data=data)
            means.look(passes[data])
        self.ready = True
        return self.measure(passes)

    @torch.no_grad()
    def slopes(
        self, drawn: Iterable[tuple[TrainingSet, RowBatch, Tensor | None, Evaluation]], warming_up: bool
    ) -> tuple[Mapping[str, Tensor], Tensor]:
        """What multiplies a row's m v in the loss of each data set, [k] each; and what makes the loss psi at the tracked G.

        ``drawn`` is the step's batch of every data set, which is taken into account: a batch of all rows before, since it is
        no estimate; others after, for the next step. Multipliers are 0 while ``warming_up``.
        """
        batches = [
            (self._means[training_set.name], rows.ids, found, training_set.stream.rows_per_step, weights)
            for training_set, rows, weights, found in drawn
            if training_set.name in self._means
        ]
        whole = [means.rows <= size and weights is None for means, _, _, size, weights in batches]
        for (means, ids, found, size, weights), exact in zip(batches, whole, strict=True):
            if exact:
                means.follow(ids, found, size, weights)
        factors, level = self._linear(warming_up)
        for (means, ids, found, size, weights), exact in zip(batches, whole, strict=True):
            if not exact:
                means.follow(ids, found, size, weights)
        return factors, level

    def _linear(self, warming_up: bool) -> tuple[Mapping[str, Tensor], Tensor]:
        held = self.multipliers
        tracked = {data: means.value / means.share for data, means in self._means.items()}
        residuals = held.select(self._residuals(tracked)[None]).to(held.lagrangian.rho.dtype)
        current = held.zeros(1) if warming_up else held.read(self._place, {}, {})
        slope = held.spread(held.lagrangian.slope(residuals, current))[0].double()
        level = held.lagrangian.psi(residuals, current)[0]
        factors = {}
        for data, means in self._means.items():
            factor = (slope @ self._weights[data]) / means.share
            level = level - (factor @ means.value).to(level)
            factors[data] = factor.to(level)
        return factors, level

    @torch.no_grad()
    def measure(self, passes: Mapping[str, EvaluationResult]) -> MeasuredAverages | None:
        """The constraints over the rows of some passes, by data set; None where no column has all its means."""
        held = self.multipliers
        means = {data: means_of(*_of(passes[data])) for data in self._weights if data in passes}
        unknown = torch.zeros_like(self._offsets, dtype=torch.bool)
        for data, weights in self._weights.items():
            known = (
                _counts(*_of(passes[data])) > 0 if data in passes else torch.zeros_like(weights[0], dtype=torch.bool)
            )
            unknown |= ((weights != 0) & ~known).any(1)
        if bool(unknown.all()):
            return None
        residuals = self._residuals(means).masked_fill(unknown, 0.0)[None].to(held.lagrangian.rho.dtype)
        read = self.level if held.active else None
        mask = ~unknown[None] if bool(unknown.any()) else None
        found = EvaluationResult(self._place, None, residuals, mask, read, {}, FeatureCache())
        return MeasuredAverages(self.plan, found, Violations.of(found, self.layout, held.caps), means)

    def adopt(self, state: Mapping[str, Any]) -> None:
        """Start from the multipliers of another run where they have the same shape."""
        self.multipliers.adopt(state["multipliers"])

    def update(self, result: EvaluationResult) -> Update:
        """lam <- clip(lam + rho G) into [0, cap], or [-cap, cap] for an equality."""
        return self.multipliers.update(result)

    def state(self) -> dict[str, object]:
        """Multipliers, rho and the means."""
        means = {data: means.state() for data, means in self._means.items()}
        return {"multipliers": self.multipliers.state(), "means": means, "ready": self.ready}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from a saved state."""
        self.multipliers.load_state(state["multipliers"])
        for data, means in self._means.items():
            means.load_state(state["means"][data])
        self.ready = bool(state["ready"])

    def _residuals(self, means: Mapping[str, Tensor]) -> Tensor:
        """G of every column, scaled, [columns] float64, from the means of every data set that is there."""
        total = self._offsets.clone()
        for data, value in means.items():
            weights = self._weights[data]
            # 0 times NaN would be NaN.
            total += torch.where(weights != 0, weights * value, 0.0).sum(1)
        return total


def means_of(averaged: Tensor, kept: Tensor | None) -> Tensor:
    """The means over some rows: [k] float64 from [rows, k]; not a number where no row counts."""
    return averaged.double().sum(0) / _counts(averaged, kept)


def _counts(averaged: Tensor, kept: Tensor | None) -> Tensor:
    if kept is None:
        return averaged.new_full((averaged.shape[1],), len(averaged), dtype=torch.float64)
    return kept.double().sum(0)


def _of(result: EvaluationResult) -> tuple[Tensor, Tensor | None]:
    assert result.averaged is not None
    return result.averaged, result.kept


def _with_counts(averaged: Tensor, kept: Tensor | None) -> Tensor:
    """[rows, 2 k]: m v and m."""
    return torch.cat([averaged, torch.ones_like(averaged) if kept is None else kept.to(averaged)], 1)


def _multipliers(plan: AveragePlan, settings: SolveSettings, device: torch.device, dtype: torch.dtype) -> Multipliers:
    plans = in_force(plan.duals)
    lagrangian = Lagrangian.of(plan.layout, active_columns(plans), settings.rho, settings.rho_equal, device, dtype)
    row = torch.zeros(1, dtype=torch.long, device=device)
    stores = [build_store(item, plan.layout, row, dtype) for item in plans]
    return Multipliers(plan.layout, plans, stores, lagrangian)
