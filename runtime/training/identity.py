"""What must be the same for a saved state to be one of a problem."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pdual.runtime.problem.problem import Options, Problem
from pdual.runtime.training.training_sets import TrainingSet


def identity(problem: Problem, options: Options, training_sets: Sequence[TrainingSet]) -> dict[str, Any]:
    """The facts by subject, as a checkpoint has them and as PD604 names the one that differs."""
    averages = problem.averages
    return {
        "problem": problem.name,
        "settings": repr(problem.settings),
        "seed": options.seed,
        "rows": {item.name: len(item.train_ids) for item in training_sets},
        "data": {item.name: item.table.fingerprint for item in training_sets},
        "duals": {
            item.name: [[plan.kind, len(plan.columns)] for plan in item.multipliers.plans] for item in training_sets
        },
        "feasibility": options.feasibility,
        **({} if averages is None else {"averages": [[item.kind, len(item.columns)] for item in averages.duals]}),
        **options.identity,
    }
