"""Do multipliers tell what a row's constraints cost? Groups of held-out rows are imposed, and the problem is solved again.

Groups G of one size, whose mean predicted multipliers are spread evenly from the smallest to the largest that a group of rows which are
neighbours in the order of their multipliers has, are appended to the train rows S; S and G together, each row with weight 1 / |S and G|, are
solved from a warm start. What the objective on S rises by, against the same re-solve of S alone, stands beside the mean multiplier; random groups
are the control (method.md, "What is measured").

To first order, the increase is at most the sum over G of lam g, over |S and G|, where g is by how much the first run's predictor misses the row:
the perturbation function P(u) >= P(0) - E[lam u] with u = [g]_+ on G (the paper's sensitivity lemma).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev
from time import perf_counter
from typing import TYPE_CHECKING

from pdual.dsl.diagnostics import refuse

if TYPE_CHECKING:
    from torch import Tensor

    from pdual.restoring import Restored
    from pdual.runtime.lanes import Lane
    from pdual.runtime.problem import Problem

#: Re-solves take shorter steps than the run did, whose weights they start from. Of re-solves with groups of one size the order of the
#: rows is the same, so that they differ by their groups alone as long as steps are short enough not to magnify rounding: random groups
#: of 100 beside 6,000 MNIST images differ by 0.05 at 0.3, and by 0.004 at 0.1.
RATE = 0.1


@dataclass(frozen=True)
class Plan:
    """``groups`` by multiplier and ``random`` ones of ``size`` rows each, re-solved with seeds 0 to ``seeds`` - 1 in ``outer`` iterations.

    Without a size, a group has a tenth of the rows it is taken from. ``epochs`` of descent make an iteration, the spec's own without;
    ``rate``: the descent's learning rate, as a share of the spec's.
    """

    groups: int
    random: int
    size: int | None
    seeds: int
    outer: int
    epochs: float | None = None
    rate: float = RATE

    def sized(self, rows: int) -> int:
        """Rows of a group that is taken from so many."""
        return max(2, rows // 10) if self.size is None else self.size


@dataclass(frozen=True)
class Imposed:
    """One group: ``rows`` by address; its rows' mean multiplier, scaled; the first-order bound of the increase; the increases by seed."""

    kind: str
    rows: tuple[str, ...]
    multiplier: float
    bound: float
    increases: tuple[float, ...]

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
    correlation of increase and multiplier over the groups by multiplier; slopes of increase and bound against it by least squares.
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
    slope_bound: float | None


def sensitivity(
    found: Restored,
    plan: Plan,
    split: str | None = None,
    told: Callable[[str], None] = lambda words: None,
    stop: Callable[[], bool] = lambda: False,
) -> Sensitivity:
    """Re-solve a run with groups of held-out rows imposed; ``told`` what every re-solve came to. After ``stop`` the groups that are
    whole are what there is: a re-solve that was cut counts for nothing. Raises PD733 where no unseen row has a multiplier, PD734 where
    a group is larger than its split, and what a run raises.
    """
    import torch

    lane, split = _held_out(found, split)
    passed = lane.evaluate(split)
    assert passed.multipliers is not None
    ids = passed.ids
    size = plan.sized(len(ids))
    plan = replace(plan, size=size)
    if not 2 <= size < len(ids):
        raise refuse("PD734", size=size, split=split, rows=len(ids))
    from pdual.runtime.drawings.drawing import priced

    live = passed.multipliers if passed.mask is None else torch.where(passed.mask, passed.multipliers, 0.0)
    price = priced(lane.program.layout, live).double()
    costs = (live * passed.residuals.clamp(min=0)).double().sum(1)
    total = len(lane.train_ids) + size
    resolve = _Resolve(found, lane, plan, stop)
    groups = _groups(price, plan, size)
    tell = _Count(told, plan.seeds * (1 + len(groups)))
    base: list[float] = []
    for seed in range(plan.seeds):
        objective = resolve(ids[:0], seed)
        if stop():
            return _concluded(found, lane, split, plan, base, [])
        base.append(objective)
        tell(f"the train rows alone, seed {seed}: objective {objective:.6g}")
    imposed: list[Imposed] = []
    for kind, places in groups:
        level = float(price[places].mean())
        increases = []
        for seed in range(plan.seeds):
            objective = resolve(ids[places], seed)
            if stop():
                return _concluded(found, lane, split, plan, base, imposed)
            increases.append(objective - base[seed])
            tell(f"{kind}, mean multiplier {level:.3g}, seed {seed}: increase {increases[-1]:.3g}")
        rows = tuple(lane.table.address(int(row)) for row in ids[places])
        bound = float(costs[places].sum()) / total * resolve.scale
        imposed.append(Imposed(kind, rows, level, bound, tuple(increases)))
    return _concluded(found, lane, split, plan, base, imposed)


class _Count:
    """Says what came of one re-solve after another, of how many it was which, and in how many seconds."""

    def __init__(self, told: Callable[[str], None], total: int) -> None:
        self._told = told
        self._total = total
        self._done = 0
        self._last = perf_counter()

    def __call__(self, words: str) -> None:
        """One more."""
        self._done += 1
        before, self._last = self._last, perf_counter()
        self._told(f"{self._done} of {self._total}: {words} ({self._last - before:.0f} s)")


def _concluded(
    found: Restored, lane: Lane, split: str, plan: Plan, base: Sequence[float], imposed: Sequence[Imposed]
) -> Sensitivity:
    own = [item for item in imposed if item.kind == "by multiplier"]
    levels = [item.multiplier for item in own]
    return Sensitivity(
        problem=found.record.problem,
        data=lane.name,
        split=split,
        plan=plan,
        base=tuple(base),
        noise=stdev(base) if len(base) > 1 else None,
        groups=tuple(imposed),
        spearman=_spearman(levels, [item.increase for item in own]),
        slope=_slope(levels, [item.increase for item in own]),
        slope_bound=_slope(levels, [item.bound for item in own]),
    )


def _held_out(found: Restored, split: str | None) -> tuple[Lane, str]:
    """The first data set with unseen rows that have multipliers, and their split: the last one, which is the test split where there is one."""
    for lane in found.run.lanes:
        names = [name for name, ids in lane.table.splits.items() if name != "train" and len(ids)]
        chosen = split if split is not None else (names[-1] if names else None)
        if chosen not in names or not lane.multipliers.active or lane.program.groups_by is not None:
            continue
        if lane.multipliers.generalises:
            return lane, str(chosen)
    raise refuse("PD733", split=split)


def _groups(price: Tensor, plan: Plan, size: int) -> list[tuple[str, Tensor]]:
    """Positions of the ``size`` rows of every group; the random ones are drawn with seed 0."""
    import torch

    order = torch.argsort(price, stable=True)
    sums = torch.cat([price.new_zeros(1), price[order].cumsum(0)])
    means = (sums[size:] - sums[:-size]) / size
    levels = torch.linspace(float(means[0]), float(means[-1]), plan.groups, dtype=means.dtype)
    starts = list(dict.fromkeys(int((means - level).abs().argmin()) for level in levels))
    found = [("by multiplier", order[start : start + size]) for start in starts]
    random = torch.Generator().manual_seed(0)
    for _ in range(plan.random):
        found.append(("random", torch.randperm(len(price), generator=random)[:size]))
    return found


class _Resolve:
    """Solves the problem again with some rows added; ``scale`` brings a scaled objective into its own units."""

    def __init__(self, found: Restored, lane: Lane, plan: Plan, stop: Callable[[], bool]) -> None:
        self._found = found
        self._lane = lane
        self._plan = plan
        self._stop = stop
        self._state = found.folder.load()
        self.scale = found.graph.objective_scale

    def __call__(self, extra: Tensor, seed: int) -> float:
        """The objective on the train rows of the run, in its own units, as solved with the rows ``extra`` ([m] ids) imposed."""
        import torch

        from pdual.runtime.evaluation import evaluate
        from pdual.runtime.extended import Extended
        from pdual.runtime.metrics import objective
        from pdual.runtime.prepare import prepare
        from pdual.runtime.solver import solve

        torch.manual_seed(seed)
        tables = dict(self._found.tables)
        tables[self._lane.name] = Extended(tables[self._lane.name], extra)
        dtype = self._found.run.options.dtype
        problem = self._shorter(prepare(self._found.graph, tables, dtype, {}))
        options = replace(self._found.run.options, seed=seed, budget=None, stop=self._stop)
        run = solve(problem, options, initial=self._state)
        total = problem.free_objective()
        if options.feasibility:
            return float(total)
        for lane in run.lanes:
            ids = self._found.tables[lane.name].splits["train"].to(lane.train_ids.device)
            passed = evaluate(lane.program, lane.table, ids, lane.evaluation_batch, groups=lane.groups_of(ids))
            total += objective(lane.program, passed) or 0.0
        return float(total)

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


def draw(found: Sensitivity, path: Path) -> None:
    """The increases over the mean multipliers, with confidence intervals, the random groups and the noise, as SVG. Raises OSError."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.0, 3.8), layout="constrained")
    axes = figure.subplots()
    if found.noise is not None:
        axes.axhspan(
            -2 * found.noise, 2 * found.noise, color="#999999", alpha=0.25, linewidth=0, label="re-solve noise, ±2 sd"
        )
    for kind, colour, marker in (("by multiplier", "#0072B2", "o"), ("random", "#D55E00", "s")):
        own = [item for item in found.groups if item.kind == kind]
        errors = [item.interval or 0.0 for item in own]
        places, heights = [item.multiplier for item in own], [item.increase for item in own]
        axes.errorbar(
            places,
            heights,
            errors,
            fmt=marker,
            color=colour,
            capsize=3,
            label=f"groups {kind}" if kind != "random" else "random groups",
        )
    bounded = sorted((item.multiplier, item.bound) for item in found.groups if item.kind == "by multiplier")
    axes.plot(*zip(*bounded, strict=True), color="#009E73", linestyle="--", label="first order, sum of lam g")
    axes.set_xlabel("mean multiplier of the group's rows, scaled")
    axes.set_ylabel("increase of the objective")
    axes.legend(fontsize=8, frameon=False)
    figure.savefig(path, format="svg", metadata={"Date": None})
