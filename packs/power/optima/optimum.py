"""AC optimal power flow of one demand: IPOPT on a parametric problem that is built once. No torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi
import numpy as np

from pdual.packs.power.optima.conditions import EXACT, Conditions
from pdual.packs.power.optima.grid import Complexes, Grid, Reals
from pdual.packs.power.optima.problem import Problem, optimal_power_flow

SOLVED = "Solve_Succeeded"
ACCEPTABLE = "Solved_To_Acceptable_Level"
INFEASIBLE = "Infeasible_Problem_Detected"
# What Ctrl-C leads to: casadi swallows it inside a solve, and the demand must not pass for one without an optimum.
_INTERRUPTED = ("User_Requested_Stop", "NonIpopt_Exception_Thrown")

_OPTIONS: dict[str, Any] = {
    # A file `ipopt.opt` in the current folder would be read: it sets tolerances, names files to write and libraries to load.
    "option_file_name": "",
    "print_level": 0,
    "sb": "yes",
    "tol": 1e-8,
    "acceptable_iter": 0,  # what meets a looser tolerance only is not the end of a search
}
_QUICK: dict[str, Any] = {
    # One draw in five has no solution. This halves what such a draw costs; the draws kept and their optima
    # stay the same (measured on case30 at 20 % and 40 %, and on its api variant at 10 %).
    # On some large grids it leads to a worse optimum; the nominal demand tells which.
    "expect_infeasible_problem": "yes",
}
_BETTER = 1e-6  # an optimum that is not lower by more, relative to the cost, is the same one
_FROM_NOMINAL: dict[str, Any] = {
    "warm_start_init_point": "yes",
    "mu_init": 1e-4,
    "warm_start_bound_push": 1e-6,
    "warm_start_bound_frac": 1e-6,
    "warm_start_slack_bound_push": 1e-6,
    "warm_start_slack_bound_frac": 1e-6,
    "warm_start_mult_bound_push": 1e-6,
}


@dataclass(frozen=True, slots=True)
class Optimum:
    """The optimum of one demand.

    ``cost`` in $/h; ``v`` [bus] and ``s`` [gen] in per unit. ``multipliers`` by part (``voltage.upper``) in
    $/h per unit of the part's own quantity, for L = cost + sum of multiplier * (left - right); an infinite
    side has no entry.
    """

    cost: float
    v: Complexes
    s: Complexes
    multipliers: dict[str, Reals]


class PowerSolver:
    """Solves demands on one grid, each from the nominal optimum: the order of solves does not matter.

    The nominal demand is solved from several starts, and the best end is taken: a flat one, quickly and patiently, the
    operating point that the grid's file holds, and the optimum of the DC power flow.
    """

    def __init__(self, grid: Grid, iterations: int = 300) -> None:
        self.grid = grid
        self.status = ""
        self._problem = optimal_power_flow(grid)
        self._conditions = Conditions(self._problem)
        options = {"max_iter": iterations, **_OPTIONS}
        self._cold = _ipopt(self._problem, options | _QUICK)
        nominal = self._from(self._cold, self._problem.start)
        patient = _ipopt(self._problem, options)
        for start in (self._problem.start, self._problem.own, self._problem.linear):
            found = None if start is None else self._from(patient, start)
            if found is not None and (nominal is None or _is_better(found, nominal)):
                nominal, self._cold, options = found, patient, options | {"expect_infeasible_problem": "no"}
        warm = options if "expect_infeasible_problem" in options else options | _QUICK
        self._warm = _ipopt(self._problem, warm | _FROM_NOMINAL)
        self._nominal = (
            None if nominal is None else {"x0": nominal["x"], "lam_x0": nominal["lam_x"], "lam_g0": nominal["lam_g"]}
        )

    def _from(self, solver: Any, start: Reals) -> dict[str, Any] | None:
        found = self._run(solver, self.grid.load, {"x0": start})
        return found if self._is_solved(self.grid.load, found) else None

    def _is_solved(self, load: Complexes, found: dict[str, Any]) -> bool:
        """Whether the last run ended at an optimum. An end that the solver calls acceptable is one where it meets the conditions."""
        if self.status != ACCEPTABLE:
            return self.status == SOLVED
        return self._conditions.residual(load, found) < EXACT

    def solve(self, load: Complexes) -> Optimum | None:
        """The optimum of a demand ([bus], per unit), None where none is found; ``status`` says why.

        Raises KeyboardInterrupt where Ctrl-C came during the solve.
        """
        try:
            return self._solve(load)
        except (RuntimeError, SystemError) as error:
            # casadi turns the interruption of a conversion or of a call's beginning into these.
            if isinstance(error.__cause__, KeyboardInterrupt) or "KeyboardInterrupt" in str(error):
                raise KeyboardInterrupt from error
            raise

    def _solve(self, load: Complexes) -> Optimum | None:
        if self._nominal is not None:
            found = self._run(self._warm, load, self._nominal)
            if self._is_solved(load, found):
                return _optimum(self.grid, self._problem, found)
            if self.status == INFEASIBLE:
                return None
        found = self._run(self._cold, load, {"x0": self._problem.start})
        return _optimum(self.grid, self._problem, found) if self._is_solved(load, found) else None

    def _run(self, solver: Any, load: Complexes, start: dict[str, Any]) -> dict[str, Any]:
        problem = self._problem
        found: dict[str, Any] = solver(
            p=np.concatenate([load.real, load.imag]),
            lbx=problem.lower,
            ubx=problem.upper,
            lbg=problem.row_lower,
            ubg=problem.row_upper,
            **start,
        )
        self.status = str(solver.stats()["return_status"])
        if self.status in _INTERRUPTED:
            raise KeyboardInterrupt
        return found


def _is_better(found: dict[str, Any], other: dict[str, Any]) -> bool:
    cost = float(other["f"])
    return float(found["f"]) < cost - _BETTER * max(1.0, abs(cost))


def _ipopt(problem: Problem, options: dict[str, Any]) -> Any:
    settings: dict[str, Any] = {"print_time": False, "error_on_fail": False, "show_eval_warnings": False}
    return casadi.nlpsol("power", "ipopt", problem.symbols, settings | {"ipopt": options})


def part_sizes(grid: Grid) -> dict[str, int]:
    """Entries of each part of ``Optimum.multipliers``: one a side that is finite."""
    empty = _parts(grid, {name: np.zeros(size) for name, size in _quantities(grid).items()})
    return {name: len(entries) for name, entries in empty.items()}


def _optimum(grid: Grid, problem: Problem, found: dict[str, Any]) -> Optimum:
    theta, size, p, q = problem.variables(_array(found["x"]))
    slopes = dict(zip(("theta", "size", "p", "q"), problem.variables(_array(found["lam_x"])), strict=True))
    slopes |= problem.rows(_array(found["lam_g"]))
    v = size * np.exp(1j * theta)
    # a row of the problem is |S|^2 <= rate^2, a part is |S| <= rate
    for name, flow in zip(("flow_source", "flow_target"), flows(grid, v), strict=True):
        slopes[name] = slopes[name] * 2 * np.abs(flow)
    return Optimum(float(found["f"]), v, p + 1j * q, _parts(grid, slopes))


def flows(grid: Grid, v: Complexes) -> tuple[Complexes, Complexes]:
    """Power into every branch at its source and its target, [branch] in per unit, as ``power.case`` says."""
    source, target = v[grid.source] / grid.tap, v[grid.target]
    at_source, at_target = (
        np.conj(grid.series + grid.charge_source),
        np.conj(grid.series + grid.charge_target),
    )
    out = at_source * np.abs(source) ** 2 - np.conj(grid.series) * source * np.conj(target)
    into = at_target * np.abs(target) ** 2 - np.conj(grid.series) * np.conj(source) * target
    return out, into


def _quantities(grid: Grid) -> dict[str, int]:
    per_bus = dict.fromkeys(("theta", "size", "balance.re", "balance.im"), grid.buses)
    per_branch = dict.fromkeys(("flow_source", "flow_target", "angle"), len(grid.series))
    return per_bus | per_branch | dict.fromkeys(("p", "q"), grid.units)


def _parts(grid: Grid, slopes: dict[str, Reals]) -> dict[str, Reals]:
    """Multipliers by part from the solver's: those are positive at an upper side, negative at a lower one."""
    parts = {name: slopes[name] for name in ("balance.re", "balance.im")}
    parts["reference"] = slopes["theta"][grid.slack]
    boxes = {
        "voltage": (slopes["size"], grid.v_min, grid.v_max),
        "generation.re": (slopes["p"], grid.s_min.real, grid.s_max.real),
        "generation.im": (slopes["q"], grid.s_min.imag, grid.s_max.imag),
        "angle": (slopes["angle"], grid.angle_min, grid.angle_max),
    }
    for name, (slope, low, high) in boxes.items():
        parts[f"{name}.lower"] = np.maximum(-slope, 0.0)[np.isfinite(low)]
        parts[f"{name}.upper"] = np.maximum(slope, 0.0)[np.isfinite(high)]
    for name in ("flow_source", "flow_target"):
        parts[name] = np.maximum(slopes[name], 0.0)[np.isfinite(grid.rate)]
    return parts


def _array(value: Any) -> Reals:
    return np.asarray(value, dtype=np.float64).reshape(-1)
