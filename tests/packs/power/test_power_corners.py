"""Grids at the corners of what is a grid, each optimum against numbers worked out apart from the solver."""

from __future__ import annotations

import numpy as np
import pytest
from power_oracle import cost, known, parts
from scipy.optimize import minimize

from pdual.packs.power.optima.conditions import EXACT, Conditions
from pdual.packs.power.optima.grid import grid_of
from pdual.packs.power.optima.optimum import PowerSolver
from pdual.packs.power.optima.problem import optimal_power_flow

FREE = "0 0 0 0 0 1 -360 360"  # rates, ratio, shift, status and angle limits
CORNERS = {
    "two buses, no limits": (["1 3 0 0 0 0", "2 1 60 20 0 0"], ["1 120 -120 1 150 0"], [f"1 2 0.02 0.1 0.04 {FREE}"], ["2 0 0 3 0.02 20 0"]),
    "one bus": (["7 3 60 20 0 0"], ["7 120 -120 1 150 0"], [], ["2 0 0 2 20 5 0"]),
    "one bus, three units": (
        ["7 3 60 20 0 0"], ["7 120 -120 1 50 0", "7 9 -9 1 50 0", "7 9 -9 0 50 0"], [], ["2 0 0 3 0.1 1 0", "2 0 0 3 0.1 2 0", "2 0 0 3 1 0 0"],
    ),
    "a rate": (["1 3 0 0 0 0", "2 1 60 20 0 0"], ["1 120 -120 1 150 0"], ["1 2 0.02 0.1 0.04 90 0 0 0 0 1 -360 360"], ["2 0 0 2 20 0 0"]),
    "an angle": (["1 3 0 0 0 0", "2 1 60 20 0 0"], ["1 120 -120 1 150 0"], ["1 2 0.02 0.1 0.04 0 0 0 0 0 1 -30 0"], ["2 0 0 2 20 0 0"]),
    "a unit elsewhere": (["1 3 40 0 0 0", "2 2 10 5 0 0"], ["2 120 -120 1 150 0"], [f"1 2 0.02 0.1 0.04 {FREE}"], ["2 0 0 2 20 0 0"]),
    "parallel branches": (
        ["1 3 0 0 0 0", "2 1 60 20 1 5"], ["1 120 -120 1 150 0"], [f"1 2 0.02 0.1 0.04 {FREE}", f"2 1 0.03 0.2 0 {FREE}"], ["2 0 0 2 20 0 0"],
    ),
    "a shifting transformer": (
        ["1 3 0 0 0 0", "2 1 60 20 0 0"], ["1 120 -120 1 150 0"], ["1 2 0.02 0.1 0.04 0 0 0 0.98 15 1 -360 360"], ["2 0 0 2 20 0 0"],
    ),
    "isolated": (
        ["1 3 0 0 0 0", "2 1 60 20 0 0", "3 4 90 0 0 0"], ["1 120 -120 1 150 0", "3 9 -9 1 90 0"], [f"1 2 0.02 0.1 0 {FREE}", f"2 3 0.02 0.1 0 {FREE}"],
        ["2 0 0 2 20 0 0", "2 0 0 2 1 0 0"],
    ),
    "a constant cost": (["1 3 0 0 0 0", "2 1 60 20 0 0"], ["1 120 -120 1 150 0"], [f"1 2 0.02 0.1 0.04 {FREE}"], ["2 0 0 1 7 0 0"]),
    "endless capacity": (["1 3 0 0 0 0", "2 1 60 20 0 0"], ["1 Inf -Inf 1 Inf 0"], [f"1 2 0.02 0.1 0.04 {FREE}"], ["2 0 0 2 20 0 0"]),
    "an exporter": (["1 3 0 0 0 0", "2 1 -60 0 0 0"], ["1 120 -120 1 0 -150"], [f"1 2 0.02 0.1 0.04 {FREE}"], ["2 0 0 2 20 0 0"]),
    "a negative cost": (
        ["1 3 0 0 0 0", "2 1 60 20 0 0"], ["1 120 -120 1 150 0", "2 20 -20 1 30 0"], [f"1 2 0.02 0.1 0.04 {FREE}"],
        ["2 0 0 2 20 0 0", "2 0 0 2 -4 0 0"],
    ),
    "corners of a cost": (
        ["1 3 0 0 0 0", "2 1 100 20 0 0"], ["1 120 -120 1 150 0", "2 80 -80 1 120 0"], [f"1 2 0.02 0.1 0.04 {FREE}"],
        ["1 0 0 3 0 0 60 1200 150 3900", "2 0 0 2 25 0"],
    ),
}  # fmt: skip


def corner(name, folder):
    buses, units, branches, costs = CORNERS[name]
    text = "mpc.baseMVA = 100;\nmpc.version = '2';\n"
    text += "mpc.bus = [" + ";".join(f"{row} 1 1 0 230 1 1.1 0.9" for row in buses) + "];\n"
    gens = [row.split() for row in units]
    text += "mpc.gen = [" + ";".join(f"{bus} 0 0 {high} {low} 1 100 {rest}" for bus, high, low, rest in
                                     ((row[0], row[1], row[2], " ".join(row[3:])) for row in gens)) + "];\n"  # fmt: skip
    text += "mpc.branch = [" + ";".join(branches) + "];\n" + "mpc.gencost = [" + ";".join(costs) + "];\n"
    (folder / "corner.m").write_text(text)
    return known("corner.m", folder)


def by_scipy(grid):
    """The optimum by SLSQP on the formulas of opf30, and on the lines of costs as they are."""
    field = {name: np.array(value) for name, value in grid.fields.items()}
    buses, units = len(field["load"]), len(field["at"])

    def split(x):
        size, angle, p, q = np.split(x[: 2 * (buses + units)], np.cumsum([buses, buses, units]))
        return size * np.exp(1j * angle), p + 1j * q

    def price(x):
        s = split(x)[1]
        return (cost(grid, s) + 100 * float(x[-units:].sum())) / 100

    def residuals(x, equal):
        found = parts(grid, field["load"], *split(x))
        names = ["balance.re", "balance.im", "reference"]
        lines = 100 * x[-units:, None] - field["height"] - field["slope"] * split(x)[1].real[:, None]
        rows = [part if equal else -part for name, part in found.items() if (name in names) is equal]
        return np.concatenate(rows if equal else [*rows, lines.reshape(-1) / 100])

    best = np.inf
    for share in (0.2, 0.5, 0.8):
        low, high = (np.clip(field[name].real, -3, 3) for name in ("s_min", "s_max"))
        start = np.concatenate([np.ones(buses), np.zeros(buses), low + share * (high - low), np.zeros(2 * units)])
        rules = [{"type": "eq" if equal else "ineq", "fun": residuals, "args": (equal,)} for equal in (True, False)]
        found = minimize(price, start, method="SLSQP", constraints=rules, options={"maxiter": 500, "ftol": 1e-12})
        if found.success:
            best = min(best, 100 * found.fun)
    return best


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", CORNERS)
def test_a_grid_at_a_corner_has_the_optimum_of_another_solver(name, tmp_path):
    grid = corner(name, tmp_path)
    found = PowerSolver(grid_of(grid)).solve(np.array(grid.fields["load"]))
    assert found is not None
    assert found.cost == pytest.approx(by_scipy(grid), rel=1e-5, abs=1e-3)
    assert sum(grid.fields["usual_cost"]) > 0


def test_the_conditions_hold_at_an_optimum_and_nowhere_near(tmp_path):
    grid = grid_of(corner("a rate", tmp_path))
    solver, problem = PowerSolver(grid), optimal_power_flow(grid)
    found = {name: np.asarray(value).reshape(-1) for name, value in zip(("x", "lam_x", "lam_g"), solver._nominal.values(), strict=True)}  # fmt: skip
    conditions = Conditions(problem)
    assert conditions.residual(grid.load, found) < EXACT / 10
    for name in found:
        for place in range(len(found[name])):
            moved = {**found, name: found[name] + 0.01 * np.maximum(1, abs(found[name])) * (np.arange(len(found[name])) == place)}  # fmt: skip
            assert conditions.residual(grid.load, moved) > EXACT, (name, place)
    assert conditions.residual(grid.load, {**found, "x": np.full_like(found["x"], np.nan)}) == np.inf
