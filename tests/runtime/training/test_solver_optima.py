"""Algorithm 1 finds the optimum and the multipliers that a closed form or an independent convex solver gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import cvxpy
import numpy as np
import pytest
import torch
from small_problems import (
    Body,
    Free,
    learned,
    multipliers,
    part,
    plan,
    problem,
    sgd,
    solved,
    table,
)
from torch import Tensor, nn

from pdual.compiler.layout import Layout, Sense
from pdual.compiler.program import DualPlan
from pdual.dsl.declarations.solving import SolveSettings
from pdual.runtime.training.run import Run

ROWS = 6
#: min 1/2 |x - t|^2 + coupling, per row: two inequalities, a two-sided box, an equality.
QUADRATIC = torch.tensor([[2.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 1.5]], dtype=torch.float64)
MIXED = Layout(
    "d",
    (part("budget"), part("box", "lower", 3), part("box", "upper", 3), part("total", sense=Sense.EQUAL)),
)


def mixed_body(x: Tensor, values: Mapping[str, Tensor]) -> Any:
    """x >= -0.5, x <= 0.6, x0 + 2 x1 - x2 <= 0.3, x0 + x1 + x2 == 0.3 z0, which every row can meet."""
    z = values["z"]
    objective = 0.5 * ((x @ QUADRATIC) * x).sum(1) - (z * x).sum(1)
    budget = x[:, :1] + 2 * x[:, 1:2] - x[:, 2:3] - 0.3
    total = x.sum(1, keepdim=True) - 0.3 * z[:, :1]
    return objective, torch.cat([budget, -0.5 - x, x - 0.6, total], 1), None


def mixed_optimum(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Optimum and multipliers of one row, from CVXPY; L = objective + sum of multiplier * (left - right)."""
    x = cvxpy.Variable(3)
    constraints = [x[0] + 2 * x[1] - x[2] <= 0.3, -0.5 - x <= 0, x - 0.6 <= 0, cvxpy.sum(x) == 0.3 * z[0]]
    goal = cvxpy.Minimize(0.5 * cvxpy.quad_form(x, QUADRATIC.numpy()) - z @ x)
    cvxpy.Problem(goal, constraints).solve(solver=cvxpy.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    return x.value, np.concatenate([np.atleast_1d(item.dual_value) for item in constraints])


def rows_of(count: int = ROWS, width: int = 3, seed: int = 0) -> Tensor:
    return torch.randn(count, width, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def settings(**changes: Any) -> SolveSettings:
    """Gradient descent on all rows at once; a row's own step is lr / rows."""
    given = {"outer": 25, "rho": 10.0, "descent": sgd(ROWS * 0.012, steps=150, momentum=0.9), **changes}
    return SolveSettings(**given)


def run_free(
    body: Body, layout: Layout, plans: tuple[DualPlan, ...], z: Tensor, width: int, **changes: Any
) -> tuple[Run, Tensor]:
    model = Free(len(z), width)
    run = solved(problem(body, table(z), layout, plans, model, settings(**changes)))
    return run, model.x.detach()


@pytest.mark.parametrize("kind", ["pointwise", "hybrid"])
def test_numbers_for_every_row_find_its_optimum_and_its_multipliers(kind: str) -> None:
    z = rows_of()
    run, x = run_free(mixed_body, MIXED, (plan(kind, MIXED),), z, 3)
    found = multipliers(run)
    tight = 0
    for row in range(ROWS):
        optimum, prices = mixed_optimum(z[row].numpy())
        np.testing.assert_allclose(x[row].numpy(), optimum, atol=1e-4)
        np.testing.assert_allclose(found[row].numpy(), prices, atol=1e-4)
        tight += int((prices[:7] > 1e-3).sum())
    assert 5 < tight < 7 * ROWS  # the problem has slack and tight constraints
    assert run.history[-1].violation_max < 1e-4


def test_one_shared_number_serves_rows_whose_constraints_cost_the_same() -> None:
    """min 1/2 (x - z)^2 subject to x <= z - 0.7: lam = 0.7 on every row; and x == ..., with either sign."""
    layout = Layout("d", (part("at_most"), part("equal", sense=Sense.EQUAL)))

    def body(x: Tensor, values: Mapping[str, Tensor]) -> Any:
        z = values["z"]
        off = x - z
        return 0.5 * off.square().sum(1), torch.cat([off[:, :1] + 0.7, off[:, 1:] - 0.4], 1), None

    z = rows_of(width=2)
    run, x = run_free(body, layout, (plan("shared", layout),), z, 2)
    torch.testing.assert_close(
        multipliers(run), torch.tensor([[0.7, -0.4]]).double().expand(ROWS, 2), rtol=0, atol=1e-4
    )
    torch.testing.assert_close(x, z + torch.tensor([-0.7, 0.4]), rtol=0, atol=1e-4)


def at_most_zero(x: Tensor, values: Mapping[str, Tensor]) -> Any:
    """min 1/2 |x - z|^2 subject to x0 <= 0 (lam = [z0]_+) and x1 == z0 / 2 (lam = z1 - z0 / 2)."""
    z = values["z"]
    return 0.5 * (x - z).square().sum(1), torch.stack([x[:, 0], x[:, 1] - z[:, 0] / 2], 1), None


AFFINE = Layout("d", (part("a"), part("b", sense=Sense.EQUAL)))


def test_a_network_finds_the_multipliers_where_they_are_in_its_class_and_gives_them_to_unseen_rows() -> None:
    """[z]_+ is a clipped affine map, z1 - z0 / 2 an affine one."""
    z = rows_of(30, 2)
    model = Free(30, 2)
    given = problem(
        at_most_zero,
        table(z, test=10),
        AFFINE,
        (learned(AFFINE),),
        model,
        settings(descent=sgd(20 * 0.03, steps=100, momentum=0.8), ascent=sgd(0.3, steps=80), outer=60, rho=4.0),
    )
    run = solved(given)
    expected = torch.stack([z[:, 0].relu(), z[:, 1] - z[:, 0] / 2], 1)
    torch.testing.assert_close(multipliers(run), expected[:20], rtol=0, atol=1e-4)
    torch.testing.assert_close(multipliers(run, "test"), expected[20:], rtol=0, atol=1e-4)
    optimum = torch.stack([z[:20, 0].clamp(max=0), z[:20, 0] / 2], 1)
    torch.testing.assert_close(model.x.detach()[:20], optimum, rtol=0, atol=1e-4)


def test_kinds_can_be_mixed_family_by_family() -> None:
    z = rows_of(20, 2)
    a, b = AFFINE.parts
    plans = (learned(AFFINE, parts=(b,)), plan("pointwise", AFFINE, (a,)))
    changes = {
        "descent": sgd(20 * 0.03, steps=100, momentum=0.8),
        "ascent": sgd(0.3, steps=80),
        "outer": 40,
        "rho": 4.0,
    }
    run, x = run_free(at_most_zero, AFFINE, plans, z, 2, **changes)
    expected = torch.stack([z[:, 0].relu(), z[:, 1] - z[:, 0] / 2], 1)
    torch.testing.assert_close(multipliers(run), expected, rtol=0, atol=1e-4)
    torch.testing.assert_close(x, torch.stack([z[:, 0].clamp(max=0), z[:, 0] / 2], 1), rtol=0, atol=1e-4)


def test_what_cannot_be_met_ends_at_the_cap_and_is_reported() -> None:
    """x <= -1 and x >= 1: with both multipliers at G, x - 1/2 + rho (x + 1) - rho (1 - x) = 0, so x = 1 / (2 (1 + 2 rho))."""
    layout = Layout("d", (part("low"), part("high")))

    def body(x: Tensor, values: Mapping[str, Tensor]) -> Any:
        return 0.5 * (x[:, 0] - 0.5).square(), torch.cat([x + 1, 1 - x], 1), None

    z = torch.zeros(ROWS, 1, dtype=torch.float64)
    cap, rho = 3.0, 2.0
    run, x = run_free(body, layout, (plan("pointwise", layout, cap=cap),), z, 1, rho=rho)
    assert torch.equal(multipliers(run), torch.full((ROWS, 2), cap, dtype=torch.float64))
    torch.testing.assert_close(x, torch.full((ROWS, 1), 0.5 / (1 + 2 * rho)).double(), rtol=0, atol=1e-6)
    train = run.split(run.measure("train"))
    assert train.rows_at_cap == 1.0
    assert train.families["low"].at_cap == 1.0
    assert run.history[-1].rows_at_cap == 1.0


def test_a_penalty_stops_short_where_the_closed_form_says() -> None:
    """min 1/2 (x - 1)^2 + rho / 2 [x]_+^2 is at 1 / (1 + rho)."""
    layout = Layout("d", (part("a"),))

    def body(x: Tensor, values: Mapping[str, Tensor]) -> Any:
        return 0.5 * (x[:, 0] - 1).square(), x, None

    run, x = run_free(body, layout, (plan("penalty", layout),), torch.zeros(ROWS, 1, dtype=torch.float64), 1, outer=3)
    torch.testing.assert_close(x, torch.full((ROWS, 1), 1 / 11).double(), rtol=0, atol=1e-6)
    assert run.training_sets[0].multipliers.parameters == 0


def test_dropped_constraints_leave_the_unconstrained_optimum_and_are_still_measured() -> None:
    layout = Layout("d", (part("a"),))

    def body(x: Tensor, values: Mapping[str, Tensor]) -> Any:
        return 0.5 * (x[:, 0] - 1).square(), x, None

    run, x = run_free(body, layout, (plan("none", layout),), torch.zeros(ROWS, 1, dtype=torch.float64), 1, outer=3)
    torch.testing.assert_close(x, torch.ones(ROWS, 1).double(), rtol=0, atol=1e-6)
    train = run.split(run.measure("train"))
    assert train.families["a"].max == pytest.approx(1.0, abs=1e-6)
    assert train.families["a"].multiplier is None


def test_feasibility_alone_ends_where_everything_is_met() -> None:
    layout = Layout("d", (part("a"),))

    def body(x: Tensor, values: Mapping[str, Tensor]) -> Any:
        return 100 * x[:, 0], 1 - x, None

    z = torch.zeros(ROWS, 1, dtype=torch.float64)
    model = Free(ROWS)
    solved(problem(body, table(z), layout, (plan("pointwise", layout),), model, settings()), feasibility=True)
    # Without an objective every point inside is as good as another; momentum carries rows past the border.
    assert float(model.x.detach().min()) >= 1 - 1e-4


@pytest.mark.parametrize("batch", [pytest.param(1, marks=pytest.mark.long), 4, 7, 12])
def test_neither_batch_size_nor_the_order_of_rows_moves_the_optimum(batch: int) -> None:
    """12 rows; 7 does not divide them. Steps and rates are per row the same."""
    rows = 12
    z = rows_of(rows, 2)[torch.randperm(rows, generator=torch.Generator().manual_seed(batch))]
    steps = 100 * rows // batch
    descent = sgd(0.05 * batch, batch=batch, steps=steps)
    run, x = run_free(at_most_zero, AFFINE, (plan("pointwise", AFFINE),), z, 2, descent=descent)
    torch.testing.assert_close(x, torch.stack([z[:, 0].clamp(max=0), z[:, 0] / 2], 1), rtol=0, atol=1e-4)
    torch.testing.assert_close(
        multipliers(run), torch.stack([z[:, 0].relu(), z[:, 1] - z[:, 0] / 2], 1), rtol=0, atol=1e-4
    )


def test_masked_rows_do_not_move_a_shared_multiplier() -> None:
    """Adding rows on which a constraint is masked leaves its multiplier what it was, at every iteration."""
    layout = Layout("d", (part("a", masked=True),))

    def body(x: Tensor, values: Mapping[str, Tensor]) -> Any:
        live = values["z"] > 0
        return 0.5 * (x[:, 0] - 2).square(), torch.where(live, x - 1, 0.0), live

    alone = torch.ones(4, 1, dtype=torch.float64)
    joined = torch.cat([alone, -torch.ones(8, 1, dtype=torch.float64)])
    found = []
    for z in (alone, joined):
        descent = sgd(len(z) * 0.05, steps=200)
        run, x = run_free(body, layout, (plan("shared", layout),), z, 1, descent=descent, outer=8)
        found.append((multipliers(run)[0], x[:4]))
        if len(z) > 4:
            torch.testing.assert_close(x[4:], torch.full((8, 1), 2.0).double(), rtol=0, atol=1e-4)
    torch.testing.assert_close(found[0][0], found[1][0])
    torch.testing.assert_close(found[0][1], found[1][1])


class Shared(nn.Module):
    """One number for all rows."""

    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.zeros(1, dtype=torch.float64))

    def forward(self, ids: Tensor) -> Tensor:
        return self.w.expand(len(ids), 1)


def test_a_term_without_data_enters_once_whatever_the_batch() -> None:
    """min mean (w - z)^2 / 2 + w^2 / 2 is at mean(z) / 2."""
    from dataclasses import replace

    from pdual.compiler.program import Term

    layout = Layout("d", (part("a"),))

    def body(x: Tensor, values: Mapping[str, Tensor]) -> Any:
        return 0.5 * (x - values["z"])[:, 0].square(), x - 100, None

    z = rows_of(8, 1)
    for batch in (8, 1):
        model = Shared()
        descent = sgd(0.02, batch=batch, steps=8 // batch * 40, schedule={"warmup": 0, "final": 0.0})
        given = problem(
            body, table(z), layout, (plan("pointwise", layout),), model, settings(descent=descent, outer=20)
        )
        term = Term(lambda models: 0.5 * models["f"].w.square().sum(), scale=3.0)
        run = solved(replace(given, terms=(term,)))
        w = float(model.w.detach())
        assert w == pytest.approx(float(z.mean()) / 2, abs=1e-6 if batch == 8 else 0.02)
        train = run.split(run.measure("train"))
        assert train.objective == pytest.approx(0.5 * float((w - z).square().mean()) + 3 * 0.5 * w**2, abs=1e-12)


def test_an_objective_of_nothing_but_squared_norms_is_followed_to_zero() -> None:
    from dataclasses import replace

    from pdual.compiler.program import Term

    layout = Layout("d", (part("a"),))
    model = Free(ROWS)
    with torch.no_grad():
        model.x.fill_(2.0)
    plain = problem(
        lambda x, values: (None, x - 1, None),
        table(torch.zeros(ROWS, 1, dtype=torch.float64)),
        layout,
        (plan("none", layout),),
        model,
        settings(outer=2, descent=sgd(0.1, steps=100)),
    )
    term = Term(lambda models: 0.5 * models["f"].x.square().sum(), norms={"f": 0.5})
    run = solved(replace(plain, terms=(term,)))
    torch.testing.assert_close(model.x.detach(), torch.zeros(ROWS, 1).double(), rtol=0, atol=1e-6)
    assert run.status == "finished"
