"""One re-solve, from a warm start."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from pdual.resolving.plan import Answer

if TYPE_CHECKING:
    from pdual.resolving.plan import Plan, Task
    from pdual.restoring import Restored
    from pdual.runtime.problem.problem import Problem
    from pdual.runtime.training.run import Run
    from pdual.runtime.training.training_sets import TrainingSet


class Resolve:
    """Solves the problem of a run again with rows of a data set added, from the run's weights and multipliers."""

    def __init__(self, restored: Restored, training_set: TrainingSet, plan: Plan, stop: Callable[[], bool]) -> None:
        self._found = restored
        self._training_set = training_set
        self._plan = plan
        self._stop = stop
        self._state = restored.folder.load()

    def __call__(self, asked: Task) -> Answer | None:
        """What comes of it; None where it was cut."""
        import torch

        from pdual.runtime.data.extended import Extended
        from pdual.runtime.problem.prepare import prepare
        from pdual.runtime.training.solver import solve

        torch.set_num_threads(self._found.record.threads)
        torch.manual_seed(asked.seed)
        tables = dict(self._found.tables)
        tables[self._training_set.name] = Extended(
            tables[self._training_set.name], torch.tensor(asked.rows, dtype=torch.long)
        )
        dtype = self._found.run.options.placement.dtype
        problem = self._shorter(prepare(self._found.graph, tables, dtype, {}))
        options = replace(self._found.run.options, seed=asked.seed, budget=None, stop=self._stop)
        run = solve(problem, options, initial=self._state)
        if self._stop():
            return None
        objective = float(problem.free_objective()) + self._of_rows(run)
        return Answer(objective, self._violation(run, asked) if asked.rows else 0.0)

    def _violation(self, run: Run, asked: Task) -> float:
        import torch

        from pdual.runtime.evaluation.evaluate import evaluate
        from pdual.runtime.evaluation.violations import Violations

        training_set = next(
            training_set for training_set in run.training_sets if training_set.name == self._training_set.name
        )
        ids = torch.tensor(asked.rows, dtype=torch.long, device=training_set.train_ids.device)
        passed = evaluate(training_set.program, training_set.table, ids, training_set.evaluation_batch)
        return float(Violations.of(passed, training_set.program.layout).largest().double().mean())

    def _of_rows(self, run: Run) -> float:
        """The objective's mean over the rows that the run was trained on; 0 where it has none."""
        from pdual.runtime.evaluation.evaluate import evaluate
        from pdual.runtime.evaluation.metrics import objective

        total = 0.0
        if self._found.run.options.feasibility:
            return total
        for training_set in run.training_sets:
            ids = self._found.tables[training_set.name].splits["train"].to(training_set.train_ids.device)
            passed = evaluate(
                training_set.program,
                training_set.table,
                ids,
                training_set.evaluation_batch,
                groups=training_set.groups_of(ids),
            )
            total += objective(training_set.program, passed) or 0.0
        return total

    def _shorter(self, problem: Problem) -> Problem:
        from pdual.dsl.declarations.optimisers import OptimiserSettings
        from pdual.dsl.declarations.references import OptimiserUse

        settings = problem.settings
        descent = settings.descent.settings
        assert isinstance(descent, OptimiserSettings)
        changes: dict[str, object] = {"lr": descent.lr * self._plan.rate}
        if self._plan.epochs is not None:
            changes.update(epochs=self._plan.epochs, steps=None)
        slower = OptimiserUse(settings.descent.optimiser, descent.model_copy(update=changes))
        own = {"outer": self._plan.outer, "warmup": 0, "dual_warmup": 0, "descent": slower}
        return replace(problem, settings=settings.model_copy(update=own))
