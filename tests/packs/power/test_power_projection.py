"""Predictions projected on the power flow, against SciPy's root finder and the solver's optimum."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import root

from pdual.packs.power.cases.case import load_case
from pdual.packs.power.declarations.sources import PowerCaseSettings
from pdual.packs.power.evaluations.projection import project
from pdual.packs.power.models.flow import admittance, injections
from pdual.packs.power.optima.grid import Complexes, Grid, grid_of
from pdual.packs.power.optima.optimum import PowerSolver
from pdual.runtime.data.context import SourceContext

SIX = str(Path(__file__).parent / "cases" / "six.m")


def grid_named(name: str) -> Grid:
    return grid_of(load_case(PowerCaseSettings(name=name), SourceContext()))


def missing(grid: Grid, load: Complexes, v: Complexes, s: Complexes) -> float:
    """The largest mismatch of the balance at any bus."""
    given = np.zeros(grid.buses, complex)
    np.add.at(given, grid.at, s)
    fed = injections(admittance(grid), v)
    return float(np.abs(given - load - (fed[: grid.buses] + 1j * fed[grid.buses :])).max())


@pytest.mark.parametrize("name", ["pglib_opf_case30_ieee", SIX])
def test_an_optimum_stays_where_it_is(name: str) -> None:
    grid = grid_named(name)
    optimum = PowerSolver(grid).solve(grid.load)
    assert optimum is not None
    found = project(grid, grid.load[None], optimum.v[None], optimum.s[None])
    assert found.solved.tolist() == [True]
    np.testing.assert_allclose(found.v[0], optimum.v, atol=1e-6)
    np.testing.assert_allclose(found.s[0], optimum.s, atol=1e-5)


@pytest.mark.parametrize("name", ["pglib_opf_case30_ieee", SIX])
def test_a_prediction_is_brought_onto_the_balance_with_its_set_points_held(name: str) -> None:
    grid, random = grid_named(name), np.random.default_rng(0)
    optimum = PowerSolver(grid).solve(grid.load)
    assert optimum is not None
    rows = 5

    def near(values: Complexes, share: float) -> Complexes:
        shape = (rows, len(values))
        return values * (1 + share * (random.normal(size=shape) + 1j * random.normal(size=shape)))

    load, v, s = near(grid.load, 0.02), near(optimum.v, 0.01), near(optimum.s, 0.02)
    found = project(grid, load, v, s)
    assert found.solved.all()
    held = np.isin(np.arange(grid.buses), grid.at) | grid.slack
    elsewhere = ~grid.slack[grid.at]
    for row in range(rows):
        assert missing(grid, load[row], v[row], s[row]) > 1e-3
        assert missing(grid, load[row], found.v[row], found.s[row]) < 1e-7
        np.testing.assert_allclose(np.abs(found.v[row])[held], np.abs(v[row])[held], atol=1e-12)
        np.testing.assert_allclose(np.angle(found.v[row])[grid.slack], 0, atol=1e-12)
        np.testing.assert_allclose(found.s[row].real[elsewhere], s[row].real[elsewhere], atol=1e-12)


def test_the_solution_is_that_of_a_root_finder() -> None:
    grid = grid_named(SIX)
    optimum = PowerSolver(grid).solve(grid.load)
    assert optimum is not None
    s = optimum.s * 1.03
    found = project(grid, grid.load[None], optimum.v[None], s[None])
    held = np.isin(np.arange(grid.buses), grid.at) | grid.slack
    angles, sizes = np.flatnonzero(~grid.slack), np.flatnonzero(~held)
    wanted = -grid.load.copy()
    np.add.at(wanted, grid.at, s)

    def voltages(x: np.ndarray) -> Complexes:
        angle, size = np.zeros(grid.buses), np.abs(optimum.v).copy()
        angle[angles], size[sizes] = x[: len(angles)], x[len(angles) :]
        return size * np.exp(1j * angle)

    def mismatch(x: np.ndarray) -> np.ndarray:
        fed = injections(admittance(grid), voltages(x))
        return np.concatenate((fed[angles] - wanted.real[angles], fed[grid.buses + sizes] - wanted.imag[sizes]))

    start = np.concatenate((np.angle(optimum.v)[angles], np.abs(optimum.v)[sizes]))
    solution = root(mismatch, start, tol=1e-12)
    assert solution.success
    np.testing.assert_allclose(found.v[0], voltages(solution.x), atol=1e-8)


def test_what_cannot_be_solved_is_said() -> None:
    grid = grid_named(SIX)
    optimum = PowerSolver(grid).solve(grid.load)
    assert optimum is not None
    load = np.stack((grid.load, grid.load * 50))
    found = project(grid, load, np.stack((optimum.v,) * 2), np.stack((optimum.s,) * 2))
    assert found.solved.tolist() == [True, False]
    assert np.isfinite(found.v[0]).all()
