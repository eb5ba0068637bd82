"""Strongly convex quadratic programs whose data move with z, as specs and as the matrices that an independent solver reads.

min over x(z) of E (x - z)' P (x - z) / 2  subject to  A x - D z - e <= 0, or == 0, a row at a time. Both forms are written by hand;
``scales`` are the feasible ranges that the language divides rows by, worked out by hand too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import cvxpy
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: How exactly the independent solver is asked to solve.
TIGHT = {"solver": cvxpy.CLARABEL, "tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}


@dataclass(frozen=True)
class Program:
    """One problem; ``statements`` are the block's, ``width`` is that of x and of z, in [-1, 1].

    ``parts``: entries by part, in the order of A's rows. ``shared`` says that all rows have the same multipliers, ``closed`` gives
    the multipliers in closed form where there is one: [rows, width] to [rows, constraints], unscaled.
    """

    name: str
    statements: str
    hessian: Array
    matrix: Array
    moving: Array
    fixed: Array
    equal: Array
    scales: Array
    parts: tuple[tuple[str, int], ...]
    rho: float = 10.0
    cap: float = 4.0
    shared: bool = False
    closed: Callable[[Array], Array] | None = None

    @property
    def width(self) -> int:
        """Numbers in x and in z."""
        return self.hessian.shape[0]

    @property
    def covered(self) -> bool:
        """Whether the theorems are about it: an equality has no interior."""
        return not self.equal.any()

    def text(self, model: str, dual: str, solve: str, unseen: float) -> str:
        """The whole spec; a share ``unseen`` of the rows is kept for the test split. ``dual``: a kind, or the word ``formula``."""
        declared, duals = (
            self._formulas() if dual == "formula" else ("", f"dual default = {dual.replace('CAP', str(self.cap))}")
        )
        return f"""problem {self.name} "a quadratic program for every z"
set i = 0..{self.width - 1}
data d {{
  split = [{1 - unseen}, 0, {unseen}]
  z: real[i] in [-1, 1]
}}
model f(z: real[i]) -> real[i] in [-3, 3] = {model}
{declared}over r in d {{
  let x = f(r.z)
  {self.statements}
  {duals}
}}
solve {{ rho = {self.rho}, rho_equal = {min(self.rho, 10.0)}, {solve} }}
"""

    def _formulas(self) -> tuple[str, str]:
        """A network with an output for every part of one entry, another for the part of many; a formula of them for each part."""
        networks, lines, singles, first = "", [], 0, 0
        for name, size in self.parts:
            shape = "tanh" if self.equal[first] else "sigmoid"
            if size > 1:
                networks += "model w(z: real[i]) -> real[i] = mlp(hidden = [32, 32])\n"
                lines.append(f"dual {name}[k] = {self.cap} * {shape}(w(r.z)[k])")
            else:
                lines.append(f"dual {name} = {self.cap} * {shape}(q(r.z)[{singles}])")
                singles += 1
            first += size
        if singles:
            networks += f"set one = 0..{singles - 1}\nmodel q(z: real[i]) -> real[one] = mlp(hidden = [32, 32])\n"
        return networks, "\n  ".join(lines)

    def right(self, z: Array) -> Array:
        """What A x is compared with: [rows, constraints]."""
        return z @ self.moving.T + self.fixed

    def objective(self, x: Array, z: Array) -> Array:
        """[rows]."""
        off = x - z
        return np.asarray(((off @ self.hessian) * off).sum(1) / 2)

    def residuals(self, x: Array, z: Array) -> Array:
        """left - right, scaled: [rows, constraints]."""
        return (x @ self.matrix.T - self.right(z)) / self.scales

    def unconstrained(self, z: Array, multipliers: Array) -> Array:
        """The minimiser of the Lagrangian at scaled multipliers, x = z - P^-1 A' (lam / scales): [rows, width]."""
        prices = multipliers / self.scales
        return z - np.linalg.solve(self.hessian, self.matrix.T @ prices.T).T

    @cached_property
    def _solver(self) -> tuple[cvxpy.Problem, cvxpy.Variable, cvxpy.Parameter, cvxpy.Parameter, list[cvxpy.Constraint]]:
        x = cvxpy.Variable(self.width)
        at, right = cvxpy.Parameter(self.width), cvxpy.Parameter(len(self.fixed))
        root = np.linalg.cholesky(self.hessian).T
        gap = self.matrix @ x - right
        rows = [gap[k] == 0 if equal else gap[k] <= 0 for k, equal in enumerate(self.equal)]
        problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(root @ (x - at)) / 2), rows)
        return problem, x, at, right, rows

    def optima(self, z: Array, by: Array | float = 0.0) -> tuple[Array, Array, Array]:
        """x*, the multipliers of the scaled rows, and the values, row by row, from CVXPY.

        ``by`` is added to what scaled rows are compared with: a number, [constraints] or [rows, constraints].
        """
        problem, x, at, right, rows = self._solver
        moved = self.right(z) + np.broadcast_to(by, (len(z), len(self.fixed))) * self.scales
        found = []
        for target, limit in zip(z, moved, strict=True):
            at.value, right.value = target, limit
            problem.solve(**TIGHT)
            assert problem.status == "optimal", problem.status
            prices = np.array([float(row.dual_value) for row in rows]) * self.scales
            found.append((x.value.copy(), prices, float(problem.value)))
        return tuple(np.array(column) for column in zip(*found, strict=True))  # type: ignore[return-value]

    def margin(self) -> float:
        """The Slater margin s: the largest that scaled rows can all be below 0 by at once, at the worst z.

        It is concave in z, so the corners of the box tell.
        """
        corners = np.array(np.meshgrid(*[[-1.0, 1.0]] * self.width)).reshape(self.width, -1).T
        found = []
        for z in corners:
            x, s = cvxpy.Variable(self.width), cvxpy.Variable()
            rows = (self.matrix @ x - self.right(z[None])[0]) / self.scales
            problem = cvxpy.Problem(cvxpy.Maximize(s), [rows <= -s, cvxpy.abs(x) <= 3, s <= 100])
            found.append(float(problem.solve(solver=cvxpy.CLARABEL)))
        return min(found)


def _a(*rows: object) -> Array:
    return np.array(rows, dtype=np.float64)


def _half_space(z: Array) -> Array:
    """[z0 + z1 - 1/4]_+ / 2: half the distance to the border, in each coordinate."""
    return np.maximum(z.sum(1, keepdims=True) - 0.25, 0) / 2


def _balance(z: Array) -> Array:
    """x0 + x1 + x2 == 0.3 z0 without the bound: the mean of z less 0.1 z0."""
    return z.mean(1, keepdims=True) - 0.1 * z[:, :1]


BALL = "minimize sum[k in i]((x[k] - r.z[k])^2) / 2"
FLAT = np.array([False] * 8)

PROGRAMS = (
    Program(
        name="half_space",
        statements=f"{BALL}\n  subject to low: x[0] + x[1] <= 0.25",
        # x >= -3, so x0 + x1 <= 0.25 leaves 6.25 of room.
        hessian=np.eye(2), matrix=_a([1, 1]), moving=np.zeros((1, 2)), fixed=_a(0.25),
        equal=FLAT[:1], scales=_a(6.25), parts=(("low", 1),), rho=200.0, cap=8.0, closed=_half_space,
    ),
    Program(
        name="corner",
        statements="minimize (sum[k in i]((x[k] - r.z[k])^2) + (x[0] + x[1] - r.z[0] - r.z[1])^2 / 2) / 2\n"
        "  subject to\n    box[k in i]: x[k] <= 0.3\n    total: x[0] + x[1] <= 0.4",
        hessian=_a([1.5, 0.5], [0.5, 1.5]), matrix=_a([1, 0], [0, 1], [1, 1]), moving=np.zeros((3, 2)),
        fixed=_a(0.3, 0.3, 0.4), equal=FLAT[:3], scales=_a(3.3, 3.3, 6.4), parts=(("box", 2), ("total", 1)), rho=200.0, cap=16.0,
    ),
    Program(
        name="moving",
        statements="minimize ((x[0] - r.z[0])^2 + 3 * (x[1] - r.z[1])^2 + (x[2] - r.z[2])^2) / 2\n"
        "  subject to\n    above scale 1: x[0] - x[1] <= 0.5 * r.z[2]\n    wall scale 2: 0.6 - 0.4 * r.z[2] >= 2 * x[1]",
        hessian=np.diag([1.0, 3.0, 1.0]), matrix=_a([1, -1, 0], [0, 2, 0]),
        moving=_a([0, 0, 0.5], [0, 0, -0.4]), fixed=_a(0, 0.6), equal=FLAT[:2], scales=_a(1, 2), parts=(("above", 1), ("wall", 1)),
    ),
    Program(
        name="between",
        statements=f"{BALL}\n  subject to band: -0.2 <= x[0] + x[1] / 2 <= 0.3",
        # The lower side first: -0.2 - (x0 + x1 / 2) <= 0. Both are divided by the width.
        hessian=np.eye(2), matrix=_a([-1, -0.5], [1, 0.5]), moving=np.zeros((2, 2)), fixed=_a(0.2, 0.3),
        equal=FLAT[:2], scales=_a(0.5, 0.5), parts=(("band.lower", 1), ("band.upper", 1)), rho=5.0,
    ),
    Program(
        name="balance",
        statements=f"{BALL}\n  subject to total: sum[k in i](x[k]) == 0.3 * r.z[0]",
        hessian=np.eye(3), matrix=_a([1, 1, 1]), moving=_a([0.3, 0, 0]), fixed=_a(0), equal=~FLAT[:1],
        scales=_a(1), parts=(("total", 1),), closed=_balance,
    ),
    Program(
        name="mixed",
        statements=f"{BALL}\n  subject to\n    total: sum[k in i](x[k]) == 0.3 * r.z[0]\n    last: x[2] <= 0.2\n"
        "    first: x[0] - x[1] <= 0.5",
        hessian=np.eye(3), matrix=_a([1, 1, 1], [0, 0, 1], [1, -1, 0]), moving=_a([0.3, 0, 0], [0] * 3, [0] * 3),
        fixed=_a(0, 0.2, 0.5), equal=np.array([True, False, False]), scales=_a(1, 3.2, 6.5), rho=200.0, cap=8.0,
        parts=(("total", 1), ("last", 1), ("first", 1)),
    ),
    Program(
        name="alike",
        statements=f"{BALL}\n  subject to below[k in i] scale 1: x[k] <= r.z[k] - 0.7",
        hessian=np.eye(2), matrix=np.eye(2), moving=np.eye(2), fixed=_a(-0.7, -0.7), equal=FLAT[:2],
        scales=_a(1, 1), parts=(("below", 2),), shared=True, closed=lambda z: np.full((len(z), 2), 0.7),
    ),
    Program(
        name="alike_equal",
        statements=f"{BALL}\n  subject to\n    sum_is: x[0] + x[1] == r.z[0] + r.z[1] + 0.4\n    below scale 1: x[0] <= r.z[0] - 0.2",
        # x0 = z0 - 0.2 and x1 = z1 + 0.6: lam_sum = -0.6, and z0 - x0 = 0.2 = lam_sum + lam_below.
        hessian=np.eye(2), matrix=_a([1, 1], [1, 0]), moving=_a([1, 1], [1, 0]), fixed=_a(0.4, -0.2),
        equal=np.array([True, False]), scales=_a(1, 1), parts=(("sum_is", 1), ("below", 1)), shared=True,
        closed=lambda z: np.tile([-0.6, 0.8], (len(z), 1)),
    ),
)  # fmt: skip
BY_NAME = {item.name: item for item in PROGRAMS}
