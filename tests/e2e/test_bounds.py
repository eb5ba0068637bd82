"""``pdual bounds`` as a user reads it, and the certificate against a problem where every constant is known."""

from __future__ import annotations

import math
from pathlib import Path

import cvxpy
import numpy as np
import pytest
import torch
from running import say
from torch import Tensor

from pdual.runtime.optimisation.lagrangian import Lagrangian

SPEC = """problem qp "a strongly convex parametric problem"
set i = 0..1
data d { z: real[i] in [-1, 1] }
model f(z: real[i]) -> real[i] in [-2, 2]
over r in d {
  let x = f(r.z)
  minimize sum[k in i]((x[k] - r.z[k])^2) / 2
  subject to
    low[k in i]: x[k] <= 0.5
    both: x[0] + x[1] <= 0.25
  dual default = pointwise(cap = 3)
}
solve { rho = 20 }
"""
KNOWN = ("s=0.5", "nuH=0", "nuPhi=0", "zeta0=0", "zeta=0", "zetaL=0")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "qp.pdual").write_text(SPEC)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def knowing(*given: str) -> list[str]:
    return [word for item in given for word in ("--know", item)]


@pytest.mark.usefixtures("here")
def test_constants_assumptions_and_certificate(capsys):
    said = say(capsys, "bounds", "qp.pdual", *knowing(*KNOWN))
    assert said.code == 0, said.err
    assert "low   2        <= 0  -1 .. 0.6" in said.out
    assert "L0 = 4.243, convex, mu = 1" in said.out
    assert "one set of rows                           holds" in said.out
    assert "Delta_O augmented: |E l0 - P*| <= " in said.out
    assert "not covered" not in said.out
    assert "optimal multipliers of a row sum to at most 18 in the mean over rows" in said.out


@pytest.mark.usefixtures("here")
def test_what_is_missing_is_named(capsys):
    said = say(capsys, "bounds", "qp.pdual")
    assert "strict feasibility                        unknown  the margin must be measured: --know s=..." in said.out
    assert "nuPhi: L1 distance of the dual class from the optimal multiplier" in said.out
    found = say(capsys, "bounds", "qp.pdual", "--json").json["bounds"]
    assert found["covered"]
    assert found["certificate"][0]["value"] is None
    assert "nuPhi" in found["certificate"][0]["missing"]


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ("opf30", "is an equality, which has no interior: not covered"),
        ("mnist", "the objective reads no rows: it does not depend on predictions"),
        ("tofu", "the objective is over retain, constraints over forget"),
        ("flora", "no rule of this version covers it"),
    ],
)
def test_what_the_theorems_do_not_cover_is_not_a_number(spec: str, why: str, capsys):
    said = say(capsys, "bounds", spec)
    assert said.code == 0
    assert why in said.out
    assert "certificate: not covered, since an assumption fails" in said.out
    assert "Delta_" not in said.out


@pytest.mark.usefixtures("here")
def test_constants_that_may_not_be_given(capsys):
    said = say(capsys, "bounds", "qp.pdual", "--know", "nuQ=1")
    assert said.code == 2
    assert "error[PD716]: `--know` names `nuQ`, which is no constant that may be given" in said.err
    assert "did you mean `nuH`?" in said.err
    assert "error[PD704]" in say(capsys, "bounds", "qp.pdual", "--know", "s=-1").err


@pytest.mark.parametrize(
    ("model", "derived"),
    [
        ("real[i] in [-2, 2] = free()", True),
        ("real[i] = linear()", True),
        ("real[i] in [-2, 2] = linear()", False),  # what squashes it into its range is not affine
        ("real[i] in [-2, 2] = mlp(hidden = [8])", False),
        ("real[i] in [-2, 2]", False),
    ],
)
def test_a_convex_class_of_models_is_its_own_hull(model: str, derived: bool, here: Path, capsys):
    (here / "qp.pdual").write_text(SPEC.replace("real[i] in [-2, 2]", model))
    found = say(capsys, "bounds", "qp.pdual", "--json").json["bounds"]
    (item,) = [item for item in found["assumptions"] if item["name"] == "approximate convexity of the model class"]
    assert item["verdict"] == ("holds" if derived else "unknown")
    assert ("derived: nuH = 0" in item["why"]) == derived
    assert (found["constants"].get("nuH") == 0) == derived
    given = say(capsys, "bounds", "qp.pdual", "--json", "--know", "nuH=0.1").json["bounds"]
    assert given["constants"]["nuH"] == 0.1


ROWS = 12
LOW = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
RIGHT = np.array([0.5, 0.5, 0.25])
SCALES = np.array([2.5, 2.5, 4.25])  # x >= -2: the feasible ranges


def optimum(z: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Primal, multipliers of the scaled rows, and value of one row, from CVXPY."""
    x = cvxpy.Variable(2)
    constraints = [((LOW @ x - RIGHT) / SCALES) <= 0]
    value = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(x - z) / 2), constraints).solve(solver=cvxpy.CLARABEL)
    return x.value, constraints[0].dual_value, float(value)


def ascended(z: Tensor, rho: float, steps: int) -> tuple[Tensor, Tensor]:
    """The augmented Lagrangian's ascent on every row, its inner problems by many gradient steps."""
    matrix, right = torch.tensor(LOW / SCALES[:, None]), torch.tensor(RIGHT / SCALES)
    lagrangian = Lagrangian(torch.zeros(3, dtype=torch.bool), torch.full((3,), rho, dtype=torch.float64))
    x, lam = z.clone(), torch.zeros(len(z), 3, dtype=torch.float64)
    for _ in range(steps):
        for _ in range(40):
            x = x.detach().requires_grad_(True)
            loss = ((x - z).square().sum(1) / 2 + lagrangian.psi(x @ matrix.T - right, lam)).sum()
            x = x - torch.autograd.grad(loss, x)[0] / (1 + 0.3 * rho)  # the largest eigenvalue of A'A is 0.28
        x = x.detach()
        lam = torch.clamp(lam + rho * (x @ matrix.T - right), 0, 3)
    return x, lam


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("steps", [0, 1, 3, 60])
def test_violation_objective_and_sensitivity_lie_inside_the_certificate(steps: int, capsys):
    """The multipliers after some steps are a dual class of one element: nuPhi is its distance from the optimal ones."""
    z = torch.rand(ROWS, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) * 2 - 1
    best = [optimum(row.numpy()) for row in z]
    prices = np.array([multipliers for _, multipliers, _ in best])
    value = float(np.mean([item for _, _, item in best]))
    _, lam = ascended(z, 20.0, steps)
    away = float(np.abs(lam.numpy() - prices).mean(0).max())
    # The minimiser of the plain Lagrangian at these multipliers: x = z - A^T lam.
    x = z - lam @ torch.tensor(LOW / SCALES[:, None])
    violation = np.maximum((x.numpy() @ LOW.T - RIGHT) / SCALES, 0)
    known = ["s=0.5", "nuH=0", f"nuPhi={away}", "zeta0=0", "zeta=0", "zetaL=0"]
    found = say(capsys, "bounds", "qp.pdual", "--json", *knowing(*known)).json["bounds"]
    bounds = {item["name"]: item["value"] for item in found["certificate"]}
    lagrangian = (
        (x - z).square().sum(1) / 2
        + (lam * (x @ torch.tensor(LOW.T) - torch.tensor(RIGHT)) / torch.tensor(SCALES)).sum(1)
    ).mean()
    objective = float(((x - z).square().sum(1) / 2).mean())
    assert abs(float(lagrangian) - value) <= bounds["Delta_D"] + 1e-6
    assert float(np.linalg.norm(violation, axis=1).mean()) <= bounds["Delta_F"] + 1e-6
    assert abs(objective - value) <= bounds["Delta_O"] + 1e-6
    # Every threshold moved by u, in scaled units: P(u) >= P(0) - E[lam u] - slack.
    for u in (-0.05, 0.05, 0.3):
        moved = float(np.mean([_moved(row.numpy(), u) for row in z]))
        assert moved >= value - float(lam.sum(1).mean()) * u - bounds["sensitivity"] - 1e-6
    if steps == 60:
        np.testing.assert_allclose(lam.numpy(), prices, atol=1e-4)
        assert bounds["Delta_D"] < 1e-2
    assert math.isfinite(bounds["Delta_O augmented"])


def _moved(z: np.ndarray, u: float) -> float:
    x = cvxpy.Variable(2)
    problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(x - z) / 2), [((LOW @ x - RIGHT) / SCALES) <= u])
    return float(problem.solve(solver=cvxpy.CLARABEL))


CALLS = """problem calls "several calls of one model"
set i = 0..1
data d { a: real in [-1, 1], b: real in [-1, 1], z: real[i] in [-1, 1] }
model f(z: real) -> real in [-1, 1] = linear()
over r in d {
  minimize OBJECTIVE
  subject to
    c scale 1: CONSTRAINT <= 0.1
  dual default = pointwise(cap = 3)
}
solve { rho = 20 }
"""


@pytest.mark.parametrize(
    ("objective", "constraint", "mu"),
    [
        ("(f(r.a) - 0.5)^2", "f(r.a)", 2.0),
        ("(f(r.a) - 0.5)^2", "f(r.b)", 0.0),
        ("(f(r.a) - 0.5)^2 + 3 * f(r.b)^2", "f(r.a) + f(r.b)", 2.0),
        ("(f(r.a) - 0.5)^2", "f(f(r.a))", 0.0),
        ("(f(r.a) - f(r.b))^2", "f(r.b)", 0.0),
        ("(f(r.a) - 0.5)^2 + f(f(r.a))^2", "f(f(r.a))", 2.0),
    ],
)
def test_calls_count_not_models(objective: str, constraint: str, mu: float, here: Path, capsys):
    (here / "qp.pdual").write_text(CALLS.replace("OBJECTIVE", objective).replace("CONSTRAINT", constraint))
    found = say(capsys, "bounds", "qp.pdual", "--json").json["bounds"]
    assert found["objective"]["strong"] == pytest.approx(mu, abs=1e-6)


@pytest.mark.usefixtures("here")
def test_the_gap_takes_the_width_of_an_objective_of_both_signs(here: Path, capsys):
    (here / "qp.pdual").write_text(
        CALLS.replace("OBJECTIVE", "0.5 * f(r.a)^2 + 4 * f(r.a)").replace("CONSTRAINT", "-f(r.a)")
    )
    found = say(capsys, "bounds", "qp.pdual", "--json", *knowing("s=0.5")).json["bounds"]
    low, high = found["objective"]["range"]
    assert found["constants"]["V0"] == pytest.approx(high - low)
    assert found["constants"]["V0"] > found["constants"]["B0"]
    formula = next(item["formula"] for item in found["certificate"] if item["name"] == "sensitivity")
    assert "L1*V0/s" in formula
    assert "B0" not in formula


@pytest.mark.parametrize(("read", "mu"), [("f(r.a)", 2.0), ("f(r.b)", 0.0), ("features(f(r.b))", 0.0), ("r.b", 2.0)])
def test_a_call_that_only_a_dual_reads_is_a_prediction_too(read: str, mu: float, here: Path, capsys):
    """Where it is flat, a minimiser of the Lagrangian may say anything there, and its multipliers are others."""
    text = (
        CALLS.replace("OBJECTIVE", "(f(r.a) - 0.5)^2")
        .replace("CONSTRAINT", "f(r.a)")
        .replace("linear()", "mlp(hidden = [2])")
    )
    (here / "qp.pdual").write_text(text.replace("pointwise(cap = 3)", f"learned(linear(), on = {read}, cap = 3)"))
    found = say(capsys, "bounds", "qp.pdual", "--json").json["bounds"]
    assert found["objective"]["strong"] == pytest.approx(mu, abs=1e-6)


@pytest.mark.parametrize(
    ("constraint", "derived"), [("f(r.a)", True), ("f(r.a) + f(r.b)", True), ("f(f(r.a))", False), ("f(r.b + 2 * f(r.a))", False)]
)  # fmt: skip
def test_functions_of_functions_are_no_convex_class(constraint: str, derived: bool, here: Path, capsys):
    text = CALLS.replace("in [-1, 1] = linear()", "= linear()").replace("OBJECTIVE", "f(r.a)^2")
    (here / "qp.pdual").write_text(text.replace("CONSTRAINT", constraint))
    found = say(capsys, "bounds", "qp.pdual", "--json").json["bounds"]
    assert (found["constants"].get("nuH") == 0) == derived


def test_the_gap_of_an_objective_of_both_signs_is_this_number(here: Path, capsys):
    """By hand: f in [-1, 1], L0 = 5, the row -f - 0.5 over its feasible range 1.5, the objective in [-4, 4.5]; s = 0.3, nuH = 0.1."""
    text = CALLS.replace("scale 1: CONSTRAINT <= 0.1", ": -f(r.a) <= 0.5").replace(
        "OBJECTIVE", "0.5 * f(r.a)^2 + 4 * f(r.a)"
    )
    (here / "qp.pdual").write_text(text)
    known = knowing("s=0.3", "nuH=0.1", "nuPhi=0", "zeta0=0", "zeta=0", "zetaL=0")
    found = say(capsys, "bounds", "qp.pdual", "--json", *known).json["bounds"]
    (slack,) = [item["value"] for item in found["certificate"] if item["name"] == "sensitivity"]
    assert slack == pytest.approx((5 + 8.5 / 1.5 / 0.3) * 0.1, rel=1e-6)
    assert slack == pytest.approx(2.39, abs=0.005)


@pytest.mark.usefixtures("here")
def test_multipliers_are_told_of_in_the_mean_and_one_row_needs_far_more(here: Path, capsys):
    """f(o) = a + b o <= c by row, where one row of 200 has c = 0 and all others 1.5, which never binds: CVXPY's multipliers."""
    rows = 200
    o, c = np.linspace(-1, 1, rows), np.full(rows, 1.5)
    c[rows // 2] = 0.0
    a, b, worst = cvxpy.Variable(), cvxpy.Variable(), cvxpy.Variable()
    told = a + b * o
    constraints = [told <= c]
    cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(told - 1) / rows), constraints).solve(solver=cvxpy.CLARABEL)
    prices = rows * constraints[0].dual_value  # of the mean over rows
    within = [told >= -1, told <= 1.5, told - c <= -worst]
    margin = float(cvxpy.Problem(cvxpy.Maximize(worst), within).solve(solver=cvxpy.CLARABEL))
    text = CALLS.replace("{ a: real in [-1, 1],", "{ a: real in [-1, 1], c: real in [0, 1.5],").replace(
        "-1, 1] = linear", "-1, 1.5] = linear"
    )
    (here / "qp.pdual").write_text(
        text.replace("OBJECTIVE", "(f(r.a) - 1)^2").replace("CONSTRAINT <= 0.1", "f(r.a) <= r.c")
    )
    said = say(capsys, "bounds", "qp.pdual", *knowing(f"s={margin}"))
    most = 4.0 / margin
    assert f"optimal multipliers of a row sum to at most {most:.6g} in the mean over rows" in said.out
    assert "a single row may need a larger one" in said.out
    assert prices.mean() <= most
    assert prices.max() > 40 * most
