"""What ``pdual bounds`` measures on a run, in place of what is not derived."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pdual.bounding.complexity import complexities
from pdual.bounding.distance import distance
from pdual.bounding.estimate import Estimate, Measure, Measured
from pdual.bounding.parts import Constants, Objective
from pdual.bounding.slater import slater
from pdual.restoring import Restored
from pdual.runtime.training.training_sets import TrainingSet

#: Probability of failure of each event, unless it is given.
DELTA = 0.05


def measuring(restored: Restored, references: Mapping[str, Restored], given: Mapping[str, float]) -> Measure:
    """Measures on a run, and on others of its problem by name, once the constants of its parts are known."""

    def measure(parts: Sequence[Constants], objective: Objective) -> Measured:
        runs = {str(restored.folder.path): restored, **references}
        rows = [part for part in parts if not part.average]
        return Measured(
            _facts(restored),
            (
                slater(runs, rows, given.get("nuH", 0.0)),
                distance(restored, list(references.items())),
                *complexities(restored, rows, objective),
                Estimate("delta", DELTA, "choice", "usual; of each event"),
            ),
        )

    return measure


def _facts(restored: Restored) -> dict[str, float]:
    """Rows of constraints and of the objective (of the smallest data set that has some), and the last penalty."""
    constrained = [
        len(training_set.train_ids)
        for training_set in restored.run.training_sets
        if training_set.program.layout.columns
    ]
    aimed = [len(training_set.train_ids) for training_set in restored.run.training_sets if training_set.has_objective]
    history = restored.run.history
    facts = {"rho": _penalty(restored.run.training_sets, history[-1].rho if history else 0.0)}
    facts |= {"N": float(min(constrained))} if constrained else {}
    facts |= {"N0": float(min(aimed))} if aimed else {}
    return {name: value for name, value in facts.items() if value}


def _penalty(training_sets: Sequence[TrainingSet], last: float | None) -> float:
    """Of inequalities; as it is now where the log tells none."""
    return float(last or max((training_set.multipliers.rho for training_set in training_sets), default=0.0))
