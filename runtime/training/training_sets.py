"""One data set under way: its program and rows on the device, its stream of batches and its multipliers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from pdual.compiler.program import Evaluation, Program
from pdual.dsl.declarations.optimisers import OptimiserSettings
from pdual.dsl.declarations.solving import Shrinking
from pdual.runtime.data.groups import GroupTable, rows_in
from pdual.runtime.data.parts_of_groups import PartStream, strata_of_rows
from pdual.runtime.data.sampling import GroupStream, RowStream, Stream, generator
from pdual.runtime.data.tables import RowBatch, Table, with_groups
from pdual.runtime.duals.build import build_multipliers
from pdual.runtime.duals.multipliers import Multipliers
from pdual.runtime.evaluation.evaluate import evaluate
from pdual.runtime.evaluation.result import EvaluationResult
from pdual.runtime.optimisation.multiplier_step import Ascent, MultiplierStep
from pdual.runtime.problem.problem import Block, Options, Problem
from pdual.runtime.system.memory import check_room
from pdual.runtime.training.visits import Visits

#: An evaluation batch has this many times the rows of a training batch: no gradients are kept.
EVALUATION_BATCH = 4
#: Numbers that a step keeps of an entry of a batch: its residual, its gradient, and what they are made of.
BATCH_NUMBERS = 4
#: On a CPU at most so many numbers of its fields: 128 images of 28 x 28 take 0.28 ms each where 256 take 0.41.
EVALUATION_NUMBERS = 2**17


@dataclass(frozen=True)
class TrainingSet:
    """One data set of a run; ``train`` is the program's, compiled where that was asked for."""

    program: Program
    table: Table
    train: Callable[..., Any]
    stream: Stream
    multipliers: Multipliers
    visits: Visits
    shrinking: Shrinking | None
    evaluation_batch: int
    has_objective: bool
    groups: Tensor | None = None

    @property
    def name(self) -> str:
        """The data set's."""
        return self.program.data

    @property
    def train_rows(self) -> int:
        """How many rows of the data set are trained on, which groups have several of."""
        return rows_in(self.table, self.train_ids)

    @property
    def train_ids(self) -> Tensor:
        """The rows that are trained on."""
        return self.table.splits["train"]

    def draw(self) -> tuple[RowBatch, Tensor | None]:
        """The next batch, and the weights of its rows, [batch]; None where all are 1."""
        drawn = self.stream.draw()
        rows = self.table.batch(drawn.ids)
        return (rows if drawn.sizes is None else with_groups(rows, drawn.sizes)), drawn.weights

    def visit(self, keep: tuple[str, ...]) -> EvaluationResult:
        """The pass over the train rows of an outer iteration; the models must be in evaluation mode."""

        def run(ids: Tensor) -> EvaluationResult:
            groups = self.groups_of(ids)
            return evaluate(self.program, self.table, ids, self.evaluation_batch, self.multipliers, keep, groups=groups)

        found = self.visits.next(run)
        if self.shrinking is not None and isinstance(self.stream, RowStream):
            awake = self.multipliers.awake(found, self.shrinking.margin)
            self.visits.restrict(awake)
            self.stream.restrict(awake)
            self.multipliers.restrict(awake)
        return found

    def evaluate(self, split: str, keep: tuple[str, ...] = ()) -> EvaluationResult:
        """One pass over a split; the models must be in evaluation mode."""
        ids = self.table.splits[split]
        return evaluate(
            self.program,
            self.table,
            ids,
            self.evaluation_batch,
            self.multipliers,
            keep,
            split == "train",
            self.groups_of(ids),
        )

    def groups_of(self, ids: Tensor) -> Tensor | None:
        """The group of each of these rows, [n]; None where batches are not of groups."""
        return None if self.groups is None else self.groups[ids]

    def state(self) -> dict[str, object]:
        """Its stream, its visits and its multipliers."""
        return {
            "stream": self.stream.state(),
            "visits": self.visits.state(),
            "multipliers": self.multipliers.state(),
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from a saved state."""
        self.stream.load_state(state["stream"])
        self.visits.load_state(state["visits"])
        self.multipliers.load_state(state["multipliers"])


def build_training_sets(
    problem: Problem, options: Options, steps: Callable[[], MultiplierStep] = Ascent
) -> list[TrainingSet]:
    """A training set for every data set, on the device; the models are there already."""
    return [_training_set(problem, block, options, place, steps()) for place, block in enumerate(problem.blocks)]


def _training_set(problem: Problem, block: Block, options: Options, place: int, step: MultiplierStep) -> TrainingSet:
    descent = problem.settings.descent.settings
    assert isinstance(descent, OptimiserSettings)
    program, placement = block.program, options.placement
    for module in (
        program.train,
        program.evaluate,
        *([] if program.strata is None else [program.strata.kept]),
        *(plan.formula for plan in program.duals if plan.formula is not None),
    ):
        placement.place(module)
    table = block.table.to(placement.device, placement.dtype)
    train = table.splits["train"]
    groups = None if block.groups is None else block.groups.to(placement.device)
    probe = _probe(problem, program, table, train[:1])
    random = generator(options.seed, 1, place)
    stream: Stream
    drawn = descent.batch
    if isinstance(table, GroupTable):  # a batch counts rows
        drawn = max(1, round(descent.batch * len(train) / max(1, table.rows_in(train))))
    if groups is None:
        stream = RowStream(train, drawn, random, problem.settings.rest_share)
    elif descent.members is None:
        stream = GroupStream(train, groups[train], descent.batch, random)
    else:
        strata = strata_of_rows(program.strata, table, train, program.data)
        stream = PartStream(train, groups[train], strata, descent.members, descent.batch, random)
    multipliers = build_multipliers(
        program,
        table,
        problem.settings,
        problem.sizes,
        problem.knowns,
        probe.features,
        placement,
        options.seed + place,
    )
    multipliers.follow = step
    if placement.is_cpu:
        entries = drawn * program.layout.columns
        check_room(f"a batch of {drawn} rows of `{program.data}`", entries, BATCH_NUMBERS * placement.dtype.itemsize)
    run = torch.compile(program.train) if options.compile else program.train
    batch = options.evaluation_batch or _evaluation_batch(drawn, table.batch(train[:1]), placement.device)
    # A mean over all rows, as `shared` and a constraint on an average take, and a batch of whole groups need every row every time.
    whole = not multipliers.rests or block.groups is not None or program.means > 0
    shrinking = None if whole else problem.settings.shrinking
    visits = Visits(train, shrinking)
    objective = probe.objective is not None or probe.group_objective is not None
    return TrainingSet(program, table, run, stream, multipliers, visits, shrinking, batch, objective, groups)


def _evaluation_batch(batch: int, row: RowBatch, device: torch.device) -> int:
    """Rows that a pass without gradients takes at once; on a CPU fewer of large ones, whose activations would leave its cache."""
    rows = EVALUATION_BATCH * batch
    numbers = sum(values.numel() for values in row.values.values() if isinstance(values, Tensor))
    while device.type == "cpu" and rows > batch and rows * numbers > EVALUATION_NUMBERS:
        rows //= 2
    return rows


@torch.no_grad()
def _probe(problem: Problem, program: Program, table: Table, ids: Tensor) -> Evaluation:
    """What one row gives: the shapes of the features, and whether there is an objective."""
    problem.models.eval()
    rows = with_groups(table.batch(ids), [len(ids)])
    return Evaluation(*program.evaluate(rows.values, rows.ids))
