"""``flora.flipped``: rows whose label is wrong cannot be met, and their multipliers should say so."""

from __future__ import annotations

import torch
from torch import Tensor

from pdual.packs.workflows.sources.table import PairTable
from pdual.runtime.evaluation.context import EvaluationContext, Scores


def evaluate(context: EvaluationContext) -> Scores | None:
    """Of the train rows: ``rate``, the share whose label was flipped; ``at_cap``, the share of rows at the cap; ``lift_at_cap``,
    how many times more often a row at the cap is flipped than any row; ``lift_at_top``, the same among as many rows with the
    largest multipliers as were flipped. None where no label was flipped, or rows have no multipliers.
    """
    table, violations = context.table, context.violations
    if not isinstance(table, PairTable) or table.flipped is None or violations.at_cap is None:
        return None
    assert violations.multipliers is not None
    flipped = table.flipped[context.ids]
    if not bool(flipped.any()) or bool(violations.multipliers.isnan().any()):
        return None
    capped = violations.at_cap.any(1)
    top = torch.topk(violations.multipliers.sum(1), int(flipped.sum())).indices
    return {
        "rate": float(flipped.double().mean()),
        "at_cap": float(capped.double().mean()),
        "lift_at_cap": _lift(flipped, capped.nonzero().flatten()),
        "lift_at_top": _lift(flipped, top),
    }


def _lift(flipped: Tensor, chosen: Tensor) -> float | None:
    return float(flipped[chosen].double().mean() / flipped.double().mean()) if len(chosen) else None
