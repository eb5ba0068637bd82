"""Do multipliers tell what a row's constraints cost? Groups of held-out rows are imposed, and the problem is solved again.

Groups G of one size, whose mean predicted multipliers are spread evenly from the smallest to the largest that a group of rows which are
neighbours in the order of their multipliers has, are appended to the train rows S; S and G together, each row with weight 1 / |S and G|, are
solved from a warm start. What the objective on S rises by, against the same re-solve of S alone, stands beside the mean multiplier; random groups
are the control (method.md, "What is measured").

To first order, the increase is about the sum over G of lam g, over |S and G|, where g is by how much the first run's predictor misses the row. It
bounds nothing here: the perturbation function has P(u) >= P(0) - E[lam u] with u = [g]_+ on G (the paper's sensitivity lemma) for a convex
problem at optimal multipliers, and the multipliers of G are predicted, the runs end short of an optimum and networks are not convex.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev
from time import perf_counter
from typing import TYPE_CHECKING

from pdual.dsl.diagnostics import refuse
from pdual.resolving.answers import Answers
from pdual.resolving.plan import Answer, Plan, Task
from pdual.resolving.processes import Processes, command
from pdual.resolving.solving import Resolve

if TYPE_CHECKING:
    from torch import Tensor

    from pdual.restoring import Restored
    from pdual.runtime.training.training_sets import TrainingSet


NONE: Mapping[str, Path] = {}


@dataclass(frozen=True)
class Imposed:
    """One group: ``rows`` by address; its rows' mean multiplier, scaled; ``first_order``, the increase that their multipliers foretell;
    the increases by seed.

    ``before`` and ``after``: the mean over its rows of the largest violation of each, under the run and, by seed, as re-solved. Where
    much of it is left, the re-solves were too short for the increase to show.
    """

    kind: str
    rows: tuple[str, ...]
    multiplier: float
    first_order: float
    before: float
    increases: tuple[float, ...]
    after: tuple[float, ...]

    @property
    def increase(self) -> float:
        """The mean over seeds."""
        return fmean(self.increases)

    @property
    def interval(self) -> float | None:
        """Half the width of the 95 % confidence interval of the mean (Student's t); None with one seed."""
        if len(self.increases) < 2:
            return None
        from scipy.stats import t

        count = len(self.increases)
        return float(t.ppf(0.975, count - 1)) * stdev(self.increases) / sqrt(count)


@dataclass(frozen=True)
class Sensitivity:
    """``base``: objective of S re-solved alone, by seed; ``noise``: its standard deviation, None with one seed. ``spearman``: rank
    correlation of increase and multiplier over the groups by multiplier; slopes of the increase and of that estimate against it by least squares.
    """

    problem: str
    data: str
    split: str
    plan: Plan
    base: tuple[float, ...]
    noise: float | None
    groups: tuple[Imposed, ...]
    spearman: float | None
    slope: float | None
    slope_first_order: float | None


@dataclass(frozen=True)
class _Group:
    """One that is to be imposed: its rows' ids, and what an ``Imposed`` says of it beforehand."""

    kind: str
    ids: tuple[int, ...]
    rows: tuple[str, ...]
    multiplier: float
    first_order: float
    before: float


def sensitivity(
    restored: Restored,
    plan: Plan,
    split: str | None = None,
    told: Callable[[str], None] = lambda words: None,
    stop: Callable[[], bool] = lambda: False,
    jobs: int = 1,
    named: Mapping[str, Path] = NONE,
) -> Sensitivity:
    """Re-solve a run with groups of held-out rows imposed, ``jobs`` at a time; ``told`` what every re-solve came to. Answers are kept in
    the run's folder, and what is kept is not solved again. After ``stop`` the groups that are whole are what there is: a re-solve that
    was cut counts for nothing.

    Raises PD733 where no unseen row has a multiplier, PD734 where a group is larger than its split, and what a run raises.
    """
    training_set, split, plan, groups = _planned(restored, plan, split)
    tell = _Teller(told, plan, groups)
    ended = [
        tell(*answer)
        for answer in _answers(restored, training_set, split, plan, _asked(plan, groups), stop, jobs, named)
    ]
    return _concluded(restored, training_set, split, plan, groups, ended)


def resolve_one(restored: Restored, plan: Plan, number: int, split: str | None, stop: Callable[[], bool]) -> None:
    """Re-solve ``number`` of a plan alone, and keep its answer: what a process of ``jobs`` does. Raises what ``sensitivity`` does."""
    training_set, split, plan, groups = _planned(restored, plan, split)
    for _ in _answers(restored, training_set, split, plan, _asked(plan, groups)[number : number + 1], stop, jobs=1):
        pass


def _planned(restored: Restored, plan: Plan, split: str | None) -> tuple[TrainingSet, str, Plan, list[_Group]]:
    """Where the groups are taken from, the plan with its size, and the groups."""
    import torch

    torch.set_num_threads(restored.record.threads)
    training_set, split = _held_out(restored, split)
    return training_set, split, *_groups(restored, training_set, split, plan)


def _asked(plan: Plan, groups: Sequence[_Group]) -> list[Task]:
    """The re-solves in order: of the train rows alone, then of every group, each with all seeds."""
    return [Task(ids, seed) for ids in ((), *(group.ids for group in groups)) for seed in range(plan.seeds)]


def _answers(
    restored: Restored,
    training_set: TrainingSet,
    split: str,
    plan: Plan,
    asked: Sequence[Task],
    stop: Callable[[], bool],
    jobs: int,
    named: Mapping[str, Path] = NONE,
) -> Iterator[tuple[Answer, float | None]]:
    """What came of the re-solves in order, until ``stop``, each with the seconds it was waited for; None for what was there.

    What a process of its own leaves no answer for is solved here, so that what it met with is met with here.
    """
    kept, resolve = Answers(restored, training_set.name, plan), Resolve(restored, training_set, plan, stop)
    missing = [number for number, item in enumerate(asked) if kept(item) is None]
    apart = missing if jobs > 1 else []
    commands = [(number, command(restored.folder.path, plan, split, number, named)) for number in apart]
    with Processes(commands, jobs) as processes:
        for number, item in enumerate(asked):
            began = perf_counter()
            processes.wait(number, stop)
            answer = kept(item)
            if answer is None and not stop():
                answer = resolve(item)
                if answer is not None:
                    kept.keep(item, answer)
            if answer is None:
                return
            yield answer, perf_counter() - began if number in missing else None


class _Teller:
    """Says what came of one re-solve after another, of how many it was which, and in how many seconds."""

    def __init__(self, told: Callable[[str], None], plan: Plan, groups: Sequence[_Group]) -> None:
        self._told = told
        self._seeds = plan.seeds
        self._groups = groups
        self._ended: list[float] = []

    def __call__(self, answer: Answer, seconds: float | None) -> Answer:
        """One more, as it came."""
        place, seed = divmod(len(self._ended), self._seeds)
        objective = answer.objective
        self._ended.append(objective)
        if place == 0:
            words = f"the train rows alone, seed {seed}: objective {objective:.6g}"
        else:
            group, increase = self._groups[place - 1], objective - self._ended[seed]
            words = f"{group.kind}, mean multiplier {group.multiplier:.3g}, seed {seed}: increase {increase:.3g}"
        total = self._seeds * (1 + len(self._groups))
        self._told(f"{len(self._ended)} of {total}: {words} ({'kept' if seconds is None else f'{seconds:.0f} s'})")
        return answer


def _concluded(
    restored: Restored,
    training_set: TrainingSet,
    split: str,
    plan: Plan,
    groups: Sequence[_Group],
    ended: Sequence[Answer],
) -> Sensitivity:
    """``ended``: what came of the re-solves, in order; of the groups those that have all of their seeds count."""
    base, later = [item.objective for item in ended[: plan.seeds]], ended[plan.seeds :]
    imposed = []
    for place in range(len(later) // plan.seeds):
        group, own = groups[place], later[place * plan.seeds : (place + 1) * plan.seeds]
        increases = tuple(item.objective - alone for item, alone in zip(own, base, strict=True))
        after = tuple(item.violation for item in own)
        imposed.append(
            Imposed(group.kind, group.rows, group.multiplier, group.first_order, group.before, increases, after)
        )
    chosen = [item for item in imposed if item.kind == "by multiplier"]
    levels = [item.multiplier for item in chosen]
    return Sensitivity(
        problem=restored.record.problem,
        data=training_set.name,
        split=split,
        plan=plan,
        base=tuple(base),
        noise=stdev(base) if len(base) > 1 else None,
        groups=tuple(imposed),
        spearman=_spearman(levels, [item.increase for item in chosen]),
        slope=_slope(levels, [item.increase for item in chosen]),
        slope_first_order=_slope(levels, [item.first_order for item in chosen]),
    )


def _held_out(restored: Restored, split: str | None) -> tuple[TrainingSet, str]:
    """The first data set with unseen rows that have multipliers, and their split: the last one, which is the test split where there is one."""
    for training_set in restored.run.training_sets:
        names = [name for name, ids in training_set.table.splits.items() if name != "train" and len(ids)]
        chosen = split if split is not None else (names[-1] if names else None)
        if chosen not in names or not training_set.multipliers.active or training_set.program.groups_by is not None:
            continue
        if training_set.multipliers.generalises:
            return training_set, str(chosen)
    raise refuse("PD733", split=split)


def _groups(restored: Restored, training_set: TrainingSet, split: str, plan: Plan) -> tuple[Plan, list[_Group]]:
    """The groups of a plan, and the plan with its size."""
    import torch

    from pdual.runtime.drawings.draw import priced
    from pdual.runtime.evaluation.violations import Violations

    passed = training_set.evaluate(split)
    assert passed.multipliers is not None
    ids = passed.ids
    size = plan.sized(len(ids))
    if not 2 <= size < len(ids):
        raise refuse("PD734", size=size, split=split, rows=len(ids))
    live = passed.multipliers if passed.mask is None else torch.where(passed.mask, passed.multipliers, 0.0)
    price = priced(training_set.program.layout, live).double()
    costs = (live * passed.residuals.clamp(min=0)).double().sum(1)
    worst = Violations.of(passed, training_set.program.layout).largest().double()
    scale = restored.graph.objective_scale / (
        len(training_set.train_ids) + size
    )  # brings a scaled objective into its own units
    groups = []
    for kind, places in _places(price, plan, size):
        own = tuple(ids[places].tolist())
        rows = tuple(training_set.table.address(row) for row in own)
        first_order = float(costs[places].sum()) * scale
        groups.append(_Group(kind, own, rows, float(price[places].mean()), first_order, float(worst[places].mean())))
    return replace(plan, size=size), groups


def _places(price: Tensor, plan: Plan, size: int) -> list[tuple[str, Tensor]]:
    """Positions of the ``size`` rows of every group; the random ones are drawn with seed 0."""
    import torch

    order = torch.argsort(price, stable=True)
    sums = torch.cat([price.new_zeros(1), price[order].cumsum(0)])
    means = (sums[size:] - sums[:-size]) / size
    levels = torch.linspace(float(means[0]), float(means[-1]), plan.groups, dtype=means.dtype)
    starts = list(dict.fromkeys(int((means - level).abs().argmin()) for level in levels))
    chosen = [("by multiplier", order[start : start + size]) for start in starts]
    random = torch.Generator().manual_seed(0)
    for _ in range(plan.random):
        chosen.append(("random", torch.randperm(len(price), generator=random)[:size]))
    return chosen


def _spearman(levels: Sequence[float], increases: Sequence[float]) -> float | None:
    from scipy.stats import spearmanr

    if len(set(levels)) < 2 or len(set(increases)) < 2:
        return None
    return float(spearmanr(levels, increases).statistic)


def _slope(levels: Sequence[float], increases: Sequence[float]) -> float | None:
    if len(set(levels)) < 2:
        return None
    middle, mean = fmean(levels), fmean(increases)
    spread = sum((level - middle) ** 2 for level in levels)
    return sum((x - middle) * (y - mean) for x, y in zip(levels, increases, strict=True)) / spread
