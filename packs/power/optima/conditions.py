"""Is a point optimal to first order? Asked of ends that the solver itself calls no more than acceptable."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi
import numpy as np

from pdual.packs.power.optima.grid import Complexes, Reals
from pdual.packs.power.optima.problem import Problem

#: The largest residual of an optimum.
EXACT = 1e-6


class Conditions:
    """The conditions of Karush, Kuhn and Tucker of a problem, as one relative residual."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._function: Any = None  # most grids never need it

    def residual(self, load: Complexes, found: Mapping[str, Any]) -> float:
        """The largest of four, infinite where a number is not finite.

        A violation of a limit relative to the limit (or to 1 per unit where that is larger); a slope of the Lagrangian relative to
        the largest slope of the cost; multiplier times distance to the limit relative to the cost; a multiplier on a side without
        a limit, relative as slopes are.
        """
        problem = self._problem
        if self._function is None:
            self._function = _derivatives(problem)
        x, lam_x, lam_g = (np.asarray(found[name], dtype=np.float64).reshape(-1) for name in ("x", "lam_x", "lam_g"))
        numbers = self._function(x, np.concatenate([load.real, load.imag]), lam_g)
        cost, own, slope, rows = (np.asarray(item, dtype=np.float64).reshape(-1) for item in numbers)
        values = np.concatenate([x, rows])
        multipliers = np.concatenate([lam_x, lam_g])
        lower, upper = (np.concatenate(pair) for pair in self._sides())
        steepest = max(1.0, float(np.abs(own).max(initial=0.0)))
        distance = np.where(multipliers > 0, upper - values, values - lower)
        endless = ~np.isfinite(distance)
        products = np.abs(multipliers) * np.abs(np.where(endless, 0.0, distance))
        residuals = np.array(
            [
                max(_excess(values - upper, upper), _excess(lower - values, lower)),
                np.abs(slope + lam_x).max(initial=0.0) / steepest,
                products.sum() / max(1.0, abs(float(cost[0]))),
                np.abs(multipliers[endless]).max(initial=0.0) / steepest,
            ]
        )
        return float(residuals.max()) if np.all(np.isfinite(residuals)) else float("inf")

    def _sides(self) -> tuple[tuple[Reals, Reals], tuple[Reals, Reals]]:
        problem = self._problem
        return (problem.lower, problem.row_lower), (problem.upper, problem.row_upper)


def _excess(over: Reals, limit: Reals) -> float:
    room = np.where(np.isfinite(limit), np.maximum(1.0, np.abs(limit)), 1.0)
    return float((np.where(np.isfinite(limit), over, 0.0) / room).max(initial=0.0))


def _derivatives(problem: Problem) -> Any:
    """Cost, its slopes, the slopes of the Lagrangian without the limits of variables, and the rows."""
    symbols = problem.symbols
    multipliers = casadi.SX.sym("multipliers", symbols["g"].shape[0])
    lagrangian = symbols["f"] + casadi.dot(multipliers, symbols["g"])
    slopes = [casadi.gradient(value, symbols["x"]) for value in (symbols["f"], lagrangian)]
    results = [symbols["f"], *slopes, symbols["g"]]
    return casadi.Function("conditions", [symbols["x"], symbols["p"], multipliers], results)
