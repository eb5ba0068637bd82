"""Problems with constraints on averages over made-up rows, and what CVXPY says of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cvxpy
import numpy as np
import torch

from pdual.compiler.compile import lower
from pdual.dsl.pipeline import read
from pdual.dsl.spans import Source
from pdual.runtime.data.context import SourceContext
from pdual.runtime.optimisation.placement import Placement
from pdual.runtime.problem.prepare import load_tables, prepare
from pdual.runtime.problem.problem import Options, Problem
from pdual.runtime.training.averages import Averages
from pdual.runtime.training.run import Run
from pdual.runtime.training.solver import Solver, solve

ROWS = 48

#: A regression: constraints on averages of all kinds, one on every row, and an average over rows that nothing else is over.
REGRESSION = """problem averages "a regression with constraints on averages"
data d = csv("d.csv", split = [1, 0, 0]) { x: real[5], y: real, one: bool }
data e = csv("e.csv", split = [1, 0, 0]) { x: real[5] }
model f(x: real[5]) -> real = linear()
subject to
  low: mean[r in d where r.one](f(r.x)) <= -0.2
  gap: 0.02 <= mean[r in d where r.one](f(r.x)) - mean[q in d where not q.one](f(q.x)) <= 0.3
  level: 2 * mean[r in e](f(r.x)) == 0.5
  idle: mean[r in d](f(r.x)^2) <= 100
dual low, gap, level = shared(cap = 50)
dual idle = shared(cap = 1)
over r in d {
  minimize (f(r.x) - r.y)^2
  subject to top: f(r.x) <= 1.2
  dual top = pointwise(cap = 50)
}
solve { SOLVE }
"""


def rows(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """x [rows, 5], y and the flag of ``d``, and x of ``e``; rounded, so that the files say the same."""
    source = np.random.default_rng(seed)
    x = source.normal(size=(ROWS, 5)).round(6)
    y = (x @ [1.0, -0.5, 0.3, 0.0, 0.2] + 0.6 + 0.3 * source.normal(size=ROWS)).round(6)
    return x, y, source.random(ROWS) < 0.4, (source.normal(size=(10, 5)) + 0.3).round(6)


def write(folder: Path) -> None:
    x, y, one, other = rows()
    names = ",".join(f"x.{place}" for place in range(5))
    own = [f"{_joined(z)},{t},{str(bool(o)).lower()}" for z, t, o in zip(x, y, one, strict=True)]
    (folder / "d.csv").write_text(f"{names},y,one\n" + "\n".join(own) + "\n")
    (folder / "e.csv").write_text(f"{names}\n" + "\n".join(map(_joined, other)) + "\n")


def _joined(values: np.ndarray) -> str:
    return ",".join(map(str, values))


def prepared(folder: Path, spec: str, settings: str, dual: dict[str, str] | None = None) -> Problem:
    """The problem of a spec over the files in a folder, its models at their start of seed 0."""
    parsed, found = read(Source("averages.pdual", spec.replace("SOLVE", settings)))
    assert parsed is not None, found
    graph, _ = lower(parsed, {}, dual)
    torch.manual_seed(0)
    context = SourceContext(folder=folder)
    return prepare(graph, load_tables(parsed, {}, context), torch.float64, {})


def solved(given: Problem, **options: Any) -> Run:
    return solve(given, Options(placement=Placement(precision="float64"), **options))


def begun(given: Problem, level: float) -> tuple[Solver, Averages]:
    """A solver before its first step without warm-up, constraints alone, the first store of averages at a level."""
    solver = Solver(given, Options(placement=Placement(precision="float64"), feasibility=True))
    averages = solver._averages
    assert averages is not None
    averages.multipliers.stores[0].load_state({"level": torch.tensor([level], dtype=torch.float64)})
    solver._iteration = 1
    solver._begin_averages()
    return solver, averages


def optimum() -> dict[str, Any]:
    """Weights, the value of the objective and multipliers; L = objective + sum of multiplier * (left - right)."""
    x, y, one, other = rows()
    w, b = cvxpy.Variable(5), cvxpy.Variable()
    inside, outside = x[one].mean(0) @ w + b, x[~one].mean(0) @ w + b
    constraints = {
        "low": inside <= -0.2,
        "gap.lower": inside - outside >= 0.02,
        "gap.upper": inside - outside <= 0.3,
        "level": 2 * (other.mean(0) @ w + b) == 0.5,
        "idle": cvxpy.sum_squares(x @ w + b) / ROWS <= 100,
        "top": x @ w + b <= 1.2,
    }
    problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(x @ w + b - y) / ROWS), list(constraints.values()))
    problem.solve(solver=cvxpy.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    assert problem.status == "optimal"
    duals = {name: item.dual_value for name, item in constraints.items()}
    return {"w": w.value, "b": float(b.value), "objective": problem.value, **duals}
