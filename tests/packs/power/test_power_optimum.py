"""Optima against published numbers, multipliers against the Lagrangian as the tests write it."""

import csv
import json
import subprocess
import sys
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from power_oracle import CASES, SHIPPED, cost, flows, known, parts, published

from pdual.dsl.declarations.known import Known
from pdual.packs.power.optima.grid import grid_of
from pdual.packs.power.optima.optimum import PowerSolver, part_sizes
from pdual.packs.power.optima.optimum import flows as vector_flows
from pdual.packs.power.optima.problem import optimal_power_flow

EQUALITIES = {"balance.re", "balance.im", "reference"}


# Each variant of the six-bus grid makes other sides bind, and says which.
DEGREE = np.pi / 180
TIGHT = {
    "flow": ({"rate": {0: 0.4, 7: 0.043}}, {"flow_source", "voltage.upper", "generation.im.upper"}),
    "angle": ({"rate": {0: 0.4}, "angle_max": {2: 6 * DEGREE}}, {"angle.upper", "flow_target", "voltage.upper"}),
    "steep": ({"angle_min": {5: -9.5 * DEGREE}}, {"angle.lower"}),
    "small": (
        {"rate": {0: 0.43, 7: 0.043}, "s_max": {2: 0.01j}, "v_max": {2: 0.985}},
        {"voltage.lower", "generation.re.lower", "generation.im.lower", "generation.im.upper", "flow_target"},
    ),
}


@cache
def solver(name):
    if name not in TIGHT:
        grid = known(name)
        return grid, PowerSolver(grid_of(grid))
    fields = {field: list(values) for field, values in known("six.m").fields.items() if field != "base_mva"}
    for field, changes in TIGHT[name][0].items():
        for row, value in changes.items():
            fields[field][row] = value
    grid = Known(known("six.m").sets, fields)
    return grid, PowerSolver(grid_of(grid))


def lagrangian(grid, load, multipliers, x):
    buses, units = len(grid.sets["bus"]), len(grid.sets["gen"])
    re, im, p, q = np.split(x, np.cumsum([buses, buses, units]))
    value = cost(grid, p + 1j * q)
    for name, entries in parts(grid, load, re + 1j * im, p + 1j * q).items():
        value += float(multipliers[name] @ entries)
    return value


def slope(function, x, step=1e-6):
    steps = step * np.eye(len(x))
    return np.array([(function(x + move) - function(x - move)) / (2 * step) for move in steps])


def scaled(grid, factor):
    return factor * np.array(grid.fields["load"])


def test_the_shipped_case_costs_what_is_published():
    grid, solve = solver(SHIPPED)
    found = solve.solve(np.array(grid.fields["load"]))
    assert found.cost == pytest.approx(8208.5, abs=0.05)  # PGLib-OPF v23.07, BASELINE.md
    assert found.cost == pytest.approx(cost(grid, found.s), rel=1e-12)


def test_the_reference_solution_of_the_shipped_case():
    reference = json.loads((published() / "reference" / f"{SHIPPED}.json").read_text())
    grid, solve = solver(SHIPPED)
    found = solve.solve(np.array(grid.fields["load"]))
    assert found.cost == pytest.approx(reference["objective_usd_per_h"], rel=1e-7)
    assert np.angle(found.v) == pytest.approx(np.array(reference["va_rad"]), abs=2e-6)
    assert np.abs(found.v) == pytest.approx(np.array(reference["vm_pu"]), abs=2e-6)
    assert 100 * found.s.real == pytest.approx(np.array(reference["pg_mw"]), abs=1e-3)


@pytest.mark.parametrize(
    "case",
    [
        "pglib/pglib_opf_case5_pjm.m",
        "pglib/pglib_opf_case14_ieee.m",
        "pglib/pglib_opf_case57_ieee.m",
        "pglib/pglib_opf_case118_ieee.m",
        "matpower/case300.m",
    ],
)
def test_the_reference_objectives(case):
    with (published() / "reference" / "objectives.csv").open() as file:
        objectives = {row["file"]: float(row["ipopt_ac_usd_h"]) for row in csv.DictReader(file)}
    grid = known(published() / case)
    found = PowerSolver(grid_of(grid)).solve(np.array(grid.fields["load"]))
    assert found.cost == pytest.approx(objectives[case], rel=1e-7)


GRIDS = [(SHIPPED, 1.0), (SHIPPED, 0.85), ("six.m", 1.0), ("six.m", 1.15), *((name, 1.0) for name in TIGHT)]


@pytest.mark.parametrize(("name", "factor"), GRIDS)
def test_the_lagrangian_is_stationary_at_the_optimum(name, factor):
    grid, solve = solver(name)
    load = scaled(grid, factor)
    found = solve.solve(load)
    x = np.concatenate([found.v.real, found.v.imag, found.s.real, found.s.imag])
    gradient = slope(lambda at: lagrangian(grid, load, found.multipliers, at), x)
    without = slope(lambda at: cost(grid, at[-2 * len(found.s) : -len(found.s)] + 0j), x)
    assert np.abs(without).max() > 500
    assert np.abs(gradient).max() < 1e-3


@pytest.mark.parametrize(("name", "factor"), GRIDS)
def test_rows_hold_and_multipliers_have_their_sign_and_rest_on_tight_rows(name, factor):
    grid, solve = solver(name)
    load = scaled(grid, factor)
    found = solve.solve(load)
    residuals = parts(grid, load, found.v, found.s)
    assert set(found.multipliers) == set(residuals)
    for part, entries in residuals.items():
        assert len(entries) == len(found.multipliers[part]) == part_sizes(solve.grid)[part], part
        if part in EQUALITIES:
            assert np.abs(entries).max() < 1e-7, part
        else:
            assert entries.max() < 2e-7, part  # the solver widens every limit by 1e-8, squared flows by as much
            assert found.multipliers[part].min() >= 0, part
            assert np.abs(entries * found.multipliers[part]).max() < 1e-2, part  # $/h


def test_the_tight_rows_of_the_shipped_case():
    grid, solve = solver(SHIPPED)
    found = solve.solve(np.array(grid.fields["load"]))
    tight = {
        f"{part}[{grid.sets[members][row]}]"
        for part, members in (
            ("voltage.lower", "bus"),
            ("voltage.upper", "bus"),
            ("generation.re.lower", "gen"),
            ("generation.re.upper", "gen"),
            ("generation.im.lower", "gen"),
            ("generation.im.upper", "gen"),
            ("flow_source", "branch"),
            ("flow_target", "branch"),
            ("angle.lower", "branch"),
            ("angle.upper", "branch"),
        )
        for row in np.flatnonzero(found.multipliers[part] > 1)
    }
    assert tight == {
        *(f"generation.re.upper[{unit}]" for unit in ("3@5", "4@8", "5@11", "6@13")),
        *(f"voltage.upper[{bus}]" for bus in ("1", "11", "13")),
        "generation.im.upper[4@8]",
        "flow_source[1->2]",
    }


@pytest.mark.parametrize("name", TIGHT)
def test_the_variants_bind_where_they_should(name):
    grid, solve = solver(name)
    multipliers = solve.solve(scaled(grid, 1.0)).multipliers
    assert {part for part in TIGHT[name][1] if multipliers[part].max() > 1} == TIGHT[name][1]


def test_a_multiplier_is_the_price_of_its_limit():
    """Envelope theorem: with the limit of line 1-2 raised by d, the cost falls by multiplier * d."""
    grid, solve = solver(SHIPPED)
    load = np.array(grid.fields["load"])
    price = solve.solve(load).multipliers["flow_source"][0]
    costs = []
    for step in (-1e-3, 1e-3):
        rate = np.array(grid.fields["rate"])
        rate[0] += step
        changed = replace(grid_of(grid), rate=rate)
        costs.append(PowerSolver(changed).solve(load).cost)
    assert (costs[0] - costs[1]) / 2e-3 == pytest.approx(price, rel=1e-4)


def test_a_price_of_power_is_the_multiplier_of_the_balance():
    """d cost / d load = - multiplier, since the load stands on the left with a minus."""
    grid, solve = solver(SHIPPED)
    load = np.array(grid.fields["load"])
    step = np.zeros(len(load))
    step[20] = 1e-4
    for direction, part in ((1, "balance.re"), (1j, "balance.im")):
        change = solve.solve(load + direction * step).cost - solve.solve(load - direction * step).cost
        assert change / 2e-4 == pytest.approx(-solve.solve(load).multipliers[part][20], rel=1e-4)


def test_a_solve_does_not_depend_on_the_one_before():
    grid, solve = solver("six.m")
    first = solve.solve(scaled(grid, 1.0))
    solve.solve(scaled(grid, 1.2))
    assert solve.solve(scaled(grid, 9.0)) is None
    again = solve.solve(scaled(grid, 1.0))
    assert again.cost == first.cost
    assert np.array_equal(again.v, first.v)


def test_where_the_nominal_demand_has_no_optimum_others_are_solved_from_a_flat_start():
    grid = known("six.m")
    heavy = replace(grid_of(grid), load=scaled(grid, 9.0))
    solve = PowerSolver(heavy)
    assert solve.solve(heavy.load) is None
    other = solver("six.m")[1].solve(scaled(grid, 1.0))
    assert solve.solve(scaled(grid, 1.0)).cost == pytest.approx(other.cost, rel=1e-7)


def test_the_iteration_limit_counts_as_unsolved():
    grid = known("six.m")
    solve = PowerSolver(grid_of(grid), iterations=2)
    assert solve.solve(scaled(grid, 1.0)) is None
    assert solve.status == "Maximum_Iterations_Exceeded"


def test_an_interruption_is_not_taken_for_a_demand_without_an_optimum():
    """A child that is sent SIGINT while it solves must stop, and must find an optimum for every demand until then."""
    code = f"""
import os, signal, sys, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)
from pdual.packs.power.declarations.sources import PowerCaseSettings
from pdual.runtime.data.context import SourceContext
from pdual.packs.power.cases.case import load_case
from pdual.packs.power.optima.grid import grid_of
from pdual.packs.power.optima.optimum import PowerSolver
grid = grid_of(load_case(PowerCaseSettings(name={str(CASES / "six.m")!r}), SourceContext()))
solver, ends = PowerSolver(grid), time.monotonic() + 60
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    while time.monotonic() < ends:
        if solver.solve(grid.load) is None:
            sys.exit(solver.status)
except KeyboardInterrupt:
    print("interrupted")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "interrupted"


def test_flows_of_arrays_are_the_flows_of_the_spec():
    grid = known(CASES / "six.m")
    v = np.linspace(0.9, 1.1, 6) * np.exp(1j * np.linspace(-0.5, 0.7, 6))
    out, into = flows(grid, v)
    found = vector_flows(grid_of(grid), v)
    assert found[0] == pytest.approx(out, abs=1e-13)
    assert found[1] == pytest.approx(into, abs=1e-13)


def bent(grid):
    """The first unit's cost in pieces."""
    slope = np.zeros((grid.units, 2))
    height = slope.copy()
    slope[0], height[0, 1] = (100.0, 5000.0), -4900 * 0.3
    return replace(grid, slope=slope, height=height, c1=np.where(np.arange(grid.units) == 0, 0.0, grid.c1))


@pytest.mark.parametrize("case", [SHIPPED, "six.m", "flow", "angle", "steep", "small", "pieces"])
def test_the_linear_start_is_the_optimum_of_the_dc_power_flow(case):
    """Against CVXPY, bus by bus and branch by branch."""
    import cvxpy

    grid = bent(grid_of(known("six.m"))) if case == "pieces" else grid_of(solver(case)[0])
    theta, p = cvxpy.Variable(grid.buses), cvxpy.Variable(grid.units)
    into = [[] for _ in range(grid.buses)]
    rows = [theta[int(np.flatnonzero(grid.slack)[0])] == 0, p >= grid.s_min.real, p <= grid.s_max.real]
    for n, (source, target) in enumerate(zip(grid.source, grid.target, strict=True)):
        across = theta[source] - theta[target]
        flow = -grid.series[n].imag / abs(grid.tap[n]) * (across - np.angle(grid.tap[n]))
        rows += [across >= grid.angle_min[n], across <= grid.angle_max[n]]
        rows += [cvxpy.abs(flow) <= grid.rate[n]] if np.isfinite(grid.rate[n]) else []
        into[source].append(flow)
        into[target].append(-flow)
    for bus in range(grid.buses):
        made = sum(p[unit] for unit in np.flatnonzero(grid.at == bus))
        rows.append(made - grid.load[bus].real - grid.shunt[bus].real == sum(into[bus]))
    prices = grid.c1 + grid.c2 * (grid.s_min.real + grid.s_max.real)
    pieces = [cvxpy.max(grid.height[unit] + grid.slope[unit] * p[unit]) for unit in grid.bent]
    total = prices @ p + sum(pieces)
    best = cvxpy.Problem(cvxpy.Minimize(total), rows).solve(solver=cvxpy.CLARABEL)
    found = optimal_power_flow(grid).linear
    if found is None:
        assert best == np.inf
        return
    angles, _, power, _ = optimal_power_flow(grid).variables(found)
    theta.value, p.value = angles, power
    assert max(float(np.max(row.violation())) for row in rows) < 1e-6
    assert total.value == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("kept", ["start", "own", "linear"])
def test_the_best_end_of_all_starts_is_taken(kept, monkeypatch):
    """Whichever start it is that leads to an optimum, the others leading nowhere."""
    grid = grid_of(known("six.m"))
    best = PowerSolver(grid).solve(grid.load).cost

    def one_start(grid):
        problem = optimal_power_flow(grid)
        good = {"start": problem.start, "own": problem.start, "linear": problem.linear}[kept]
        return replace(problem, **{**dict.fromkeys(("start", "own", "linear"), np.full_like(good, np.nan)), kept: good})

    monkeypatch.setattr("pdual.packs.power.optima.optimum.optimal_power_flow", one_start)
    assert PowerSolver(grid).solve(grid.load).cost == pytest.approx(best, rel=1e-6)
