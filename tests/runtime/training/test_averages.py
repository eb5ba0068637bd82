"""Constraints on averages: optima and multipliers of CVXPY, estimates between passes, and runs that are gone on with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from small_averages import REGRESSION, ROWS, begun, optimum, prepared, rows, solved, write
from small_problems import after, recorded
from torch import Tensor

from pdual.compiler.program import Evaluation
from pdual.dsl.diagnostics import Refusal
from pdual.runtime.data.features import FeatureCache
from pdual.runtime.evaluation.result import EvaluationResult
from pdual.runtime.optimisation.placement import Placement
from pdual.runtime.problem.problem import Options, Problem
from pdual.runtime.storage.folder import RunFolder
from pdual.runtime.storage.packing import pack
from pdual.runtime.training.averages import Averages, MeansOf
from pdual.runtime.training.run import Run
from pdual.runtime.training.solver import Solver, solve
from pdual.runtime.training.training_sets import build_training_sets

FULL = "outer = 25, rho = 10, descent = sgd(lr = 0.012, batch = 1000, steps = 30, momentum = 0.7)"
BATCHES = "outer = 25, rho = 10, descent = sgd(lr = 0.01, batch = 16, epochs = 8, schedule = cosine(final = 0.05))"
ONCE = "outer = 1, rho = 2, descent = sgd(lr = 0.05, batch = 1000, steps = 200, momentum = 0.8)"
FEW = "outer = 2, rho = 2, descent = sgd(lr = 0.01, batch = 8, epochs = 1)"
AVERAGES = ("low", "gap.lower", "gap.upper", "level", "idle")

ONE = """problem one "one average"
data d = csv("d.csv", split = [1, 0, 0]) { x: real[5], y: real, one: bool }
model f(x: real[5]) -> real = linear()
subject to low: mean[r in d](f(r.x)) <= -0.2
dual low = KIND
over r in d { minimize (f(r.x) - r.y)^2 }
solve { SOLVE }
"""


@pytest.fixture
def here(tmp_path: Path) -> Path:
    write(tmp_path)
    return tmp_path


def prices(run: Run) -> dict[str, float]:
    """Multipliers in the problem's units by part."""
    found = run.split(run.measure("train")).averages
    return {name: item.price for name, item in found.items() if item.price is not None}


@pytest.mark.parametrize(("settings", "within"), [(FULL, 1e-3), (BATCHES, 2e-2)], ids=["all rows", "batches"])
def test_optimum_and_multipliers_are_those_of_a_convex_solver(here: Path, settings: str, within: float) -> None:
    run, wanted = solved(prepared(here, REGRESSION, settings)), optimum()
    train = run.split(run.measure("train"))
    assert train.objective == pytest.approx(wanted["objective"], abs=within)
    found = prices(run)
    assert {name: found[name] for name in AVERAGES} == pytest.approx(
        {name: float(np.ravel(wanted[name])[0]) for name in AVERAGES}, abs=within
    )
    passed = next(training_set for training_set in run.training_sets if training_set.name == "d").evaluate("train")
    assert passed.multipliers is not None
    on_rows = passed.multipliers[passed.ids.argsort(), 0]
    torch.testing.assert_close(on_rows, torch.tensor(wanted["top"] * ROWS), rtol=0, atol=60 * within)


def test_what_is_measured_is_what_numpy_says(here: Path) -> None:
    run = solved(prepared(here, REGRESSION, FEW))
    model = run.problem.models["f"]
    x, _, one, other = rows()
    with torch.no_grad():
        said, over = (model({"x": torch.tensor(values)}).outputs[""].numpy() for values in (x, other))
    found = run.split(run.measure("train"))
    inside, outside = said[one].mean(), said[~one].mean()
    assert found.averages["low"].means == pytest.approx((inside,))
    assert found.averages["low"].residual == pytest.approx(inside + 0.2)
    assert found.averages["gap.lower"].means == pytest.approx((inside, outside))
    assert found.averages["gap.lower"].residual == pytest.approx(0.02 - (inside - outside))
    assert found.averages["gap.upper"].unit == "range"
    assert found.averages["gap.upper"].violation == pytest.approx(max(0.0, inside - outside - 0.3) / 0.28)
    assert found.averages["level"].residual == pytest.approx(2 * over.mean() - 0.5)
    assert found.averages["idle"].means == pytest.approx((np.square(said).mean(),))
    assert set(found.families) == {"top", "low", "gap", "level", "idle"}
    assert found.families["low"].violated == (1.0 if inside + 0.2 > 1e-3 else 0.0)
    line = run.history[-1]  # before the last update of the multipliers, and at the same weights
    assert line.averages["low"].residual == found.averages["low"].residual
    held = run.problem.averages
    assert held is not None
    stepped = {n: (line.averages[n].multiplier or 0.0) for n in AVERAGES}
    for name, part in zip(AVERAGES, held.layout.parts, strict=True):
        step = stepped[name] + 2 * line.averages[name].residual / part.scale[0]
        clipped = max(-50.0 if name == "level" else 0.0, min(1.0 if name == "idle" else 50.0, step))
        assert found.averages[name].multiplier == pytest.approx(clipped), name


def test_a_penalty_keeps_rho_and_none_drops_the_constraint(here: Path) -> None:
    """The stationary point of objective + rho / 2 G^2 has c = rho G; without the constraint it is least squares."""
    x, y, _, _ = rows()
    full = np.column_stack([x, np.ones(ROWS)])
    for kind, overrides in (("penalty", None), ("shared(cap = 9)", {"*": "penalty"})):
        run = solved(prepared(here, ONE.replace("KIND", kind), ONCE, overrides))
        mean = full.mean(0)
        wanted = np.linalg.solve(
            2 * full.T @ full / ROWS + 2 * np.outer(mean, mean), 2 * full.T @ y / ROWS - 2 * 0.2 * mean
        )
        found = run.split(run.measure("train")).averages["low"]
        assert found.means[0] == pytest.approx(mean @ wanted, abs=1e-6)
        assert found.multiplier == 0.0
    for kind, overrides in (("none", None), ("shared(cap = 9)", {"low": "none"})):
        run = solved(prepared(here, ONE.replace("KIND", kind), ONCE, overrides))
        best = np.linalg.lstsq(full, y, rcond=None)[0]
        found = run.split(run.measure("train")).averages["low"]
        assert found.means[0] == pytest.approx(float(full.mean(0) @ best), abs=1e-6)
        assert found.multiplier is None


def test_few_rows_push_nothing_where_the_average_is_met(here: Path) -> None:
    """G = -0.1 while the mean of a batch is off by 0.6: psi of such means would push at every other step, and move the optimum."""
    x, y, _, _ = rows()
    full = np.column_stack([x, np.ones(ROWS)])
    best = np.linalg.lstsq(full, y, rcond=None)[0]
    spec = ONE.replace("<= -0.2", f"<= {full.mean(0) @ best + 0.1}").replace("KIND", "shared(cap = 9)")
    settings = "outer = 4, rho = 10, descent = sgd(lr = 0.02, batch = 3, epochs = 10, schedule = cosine())"
    run = solved(prepared(here, spec, settings))
    assert (full @ best)[:3].std() > 0.5
    assert run.split(run.measure("train")).averages["low"].multiplier == 0.0
    with torch.no_grad():
        said = run.problem.models["f"]({"x": torch.tensor(x)}).outputs[""].numpy()
    assert np.square(said - y).mean() == pytest.approx(np.square(full @ best - y).mean(), abs=2e-3)


def test_tables_and_networks_of_multipliers_leave_an_average_shared(here: Path) -> None:
    given = prepared(here, REGRESSION, FEW, {"*": "pointwise"})
    assert given.averages is not None
    assert [plan.kind for plan in given.averages.duals] == ["shared"] * 4
    dropped = prepared(here, REGRESSION, FEW, {"*": "none"})
    assert dropped.averages is not None
    assert [plan.kind for plan in dropped.averages.duals] == ["none"] * 4
    run = solved(dropped)
    assert run.history[-1].averages == {}  # nothing that is constrained: no pass over rows
    assert run.split(run.measure("train")).averages["low"].multiplier is None


def test_a_cap_is_kept_and_told(here: Path) -> None:
    spec = REGRESSION.replace("shared(cap = 50)", "shared(cap = 0.25)")
    run = solved(prepared(here, spec, FEW.replace("rho = 2", "rho = 20")))
    from pdual.runtime.runs.verdict import lines, verdict

    found = run.split(run.measure("train")).averages["low"]
    assert found.multiplier == 0.25
    assert found.at_cap
    said = lines(verdict(run, {"train": run.measure("train")}))
    assert "the multiplier of low is at its cap" in said
    assert any(line.startswith("train: low, an average, is missed by") for line in said)


# --- between two passes ---------------------------------------------------------------------------------------


def looked(values: Tensor, kept: Tensor | None = None) -> EvaluationResult:
    ids = torch.arange(len(values))
    return EvaluationResult(
        ids, None, values.new_zeros(len(values), 0), None, None, {}, FeatureCache(), averaged=values, kept=kept
    )


def batch(averaged: Tensor, kept: Tensor | None = None) -> Evaluation:
    return Evaluation(None, averaged[:, :0], None, {}, {}, None, averaged, kept)


def test_what_does_not_move_is_known_exactly_whatever_is_drawn() -> None:
    values = torch.randn(40, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    kept = values > -0.5
    values = torch.where(kept, values, 0.0)
    means = MeansOf(torch.arange(40), 2, torch.float64)
    means.look(looked(values, kept))
    for ids in torch.randint(0, 40, (50, 4), generator=torch.Generator().manual_seed(2)):
        means.follow(ids, batch(values[ids], kept[ids]), 4.0)
    torch.testing.assert_close(means.value / means.share, values.sum(0) / kept.sum(0), rtol=0, atol=1e-12)


def test_what_moves_is_followed() -> None:
    """All rows move by about the same: the estimate is as far off as that differs, not as the values do."""
    source = torch.Generator().manual_seed(3)
    values = 10 * torch.randn(400, 1, dtype=torch.float64, generator=source)
    moved = values + 1 + 0.1 * torch.randn(400, 1, dtype=torch.float64, generator=source)
    means = MeansOf(torch.arange(400), 1, torch.float64)
    means.look(looked(values))
    for ids in torch.randperm(400, generator=source).view(-1, 4):
        means.follow(ids, batch(moved[ids]), 4.0)
    assert float(means.value) == pytest.approx(float(moved.mean()), abs=0.05)  # a batch's own mean: +- 5


def test_a_batch_of_all_rows_is_exact_at_once() -> None:
    means = MeansOf(torch.arange(5), 1, torch.float64)
    means.look(looked(torch.zeros(5, 1, dtype=torch.float64)))
    means.follow(torch.arange(5), batch(torch.arange(5.0, dtype=torch.float64)[:, None]), 5.0)
    assert float(means.value) == pytest.approx(2.0)


def test_steps_of_an_epoch_add_up_to_the_gradient_at_all_rows(here: Path) -> None:
    """With weights that do not move, batches give the gradient of psi(G, lam) that all rows give, for every constraint."""
    given = prepared(here, REGRESSION, "outer = 1, rho = 1, descent = sgd(lr = 1e-30, batch = 8)")
    solver, averages = begun(given, level=0.7)
    weights = list(given.models["f"].parameters())
    for weight in weights:
        weight.grad = None
    total: Any = [torch.zeros_like(weight) for weight in weights]
    steps = 0
    while steps < ROWS // 8 * 5:  # whole epochs of both data sets: 6 batches of 8, 5 of 2 x 8 rows
        loss, _ = solver._loss()
        found = torch.autograd.grad(loss, weights)
        total = [a + b for a, b in zip(total, found, strict=True)]
        steps += 1
    wanted = _gradient(given, averages)
    for found_, want in zip(total, wanted, strict=True):
        torch.testing.assert_close(found_ / steps, want, rtol=1e-9, atol=1e-12)


def _gradient(given: Problem, averages: Averages) -> list[Tensor]:
    """Of the sum of psi(G, lam) and of mean psi(top), by hand: rho = 1, lam = 0 but for low, whose is 0.7."""
    x, _, one, other = (torch.tensor(item) for item in rows())
    f = given.models["f"]
    said, over = (f({"x": values}).outputs[""] for values in (x, other))
    gap = said[one].mean() - said[~one].mean()
    low, lower, upper = said[one].mean() + 0.2, (0.02 - gap) / 0.28, (gap - 0.3) / 0.28
    level, idle = 2 * over.mean() - 0.5, said.square().mean() - 100
    total = 0.5 * (0.7 + low).relu().square() + 0.5 * level.square() + 0.5 * idle.relu().square()
    total = total + 0.5 * lower.relu().square() + 0.5 * upper.relu().square()
    total = total + (0.5 * (said - 1.2).relu().square()).mean()
    return list(torch.autograd.grad(total, list(f.parameters())))


# --- going on -------------------------------------------------------------------------------------------------

SHORT = "outer = 3, rho = 2, warmup = 1, rho_schedule = growth(factor = 1.5, every = 0.9), descent = adam(lr = 0.02, batch = 9, epochs = 1)"


class Ends:
    """The state of a run that ended, flat."""

    def __init__(self) -> None:
        self.tensors: dict[str, Tensor] = {}
        self.document: Any = None

    def keep(self, state: Any) -> None:
        tensors, self.document = pack({k: v for k, v in state.items() if k not in ("clock", "history")})
        self.tensors = {name: tensor.clone() for name, tensor in tensors.items()}


@pytest.mark.parametrize("stops", [(1,), (6,), (8, 5), (1, 1, 12)], ids=str)
def test_going_on_is_never_having_stopped(stops: tuple[int, ...], here: Path, tmp_path: Path) -> None:
    whole, pieces = Ends(), Ends()
    finished = solve(
        prepared(here, REGRESSION, SHORT), Options(placement=Placement(precision="float64"), save=whole.keep)
    )
    folder = RunFolder.create(tmp_path / "run", "spec", recorded())
    for count, calls in enumerate(stops):
        state = folder.load() if count else None
        options = Options(placement=Placement(precision="float64"), save=folder.save, stop=after(calls))
        assert solve(prepared(here, REGRESSION, SHORT), options, resume=state).status == "stopped"
    ending = Options(placement=Placement(precision="float64"), save=pieces.keep)
    last = solve(prepared(here, REGRESSION, SHORT), ending, resume=folder.load())
    assert last.status == finished.status == "finished"
    assert [name for name, value in whole.tensors.items() if not torch.equal(value, pieces.tensors[name])] == []
    assert any(name.startswith("averages") for name in whole.tensors)
    assert pieces.document == whole.document
    lines = [line.model_dump(exclude={"seconds"}) for line in finished.history]
    assert [line.model_dump(exclude={"seconds"}) for line in last.history] == lines


def test_multipliers_of_averages_are_taken_over_from_another_run(here: Path) -> None:
    states: list[Any] = []
    solve(prepared(here, REGRESSION, SHORT), Options(placement=Placement(precision="float64"), save=states.append))
    solver = Solver(prepared(here, REGRESSION, SHORT), Options(placement=Placement(precision="float64")))
    solver.adopt(states[-1])
    averages = solver._averages
    assert averages is not None
    own = averages.level[0, :1]
    assert torch.equal(own, states[-1]["averages"]["multipliers"]["stores"][0]["level"])


def test_another_way_of_holding_them_is_another_run(here: Path) -> None:
    states: list[Any] = []
    solve(prepared(here, REGRESSION, SHORT), Options(placement=Placement(precision="float64"), save=states.append))
    with pytest.raises(Refusal) as refusal:
        solve(
            prepared(here, REGRESSION, SHORT, {"low": "penalty"}),
            Options(placement=Placement(precision="float64")),
            resume=states[-1],
        )
    assert refusal.value.diagnostics[0].code == "PD604"


# --- data that are not as they should be ------------------------------------------------------------------------


def test_a_mean_over_no_row_is_refused(here: Path) -> None:
    spec = REGRESSION.replace("where r.one](f(r.x)) <= -0.2", "where r.y > 1000](f(r.x)) <= -0.2")
    with pytest.raises(Refusal) as refusal:
        solved(prepared(here, spec, FEW))
    assert refusal.value.diagnostics[0].code == "PD608"


def test_a_split_without_rows_that_count_has_no_number(here: Path) -> None:
    given = prepared(here, REGRESSION, FEW)
    blocks = []
    for block in given.blocks:
        table = block.table
        if table.splits["train"].numel() == ROWS:  # half of d is unseen, and none of it counts for `low` and `gap`
            one = torch.tensor(rows()[2])
            table = replace(table, splits={"train": torch.arange(ROWS), "test": (~one).nonzero()[:, 0]})
        blocks.append(replace(block, table=table))
    run = solved(replace(given, blocks=tuple(blocks)))
    measured = run.split(run.measure("test"))
    assert set(measured.averages) == {"idle"}
    assert set(measured.families) == {"top", "idle"}


def test_the_row_whose_value_is_not_finite_is_named(here: Path) -> None:
    y = rows()[1]
    spec = REGRESSION.replace("f(r.x)^2) <= 100", f"log(r.y - {y.min()}) * f(r.x)) <= 100")
    with pytest.raises(Refusal) as refusal:
        solved(prepared(here, spec, FEW))
    (said,) = refusal.value.diagnostics
    assert said.code == "PD601"
    assert dict(said.facts)["address"] == f"average[{y.argmin()}]"


def test_rows_at_rest_are_visited_all_the_same_where_they_are_averaged_over(here: Path) -> None:
    given = prepared(here, REGRESSION, FEW + ", shrinking = shrink(every = 5)")
    training_sets = build_training_sets(given, Options(placement=Placement(precision="float64")))
    assert [training_set.shrinking for training_set in training_sets] == [None, None]
