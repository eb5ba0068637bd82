"""Algorithm 1 of the paper: primal minibatches, one evaluation pass, one dual update, again and again.

Boero, Nixon and Ribeiro, "Learning Samples Importance: Parameterizing Dual Variables in
Everywhere Learning", Algorithm 1.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from math import inf, isfinite
from typing import Any

import torch
from torch import Tensor, nn

from pdual.dsl.declarations.optimisers import OptimiserSettings
from pdual.dsl.diagnostics import refuse
from pdual.runtime.data.tables import RowBatch
from pdual.runtime.duals.multipliers import Multipliers
from pdual.runtime.evaluation.measured_averages import MeasuredAverages
from pdual.runtime.evaluation.metrics import Measured
from pdual.runtime.evaluation.nonfinite import diverged, unaveraged
from pdual.runtime.evaluation.result import EvaluationResult
from pdual.runtime.evaluation.violations import Violations
from pdual.runtime.models.interface import remember
from pdual.runtime.optimisation.optimisers import trainable
from pdual.runtime.problem.problem import Options, Problem
from pdual.runtime.storage.checkpoint import whole_state
from pdual.runtime.storage.records import TOLERANCE, LogLine
from pdual.runtime.system.denormals import flushed
from pdual.runtime.training.averages import Averages
from pdual.runtime.training.clock import Clock
from pdual.runtime.training.history import log_line
from pdual.runtime.training.identity import identity
from pdual.runtime.training.method import ALGORITHM_1, Method
from pdual.runtime.training.run import Run, Status
from pdual.runtime.training.step import added, draw, loss_of, terms_to_follow
from pdual.runtime.training.training_sets import build_training_sets

#: Steps between two looks at the loss on an accelerator, where a look waits; a CPU looks at every step.
LOOK_EVERY = 50

#: Saving pauses for so many times as long as it took: a large model's state takes a while to write.
SAVE_PAUSE = 20.0

#: Steps between two reports of progress.
REPORT_EVERY = 20


def solve(
    problem: Problem,
    options: Options,
    resume: Mapping[str, Any] | None = None,
    initial: Mapping[str, Any] | None = None,
    method: Method = ALGORITHM_1,
) -> Run:
    """Solve a problem; its models are trained in place and moved to the device.

    ``resume`` is a saved state to go on from, bit for bit as if the run had not been interrupted; ``initial``
    a saved state of any run to take weights, and multipliers of the same shape, from. ``method``: the steps. Raises a Refusal with
    PD601 when the loss stops being finite, PD602 or PD603 when there is nothing to train or to minimise,
    PD604 or PD605 when a state belongs to another problem.
    """
    torch.manual_seed(options.seed)
    solver = Solver(problem, options, method)
    with whole_state():
        if initial is not None:
            solver.adopt(initial)
        if resume is not None:
            solver.load_state(resume)
    with flushed():
        return solver.run()


def restore(problem: Problem, options: Options, state: Mapping[str, Any], status: Status = "stopped") -> Run:
    """The run as it was when ``state`` was saved, its models trained in place and in evaluation mode. Raises PD604."""
    torch.manual_seed(options.seed)
    solver = Solver(problem, options)
    with whole_state():
        solver.load_state(state)
    return solver.ended(status)


class Solver:
    """The state of Algorithm 1 between two steps.

    Iteration 0 is the warm-up, with multipliers 0 and without an update; iterations 1 to ``outer`` follow.
    ``state`` may be taken between any two steps.
    """

    def __init__(self, problem: Problem, options: Options, method: Method = ALGORITHM_1) -> None:
        self._problem = problem
        self._options = options
        self._placement = options.placement
        self._settings = problem.settings
        descent = self._settings.descent.settings
        assert isinstance(descent, OptimiserSettings)
        self._placement.place(problem.models)
        remember(problem.models)
        self._training_sets = build_training_sets(problem, options, method.multipliers)
        self._constrained = [training_set for training_set in self._training_sets if training_set.multipliers.active]
        self._averages = Averages.of(problem, self._training_sets, options)
        if self._averages is not None:
            self._averages.multipliers.follow = method.multipliers()
        averaged = self._averages.data if self._averages is not None else ()
        #: Whose train rows an outer iteration passes over.
        self._visited = [item for item in self._training_sets if item.multipliers.active or item.name in averaged]
        self._counted = {training_set.name for training_set in self._visited}
        self._models = problem.models
        formulas = {id(weight) for training_set in self._training_sets for weight in training_set.multipliers.weights()}
        terms = [term.evaluate if isinstance(term.evaluate, nn.Module) else self._models for term in problem.terms]
        modules = [*(training_set.program.train for training_set in self._training_sets), *terms]
        called = {id(weight) for module in modules for weight in module.parameters()}
        self._weights = [weight for weight in trainable(self._models) if id(weight) in called - formulas]
        self._refuse_nothing()
        longest = max(training_set.train_rows for training_set in (self._visited or self._training_sets))
        self._steps = descent.steps_over(longest)
        self._warmup = self._settings.warmup * descent.epoch_over(longest)
        self._descent = method.weights(
            self._settings.descent, self._weights, self._warmup + self._settings.outer * self._steps
        )
        self._terms = [] if options.feasibility else terms_to_follow(problem.terms, self._models, self._descent)
        self._clock = Clock(options.placement.device)
        self._history: list[LogLine] = []
        self._iteration = 0
        self._step = 0  # of this iteration
        self._taken = 0  # of the run
        self._drawn = 0  # rows of constraint data
        self._losses = self._placement.zeros()
        self._worst: float | None = None
        self._saved: int | None = None
        self._saved_at = -inf
        self._saving = 0.0

    def run(self) -> Run:
        """Go on until the end, the budget or a request to stop."""
        outer = self._settings.outer
        self._options.progress.start(self._problem.name, self._warmup + outer * self._steps)
        self._options.progress.advance(self._taken)
        status: Status = "finished"
        while self._iteration <= outer:
            if not self._descend():
                status = "budget" if self._is_over() else "stopped"
                break
            if self._iteration > 0:
                self._ascend()
            self._iteration += 1
            self._step = 0
            self._losses.zero_()
            if self._is_over() and self._iteration <= outer:
                status = "budget"
                break
            self._save(
                due=(self._iteration > 1 or self._warmup > 0)
                and time.perf_counter() - self._saved_at >= max(self._options.save_every, SAVE_PAUSE * self._saving)
            )
        self._save(due=True)
        self._options.progress.finish(status)
        return self.ended(status)

    def ended(self, status: Status) -> Run:
        """What there is to be asked, as of now."""
        self._models.eval()
        timing = self._clock.timing(self._drawn, self._taken, len(self._history))
        training_sets, history = tuple(self._training_sets), tuple(self._history)
        return Run(self._problem, self._options, training_sets, status, history, timing, self._averages)

    def state(self) -> dict[str, Any]:
        """Everything that ``load_state`` needs to go on exactly from here; tensors are the live ones, not copies."""
        return {
            "identity": identity(self._problem, self._options, self._training_sets),
            "iteration": self._iteration,
            "step": self._step,
            "taken": self._taken,
            "drawn": self._drawn,
            "losses": self._losses,
            "worst": self._worst,
            "models": self._models.state_dict(),
            "descent": self._descent.state(),
            "lanes": {training_set.name: training_set.state() for training_set in self._training_sets},
            **({"averages": self._averages.state()} if self._averages is not None else {}),
            "clock": self._clock.state(),
            "random": self._placement.random_state(),
            "history": [line.model_dump(mode="json", by_alias=True) for line in self._history],
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from a saved state of the same problem; PD604 when it is another one."""
        known = state["identity"]
        for subject, expected in identity(self._problem, self._options, self._training_sets).items():
            # What this version adds is not asked of the states that earlier ones saved.
            if known.get(subject, self._options.identity.get(subject)) != expected:
                raise refuse("PD604", subject=subject)
        self._iteration = int(state["iteration"])
        self._step, self._taken, self._drawn = int(state["step"]), int(state["taken"]), int(state["drawn"])
        self._losses.copy_(state["losses"])
        self._worst = state["worst"]
        self._models.load_state_dict(state["models"])
        self._descent.load_state(state["descent"])
        for training_set in self._training_sets:
            training_set.load_state(state["lanes"][training_set.name])
        if self._averages is not None:
            self._averages.load_state(state["averages"])
        self._clock.load_state(state["clock"])
        self._placement.set_random_state(state["random"])
        self._history = [LogLine.model_validate(line) for line in state["history"]]
        self._saved = self._iteration - 1

    def adopt(self, state: Mapping[str, Any]) -> None:
        """Start from the weights of another run; multipliers come along where they have the same shape.

        A model that the other run does not have keeps its start; PD605 when one has another shape, or when
        none is in both.
        """
        own = self._models.state_dict()
        common = {
            name: tensor
            for name, tensor in state["models"].items()
            if name in own and not name.endswith("._extra_state")
        }
        if not common:
            raise refuse("PD605", models=", ".join(f"`{name}`" for name in self._models))
        for name, tensor in common.items():
            if tensor.shape != own[name].shape:
                raise refuse("PD605", weight=name, found=list(tensor.shape), expected=list(own[name].shape))
        self._models.load_state_dict(common, strict=False)
        for training_set in self._training_sets:
            if training_set.name in state["lanes"]:
                training_set.multipliers.adopt(state["lanes"][training_set.name]["multipliers"])
        if self._averages is not None and "averages" in state:
            self._averages.adopt(state["averages"])

    def _descend(self) -> bool:
        """The primal steps of an iteration; False when a stop was asked for."""
        steps = self._warmup if self._iteration == 0 else self._steps
        look = 1 if self._placement.is_cpu else LOOK_EVERY
        if self._step < steps:
            self._begin_averages()
        self._models.train()
        with self._clock.phase("primal"):
            while self._step < steps:
                if self._options.stop() or self._is_over():
                    return False
                self._losses += self.primal_step(self._step % look == 0 or self._step == steps - 1)
                self._step += 1
                self._taken += 1
                if self._taken % REPORT_EVERY == 0:
                    self._options.progress.advance(REPORT_EVERY)
        return True

    def _is_over(self) -> bool:
        """Whether the budget is spent."""
        return self._options.budget is not None and self._clock.total > self._options.budget

    def _begin_averages(self) -> None:
        """Know the averages exactly where no pass has shown them: before the first step of a run, and after the warm-up."""
        averages, warmed_up = self._averages, self._iteration == 1 and not self._step and self._warmup > 0
        if averages is None or not averages.data or (averages.ready and not warmed_up):
            return
        self._models.eval()
        with self._clock.phase("evaluation"):
            averaged = [item for item in self._training_sets if item.name in averages.data]
            self._look_at_averages({item.name: item.visit(()) for item in averaged})

    def _look_at_averages(self, passes: Mapping[str, EvaluationResult]) -> MeasuredAverages | None:
        """Take over passes over all train rows. Raises PD601 with the first row whose value is not finite, and PD608."""
        averages = self._averages
        if averages is None:
            return None
        for training_set in self._visited:
            if (
                training_set.name in averages.data
                and (rows := unaveraged(passes[training_set.name], training_set.table)) is not None
            ):
                place = [(training_set.program, training_set.table, rows)]
                raise diverged(self._models, place, self._iteration, self._step, self._saved)
        return averages.look(passes)

    def primal_step(self, look: bool = True) -> Tensor:
        """One descent step on one batch of every data set; its loss, but for squared norms of weights.

        ``look``: refuse (PD601, PD606) one that is not finite.
        """
        return self._descent.step(lambda: self._checked_loss(look))

    def _checked_loss(self, look: bool) -> Tensor:
        loss, batches = self._loss()
        if look and not isfinite(loss.item()):
            raise self._diverged(batches)
        return loss

    def _loss(self) -> tuple[Tensor, list[RowBatch]]:
        """The loss on one batch of every data set, with the terms that need no data; and the batches."""
        drawn = [draw(training_set, self._placement.mixed()) for training_set in self._training_sets]
        total = loss_of(drawn, self._averages, self._options, self._iteration == 0)
        self._drawn += sum(len(item.rows.ids) for item in drawn if item.training_set.name in self._counted)
        for term in self._terms:
            total = added(total, term.evaluate(self._models))
        if not isinstance(total, Tensor):  # an objective that is all decay
            total = self._placement.zeros()
        return total, [item.rows for item in drawn]

    def _ascend(self) -> None:
        """One evaluation pass over the train rows that are constrained or averaged over, the dual update, rho, and a line
        in the log.
        """
        self._models.eval()
        for multipliers in self._held():
            multipliers.step = self._settings.step_of(self._iteration)
        with self._clock.phase("evaluation"):
            passes = {
                training_set.name: training_set.visit(training_set.multipliers.reads) for training_set in self._visited
            }
            measured = [
                Measured(
                    training_set.program,
                    passes[training_set.name],
                    Violations.of(
                        passes[training_set.name], training_set.program.layout, training_set.multipliers.caps
                    ),
                )
                for training_set in self._visited
            ]
            averages = self._look_at_averages(passes)
        with self._clock.phase("dual"):
            updates = [training_set.multipliers.update(passes[training_set.name]) for training_set in self._constrained]
            if self._averages is not None and self._averages.data and averages is not None:
                updates.append(self._averages.update(averages.result))
        with self._clock.phase("evaluation"):
            line = log_line(
                self._iteration,
                self._taken,
                self._clock.total,
                float(self._descent.with_decay(self._losses / self._steps)),
                measured,
                averages,
                self._held(),
                updates,
            )
        self._schedule_rho(passes, averages)
        self._history.append(line)
        self._options.log(line)

    def _held(self) -> list[Multipliers]:
        """All multipliers in force: of rows, and of averages."""
        held = [training_set.multipliers for training_set in self._constrained]
        return held if self._averages is None or not self._averages.data else [*held, self._averages.multipliers]

    def _schedule_rho(self, passes: Mapping[str, EvaluationResult], averages: MeasuredAverages | None) -> None:
        """Raise rho when the worst scaled violation is above the tolerance and did not fall enough since the
        last iteration.
        """
        schedule = self._settings.rho_schedule
        if schedule is None:
            return
        worst = max(
            (training_set.multipliers.worst(passes[training_set.name]) for training_set in self._constrained),
            default=0.0,
        )
        if self._averages is not None and averages is not None:
            worst = max(worst, self._averages.multipliers.worst(averages.result))
        if self._worst is not None and worst > TOLERANCE and worst > schedule.every * self._worst:
            for multipliers in self._held():
                multipliers.lagrangian.raise_rho(schedule.factor, schedule.max)
        self._worst = worst

    def _save(self, due: bool) -> None:
        if self._options.save is None or not due:
            return
        start = time.perf_counter()
        self._options.save(self.state())
        self._saved = self._iteration - 1
        self._saved_at = time.perf_counter()
        self._saving = self._saved_at - start

    def _diverged(self, batches: list[RowBatch]) -> Exception:
        self._models.eval()
        rows = [
            (training_set.program, training_set.table, rows)
            for training_set, rows in zip(self._training_sets, batches, strict=True)
        ]
        return diverged(self._models, rows, self._iteration, self._step + 1, self._saved, first=self._taken == 0)

    def _refuse_nothing(self) -> None:
        if not self._weights:
            raise refuse("PD602", problem=self._problem.name)
        terms = self._problem.terms or any(training_set.has_objective for training_set in self._training_sets)
        if not self._visited and (self._options.feasibility or not terms):
            raise refuse("PD603", problem=self._problem.name)
        if not self._training_sets:
            raise refuse("PD609", problem=self._problem.name)
