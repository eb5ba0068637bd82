"""What one pass over rows measured, and how a later pass over some of the rows is taken into it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from pdual.runtime.data.features import FeatureCache


@dataclass(frozen=True, slots=True)
class EvaluationResult:
    """What n rows say at one theta.

    ``objective`` [n], scaled, or None; ``residuals`` [n, columns], scaled, masked entries 0; ``mask`` [n,
    columns] bool or None; ``multipliers`` [n, columns], scaled, 0 where the problem drops a column, not a
    number where a column has none on these rows, None where nothing was read; ``metrics`` [n] each, in the
    problem's units; ``group_objective`` [groups], scaled, in the order of the groups' numbers, None without a block over
    groups;
    ``averaged`` and ``kept`` [n, means] as in an Evaluation; ``features`` as many as were asked for. ``fresh`` [n] bool tells which rows were evaluated
    now and not in an earlier pass; None: all.
    """

    ids: Tensor
    objective: Tensor | None
    residuals: Tensor
    mask: Tensor | None
    multipliers: Tensor | None
    metrics: Mapping[str, Tensor]
    features: FeatureCache
    fresh: Tensor | None = None
    group_objective: Tensor | None = None
    averaged: Tensor | None = None
    kept: Tensor | None = None


def merged(last: EvaluationResult, places: Tensor, now: EvaluationResult) -> EvaluationResult:
    """An earlier pass with some of its rows (``places`` [k], positions) as they are now; overwrites ``last``."""
    assert last.objective is None or now.objective is not None

    def put(old: Tensor | None, new: Tensor | None) -> Tensor | None:
        return old if old is None or new is None else old.index_copy_(0, places, new)

    put(last.objective, now.objective)
    put(last.residuals, now.residuals)
    put(last.mask, now.mask)
    put(last.multipliers, now.multipliers)
    for name, values in last.metrics.items():
        put(values, now.metrics[name])
    last.features.replace(places, now.features)
    fresh = torch.zeros(len(last.ids), dtype=torch.bool, device=places.device)
    return replace(last, fresh=fresh.index_fill_(0, places, True))


def as_state(result: EvaluationResult) -> dict[str, object]:
    """A pass for a checkpoint."""
    return {
        "objective": result.objective,
        "residuals": result.residuals,
        "mask": result.mask,
        "multipliers": result.multipliers,
        "metrics": dict(result.metrics),
        "features": result.features.state(),
    }


def from_state(state: Mapping[str, Any], ids: Tensor) -> EvaluationResult:
    """The pass over ``ids`` of a checkpoint."""

    def here(value: Tensor | None) -> Tensor | None:
        return None if value is None else value.to(ids.device)

    residuals = here(state["residuals"])
    assert residuals is not None
    features = FeatureCache.of_state(state["features"], ids.device)
    metrics = {name: value.to(ids.device) for name, value in state["metrics"].items()}
    objective, mask, multipliers = here(state["objective"]), here(state["mask"]), here(state["multipliers"])
    return EvaluationResult(ids, objective, residuals, mask, multipliers, metrics, features)
