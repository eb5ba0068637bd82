"""The certificate: the paper's bounds as numbers where every constant is known, as an expression in what is missing otherwise.

Vector form of the theorems, in scaled units: L Gamma becomes the sum of L_i Gamma_i, L^2 the sum of L_i^2, B nu_Phi the sum of B_i
nu_Phi, zeta that of every entry; violations are the Euclidean norm over entries, whose sampling error is at most n zeta.

Boero, Nixon and Ribeiro, "Learning Samples Importance: Parameterizing Dual Variables in
Everywhere Learning": the theorems on statistical primal recovery and
empirical approximate sensitivity.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

import sympy

B0, B, L0, LC, L2, L1, MU, G, S = sympy.symbols("B0 B L0 LC L2 L1 mu Gamma s", nonnegative=True)
NUH, NUPHI, ZETA0, ZETA, ZETAL, RHO = sympy.symbols("nuH nuPhi zeta0 zeta zetaL rho", nonnegative=True)
N, N0, DELTA, R0, R, RL, W, COUNT = sympy.symbols("N N0 delta R0 R RL W n", positive=True)
V0 = sympy.Symbol("V0", nonnegative=True)

#: What each symbol stands for.
MEANINGS: Mapping[str, str] = {
    "B0": "largest |objective|", "V0": "largest - smallest objective",
    "B": "sum of the largest |row| of every entry", "L0": "Lipschitz constant of the objective",
    "LC": "sum of L_i Gamma_i over entries", "L2": "sum of L_i^2 over entries", "L1": "sum of L_i over entries",
    "mu": "strong convexity of the objective in the predictions", "Gamma": "sum of the caps of all entries",
    "s": "Slater margin, scaled", "nuH": "distance of the model class from its convex hull",
    "nuPhi": "L1 distance of the dual class from the optimal multiplier", "zeta0": "uniform convergence of the objective",
    "zeta": "uniform convergence of a row", "zetaL": "uniform convergence of the dual class", "rho": "penalty",
    "N": "rows of the constraints", "N0": "rows of the objective", "delta": "probability of failure of each event",
    "W": "sum of max(B_i, Gamma_i / rho) over entries", "n": "entries a row",
    "R0": "Rademacher complexity of the objective's class", "R": "of a row's class", "RL": "of the dual class",
}  # fmt: skip


@dataclass(frozen=True)
class Bound:
    """One bound: its name, what it bounds, the formula, and its value, or the expression that is left."""

    name: str
    bounds: str
    formula: str
    value: float | None
    left: str
    missing: tuple[str, ...]


def rate(complexity: Any, largest: Any, rows: Any) -> Any:
    """4 R + 2 M sqrt(2 log(2 / delta) / N): the rate that a Rademacher complexity gives."""
    return 4 * complexity + 2 * largest * sympy.sqrt(2 * sympy.log(2 / DELTA) / rows)


def formulas() -> Mapping[str, tuple[str, Any]]:
    """Every bound by name: what it bounds, and the expression."""
    # |psi'(t)| <= Gamma + rho B, so the augmented rate is that of a row times this (contraction, a fixed multiplier).
    zeta_a = (G + RHO * B) * ZETA
    delta_d = B * NUPHI + ZETA0 + G * ZETA
    c = L0 + LC
    delta_f = sympy.sqrt(2 * L2 / MU * (delta_d + ZETA0 + c * NUH)) + sympy.sqrt(2 * L2 * c * NUH / MU) + COUNT * ZETA
    # The multipliers of an optimum sum to (largest - smallest objective) / s at most, whatever the objective's sign.
    gap = (L0 + L1 * V0 / S) * NUH
    delta_o = ZETA0 + delta_d + gap + (G + B * MU / L2) * delta_f
    sensitivity = gap + B * NUPHI + 2 * ZETA0 + 2 * G * ZETA + B * ZETAL
    widest = W  # the paper's max(B, Gamma / rho)
    delta_d_a = widest * NUPHI + ZETA0 + zeta_a
    c_a = L0 + LC + RHO * B * L1
    epsilon = delta_d_a + ZETA0 + c_a * NUH
    # sqrt(x / mu) is 0 where nuH is 0, also without strong convexity.
    hull = sympy.Piecewise((0, sympy.Eq(NUH, 0)), (sympy.sqrt(2 * L2 * c_a * NUH / MU), True))
    delta_r = sympy.sqrt(2 * epsilon / RHO) + hull
    return {
        "Delta_D": ("|D* - D*_Phi|", delta_d),
        "Delta_F": ("E ||[l]_+||", delta_f),
        "Delta_O": ("|E l0 - P*|", delta_o),
        "sensitivity": ("slack of the subgradient inequality", sensitivity),
        "Delta_D augmented": ("|D* - D*_Phi|", delta_d_a),
        "Delta_F augmented": ("E ||[l]_+||", delta_r + COUNT * ZETA),
        "Delta_O augmented": ("|E l0 - P*|", ZETA0 + delta_d_a + gap + (G + RHO / 2 * widest) * delta_r),
        "sensitivity augmented": (
            "slack of the subgradient inequality", gap + widest * NUPHI + 2 * ZETA0 + 2 * zeta_a + widest * ZETAL,
        ),
    }  # fmt: skip


def certificate(known: Mapping[str, float]) -> list[Bound]:
    """All bounds with what is known put in; constants that are infinite count as missing."""
    finite = {name: value for name, value in known.items() if isfinite(value)}
    rates = {ZETA0: rate(R0, B0, N0), ZETA: rate(R, B, N), ZETAL: rate(RL, G, N)}
    derived = {symbol: expression for symbol, expression in rates.items() if str(symbol) not in finite}
    values = {symbol: finite[str(symbol)] for symbol in _symbols() if str(symbol) in finite}
    found = []
    for name, (what, expression) in formulas().items():
        # A rate is written out only where its complexity is known.
        written_out = {symbol: rated for symbol, rated in derived.items() if not _missing(rated, finite)}
        rest = expression.subs(written_out).subs(values)
        missing = tuple(sorted(map(str, rest.free_symbols)))
        value = float(rest) if not missing and rest.is_finite else None
        left = str(rest) if value is None else f"{value:.6g}"
        found.append(Bound(name, what, str(expression), value, left, missing))
    return found


def _symbols() -> list[Any]:
    return [B0, V0, B, L0, LC, L2, L1, MU, G, S, NUH, NUPHI, ZETA0, ZETA, ZETAL, RHO, N, N0, DELTA, R0, R, RL, W, COUNT]


def _missing(expression: Any, known: Mapping[str, float]) -> bool:
    return any(str(symbol) not in known for symbol in expression.free_symbols)
