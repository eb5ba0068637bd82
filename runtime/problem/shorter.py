"""A quick run: fewer outer iterations over fewer rows."""

from __future__ import annotations

from math import ceil

from pdual.dsl.declarations.optimisers import OptimiserSettings
from pdual.dsl.declarations.references import OptimiserUse
from pdual.dsl.declarations.solving import SolveSettings
from pdual.runtime.data.groups import rows_in
from pdual.runtime.problem.problem import Problem


def quick(settings: SolveSettings, rows: int, rounds: int, most: int) -> SolveSettings:
    """Fewer outer iterations, each with enough passes over fewer rows: about ``most`` primal steps in all."""
    descent = settings.descent.settings
    assert isinstance(descent, OptimiserSettings)
    outer = min(settings.outer, rounds)
    steps = max(1, min(ceil(most / outer), _full_steps(descent, rows) * 8))
    shorter = descent.model_copy(update={"steps": steps})
    return settings.model_copy(update={"outer": outer, "descent": OptimiserUse(settings.descent.optimiser, shorter)})


def _full_steps(descent: OptimiserSettings, rows: int) -> int:
    return descent.steps or max(1, ceil(descent.epochs * rows / min(descent.batch, rows)))


def constrained_rows(problem: Problem) -> int:
    """Train rows, or groups' rows, of the largest block."""
    return max(rows_in(block.table, block.table.splits["train"]) for block in problem.blocks)
