"""The loss of one primal step: the mean objective plus the mean augmented Lagrangian of a row, and that of averages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple

import torch
from torch import Tensor, nn

from pdual.compiler.program import Evaluation, Term
from pdual.runtime.data.tables import RowBatch
from pdual.runtime.problem.problem import Options
from pdual.runtime.training.averages import Averages
from pdual.runtime.training.method import WeightStep
from pdual.runtime.training.training_sets import TrainingSet


class Drawn(NamedTuple):
    """A batch of one data set, the weights of its rows (None where all are 1), and what its program says of it."""

    training_set: TrainingSet
    rows: RowBatch
    weights: Tensor | None
    evaluation: Evaluation


def draw(training_set: TrainingSet, precision: AbstractContextManager[object]) -> Drawn:
    """The next batch of a data set, evaluated for training."""
    rows, weights = training_set.draw()
    with precision:
        return Drawn(training_set, rows, weights, Evaluation(*training_set.train(rows.values, rows.ids)))


def loss_of(drawn: Sequence[Drawn], averages: Averages | None, options: Options, warming_up: bool) -> Tensor | None:
    """An unbiased estimate of what is minimised, None where there is nothing; multipliers are 0 while ``warming_up``."""
    total: Tensor | None = None
    slopes: Mapping[str, Tensor] = {}
    if averages is not None and averages.data:
        slopes, total = averages.slopes(drawn, warming_up)
    for item in drawn:
        value = _rows(item, slopes.get(item.training_set.name), options, warming_up)
        if value is not None:
            total = added(total, value / item.training_set.stream.rows_per_step)
        grouped = item.evaluation.group_objective
        if grouped is not None and not options.feasibility:
            total = added(total, grouped.to(options.placement.dtype).sum() / item.training_set.stream.groups_per_step)
    return total


def _rows(item: Drawn, slopes: Tensor | None, options: Options, warming_up: bool) -> Tensor | None:
    """Objective, augmented Lagrangian and share in the averages of all rows of a batch, at their weights; None without any."""
    multipliers, evaluation, rows, weights = item.training_set.multipliers, item.evaluation, item.rows, item.weights
    value: Tensor | None = None
    if multipliers.active:
        current = (
            multipliers.zeros(len(rows.ids))
            if warming_up
            else multipliers.read(rows.ids, evaluation.features, rows.values)
        )
        value = multipliers.total(evaluation.residuals.to(options.placement.dtype), current, weights)
    if slopes is not None:
        assert evaluation.averaged is not None
        value = added(value, _weighted(evaluation.averaged.to(options.placement.dtype) @ slopes, weights))
    if evaluation.objective is not None and not options.feasibility:
        value = added(value, _weighted(evaluation.objective.to(options.placement.dtype), weights))
    return value


def _weighted(values: Tensor, weights: Tensor | None) -> Tensor:
    return values.sum() if weights is None else torch.dot(values, weights.to(values))


def added(total: Tensor | None, term: Tensor) -> Tensor:
    """A sum, of which there may be nothing yet."""
    return term if total is None else total + term


def terms_to_follow(terms: Sequence[Term], models: nn.ModuleDict, optimiser: WeightStep) -> list[Term]:
    """The terms without data that a backward pass is needed for; the optimiser adds the slope of squared norms itself."""
    follow = []
    for term in terms:
        norms = term.norms or {}
        weights = [weight for name in norms for weight in models[name].parameters()]
        if not weights or not optimiser.holds(weights):
            follow.append(term)
            continue
        for name, factor in norms.items():
            optimiser.decay(models[name].parameters(), factor)
    return follow
