"""What a run reached beside what ``pdual bounds`` promises, every constant of the certificate known.

The rows are the whole population, so the rates zeta are 0; a model with a vector for every row can say anything, so nuH is 0; s is the
optimum of a linear program; nuPhi is the distance of the multipliers that were found from the optimal ones. On rows that were not
trained on the true rates and nuH are larger, and so are the bounds, which grow with each of them: what lies inside here lies inside there.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from measuring import Held, Solved
from programs import Array

from pdual.bounding.report import report

#: Rows that every threshold is moved on.
MOVED_ROWS = 24


def certificate(solved: Solved, margin: float, rows: int | None = None) -> Mapping[str, float]:
    """The bounds by name, for the first ``rows`` rows as the population; all of them by default."""
    away = np.abs(solved.multipliers - solved.prices)[:rows].mean(0).max()
    known = {"s": margin, "nuH": 0.0, "nuPhi": away, "zeta0": 0.0, "zeta": 0.0, "zetaL": 0.0, "rho": solved.program.rho}
    found = report(solved.run.outcome.graph, {name: float(value) for name, value in known.items()})
    assert found.covered, [item for item in found.assumptions if item.verdict == "fails"]
    bounds = {bound.name: bound.value for bound in found.bounds}
    assert all(value is not None for value in bounds.values())
    return bounds  # type: ignore[return-value]


def checked(solved: Solved, margin: float) -> list[Held]:
    """Every bound with what it is about: the plain ones at the minimiser of the Lagrangian, the augmented ones at the run's own x."""
    program, z, lam = solved.program, solved.z, solved.multipliers
    bounds = certificate(solved, margin)
    value = solved.values.mean()
    plain = program.unconstrained(z, lam)
    found = []
    for suffix, x in (("", plain), (" augmented", solved.x)):
        residuals = program.residuals(x, z)
        violation = np.linalg.norm(np.maximum(residuals, 0), axis=1).mean()
        if suffix:
            rest = np.maximum(residuals, -lam / program.rho)
            dual = program.objective(x, z) + (lam * rest + program.rho / 2 * rest**2).sum(1)
        else:
            dual = program.objective(x, z) + (lam * residuals).sum(1)
        error = abs(program.objective(x, z).mean() - value)
        found += [
            Held(f"Delta_D{suffix}", abs(float(dual.mean()) - value), bounds[f"Delta_D{suffix}"]),
            Held(f"Delta_F{suffix}", float(violation), bounds[f"Delta_F{suffix}"]),
            Held(f"Delta_O{suffix}", float(error), bounds[f"Delta_O{suffix}"]),
        ]
    return found + _sensitivity(solved, margin)


def _sensitivity(solved: Solved, margin: float) -> list[Held]:
    """P(u) >= P(0) - E[lam u] - slack for moved thresholds: all, one of them, by row; what falls short is measured."""
    rows = slice(MOVED_ROWS)
    bounds = certificate(solved, margin, MOVED_ROWS)
    z, lam = solved.z[rows], solved.multipliers[rows]
    single = np.zeros(lam.shape[1])
    single[-1] = 0.1
    by_row = np.random.default_rng(5).uniform(-0.05, 0.05, lam.shape)
    short = [
        _shortfall(solved, z, lam, by)
        for by in (np.full(lam.shape[1], -0.05), np.full(lam.shape[1], 0.1), single, by_row)
    ]
    return [Held(name, max(short), bounds[name]) for name in ("sensitivity", "sensitivity augmented")]


def _shortfall(solved: Solved, z: Array, lam: Array, by: Array) -> float:
    moved = solved.program.optima(z, by)[2].mean()
    promised = solved.values[: len(z)].mean() - (lam * by).sum(1).mean()
    return float(promised - moved)
