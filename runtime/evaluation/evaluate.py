"""One pass over rows in evaluation mode: residuals, multipliers, features and metrics, deterministic and
without gradients.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import torch
from torch import Tensor

from pdual.compiler.program import Evaluation, Program
from pdual.runtime.data.features import FeatureCache, Features
from pdual.runtime.data.sampling import packed
from pdual.runtime.data.tables import Table, with_groups
from pdual.runtime.evaluation.finite_rows import check_finite
from pdual.runtime.evaluation.result import EvaluationResult


class Multipliers(Protocol):
    """What a pass needs of the multipliers of a data set."""

    @property
    def active(self) -> Sequence[int]:
        """The columns that have multipliers, ascending."""

    def read(self, ids: Tensor, features: Features, values: Mapping[str, object], seen: bool = True) -> Tensor:
        """The multipliers of the rows ``ids`` ([batch]): [batch, active]. Not a number where rows that were not ``seen`` have none."""

    def spread(self, matrix: Tensor) -> Tensor:
        """[batch, columns] from [batch, active], 0 elsewhere."""


@torch.no_grad()
def evaluate(
    program: Program,
    table: Table,
    ids: Tensor,
    batch: int,
    multipliers: Multipliers | None = None,
    keep: tuple[str, ...] = (),
    seen: bool = True,
    groups: Tensor | None = None,
) -> EvaluationResult:
    """Run ``program.evaluate`` over ``ids`` in batches; the models must be in evaluation mode.

    ``multipliers`` are read along with it, where given, as those of rows that were trained on or not
    (``seen``); ``keep`` names the features that are kept; ``groups`` [n] makes batches of whole groups.
    """
    if groups is None:
        return _passed(program, table, _slices(len(ids), batch), ids, multipliers, keep, seen)
    order = torch.argsort(groups, stable=True)
    sizes = torch.unique_consecutive(groups[order], return_counts=True)[1].tolist()
    found = _passed(program, table, whole_groups(sizes, batch), ids[order], multipliers, keep, seen)
    back = torch.argsort(order)

    def sorted_back(column: Tensor | None) -> Tensor | None:
        return None if column is None else column[back]

    return replace(
        found,
        ids=ids,
        objective=sorted_back(found.objective),
        residuals=found.residuals[back],
        mask=sorted_back(found.mask),
        multipliers=sorted_back(found.multipliers),
        metrics={name: values[back] for name, values in found.metrics.items()},
        features=found.features.ordered(back),
        averaged=sorted_back(found.averaged),
        kept=sorted_back(found.kept),
    )


def whole_groups(sizes: Sequence[int], batch: int) -> Iterator[tuple[int, int, Sequence[int]]]:
    """Groups of these sizes, one after another, as slices of about ``batch`` rows and the sizes of their groups."""
    start = 0
    for groups in packed(range(len(sizes)), sizes, batch):
        kept = [sizes[group] for group in groups]
        yield start, start + sum(kept), kept
        start += sum(kept)


def _slices(rows: int, batch: int) -> Iterator[tuple[int, int, None]]:
    for start in range(0, rows, batch):
        yield start, min(start + batch, rows), None


def _passed(
    program: Program,
    table: Table,
    slices: Iterable[tuple[int, int, Sequence[int] | None]],
    ids: Tensor,
    multipliers: Multipliers | None,
    keep: tuple[str, ...],
    seen: bool,
) -> EvaluationResult:
    objective, residuals, masks, read, averaged, kept = (_Column(len(ids)) for _ in range(6))
    metrics: dict[str, _Column] = {}
    cache = FeatureCache()
    grouped: list[Tensor] = []
    for at, end, sizes in slices:
        rows = table.batch(ids[at:end])
        if sizes is not None:
            rows = with_groups(rows, sizes)
        found = Evaluation(*program.evaluate(rows.values, rows.ids))
        if program.groups_by is not None:
            found = _without_empty(found)
        residuals.fill(at, found.residuals)
        if found.objective is not None:
            objective.fill(at, found.objective)
        if found.mask is not None:
            masks.fill(at, found.mask, True)
        if found.averaged is not None:
            averaged.fill(at, found.averaged)
        if found.kept is not None:
            kept.fill(at, found.kept)
        if multipliers is not None and multipliers.active:
            read.fill(at, multipliers.spread(multipliers.read(rows.ids, found.features, rows.values, seen)))
        for name, value in found.metrics.items():
            metrics.setdefault(name, _Column(len(ids))).fill(at, value)
        if found.group_objective is not None:
            grouped.append(found.group_objective)
        cache.append(found.features, keep)
    assert residuals.tensor is not None, "no rows"
    check_finite(program, table, ids, residuals.tensor)
    return EvaluationResult(
        ids,
        objective.tensor,
        residuals.tensor,
        masks.tensor,
        read.tensor,
        {name: column.tensor for name, column in metrics.items() if column.tensor is not None},
        cache,
        None,
        torch.cat(grouped) if grouped else None,
        averaged.tensor,
        kept.tensor,
    )


def _without_empty(evaluation: Evaluation) -> Evaluation:
    """Entries of groups that have nothing to average are none. In training they are an error: a step's loss is no number then."""
    empty = torch.isnan(evaluation.residuals)
    if not bool(empty.any()):
        return evaluation
    mask = ~empty if evaluation.mask is None else evaluation.mask & ~empty
    return evaluation._replace(residuals=evaluation.residuals.masked_fill(empty, 0.0), mask=mask)


class _Column:
    """[n, ...], allocated at its first batch, so that nothing is held twice."""

    def __init__(self, rows: int) -> None:
        self.tensor: Tensor | None = None
        self._rows = rows

    def fill(self, at: int, part: Tensor, others: float | bool = 0) -> None:
        """``others``: what places are that no part fills."""
        if self.tensor is None:
            self.tensor = part.new_full((self._rows, *part.shape[1:]), others)
        self.tensor[at : at + len(part)] = part
