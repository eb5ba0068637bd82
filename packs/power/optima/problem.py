"""The optimal power flow as a nonlinear program over polar voltages, with the demand as its parameter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi
import numpy as np

from pdual.packs.power.optima.grid import Grid, Integers, Reals
from pdual.packs.power.optima.linear import linear_optimum


@dataclass(frozen=True)
class Problem:
    """A program for ``casadi.nlpsol``.

    Variables, one after the other: theta [bus], |v| [bus], p [gen], q [gen], and the cost y of every unit whose
    cost has pieces. Rows: balance of p [bus] and of q [bus], |out|^2 and |into|^2 of the branches with a rate,
    the angle across those with a limit that can bind, height + slope p - y of every piece.
    """

    grid: Grid
    limited: Integers  # branches with a rate
    angled: Integers  # branches with an angle limit inside (-pi, pi)
    symbols: dict[str, Any]
    lower: Reals
    upper: Reals
    row_lower: Reals
    row_upper: Reals
    start: Reals
    own: Reals | None  # the operating point of the grid's file
    linear: Reals | None  # the optimum without losses and reactive power

    def variables(self, values: Reals) -> list[Reals]:
        """theta, |v|, p and q of a vector of variables."""
        buses, units = self.grid.buses, self.grid.units
        return np.split(values, np.cumsum([buses, buses, units, units]))[:4]

    def rows(self, values: Reals) -> dict[str, Reals]:
        """A vector of rows by quantity; branches without a row get 0."""
        sizes = [self.grid.buses, self.grid.buses, len(self.limited), len(self.limited), len(self.angled)]
        re, im, out, into, angle, _ = np.split(values, np.cumsum(sizes))
        return {
            "balance.re": re,
            "balance.im": im,
            "flow_source": self._spread(out, self.limited),
            "flow_target": self._spread(into, self.limited),
            "angle": self._spread(angle, self.angled),
        }

    def _spread(self, values: Reals, branches: Integers) -> Reals:
        full = np.zeros(len(self.grid.series))
        full[branches] = values
        return full


def optimal_power_flow(grid: Grid) -> Problem:
    """min sum c0 + c1 p + c2 p^2 + max over pieces of height + slope p, over theta, |v|, p, q in their boxes, theta = 0 at the reference bus and

    generation - load - out - into - conj(shunt) |v|^2 = 0 at every bus (active, then reactive),
    |out|^2 <= rate^2, |into|^2 <= rate^2, angle_min <= theta_source - theta_target <= angle_max.
    """
    limited = np.flatnonzero(np.isfinite(grid.rate))
    angled = np.flatnonzero((grid.angle_min > -np.pi) | (grid.angle_max < np.pi))
    balance, rate, free = np.zeros(2 * grid.buses), grid.rate[limited] ** 2, np.where(grid.slack, 0.0, np.inf)
    endless = np.full(len(grid.bent), np.inf)
    pieces = len(endless) * grid.slope.shape[1]
    lower = np.concatenate([-free, grid.v_min, grid.s_min.real, grid.s_min.imag, -endless])
    upper = np.concatenate([free, grid.v_max, grid.s_max.real, grid.s_max.imag, endless])
    return Problem(
        grid,
        limited,
        angled,
        _symbols(grid, limited, angled),
        lower,
        upper,
        np.concatenate([balance, np.full(2 * len(limited), -np.inf), grid.angle_min[angled], np.full(pieces, -np.inf)]),
        np.concatenate([balance, rate, rate, grid.angle_max[angled], np.zeros(pieces)]),
        _flat_start(grid, lower, upper),
        _own_start(grid, lower, upper),
        _linear_start(grid, limited, angled, lower, upper),
    )


def _symbols(grid: Grid, limited: Integers, angled: Integers) -> dict[str, Any]:
    theta, size = casadi.SX.sym("theta", grid.buses), casadi.SX.sym("size", grid.buses)
    p, q = casadi.SX.sym("p", grid.units), casadi.SX.sym("q", grid.units)
    load = casadi.SX.sym("load", 2 * grid.buses)
    across = _picked(theta, grid.source) - _picked(theta, grid.target)
    out, into = _flows(grid, across, size)
    at, leaving, entering = (_incidence(ends, grid.buses) for ends in (grid.at, grid.source, grid.target))
    shunts = (grid.shunt.real * size**2, -grid.shunt.imag * size**2)
    loads = (load[: grid.buses], load[grid.buses :])
    balance = [
        at @ made - wanted - leaving @ sent - entering @ received - shunt
        for made, wanted, sent, received, shunt in zip((p, q), loads, out, into, shunts, strict=True)
    ]
    squares = [_picked(active**2 + reactive**2, limited) for active, reactive in (out, into)]
    cost: Any = casadi.sum1(grid.c0 + grid.c1 * p + grid.c2 * p**2)
    variables, rows = [theta, size, p, q], [*balance, *squares, _picked(across, angled)]
    if len(grid.bent):
        most = casadi.SX.sym("most", len(grid.bent))
        cost = cost + casadi.sum1(most)
        variables.append(most)
        rows += [
            grid.height[unit] + grid.slope[unit] * p[unit] - most[place]
            for place, unit in enumerate(grid.bent.tolist())
        ]
    return {"x": casadi.vertcat(*variables), "p": load, "f": cost, "g": casadi.vertcat(*rows)}


def _picked(column: Any, places: Integers) -> Any:
    """Some entries of a column; an empty list would pick an empty row, which stands on no other rows."""
    return column[places.tolist()] if len(places) else casadi.SX(0, 1)


def _flows(grid: Grid, across: Any, size: Any) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Active and reactive power into every branch at its source and its target, in real arithmetic.

    With tap = ratio e^(j shift) and e = theta_source - theta_target - shift:
    v_source conj(v_target) / tap = c + j s,  (c, s) = |v_source| |v_target| / ratio (cos e, sin e).
    """
    ratio, shift = np.abs(grid.tap), np.angle(grid.tap)
    source, target = _picked(size, grid.source) / ratio, _picked(size, grid.target)
    c = source * target * casadi.cos(across - shift)
    s = source * target * casadi.sin(across - shift)
    y, at_source, at_target = grid.series, grid.series + grid.charge_source, grid.series + grid.charge_target
    out = (
        at_source.real * source**2 - (y.real * c + y.imag * s),
        -at_source.imag * source**2 - (y.real * s - y.imag * c),
    )
    into = (
        at_target.real * target**2 - (y.real * c - y.imag * s),
        -at_target.imag * target**2 + (y.real * s + y.imag * c),
    )
    return out, into


def _incidence(ends: Integers, buses: int) -> Any:
    """[bus, element]: 1 where the element stands at the bus; sparse."""
    count = len(ends)
    return casadi.DM.triplet(ends.tolist(), list(range(count)), casadi.DM.ones(count), buses, count)


def _flat_start(grid: Grid, lower: Reals, upper: Reals) -> Reals:
    """theta = 0, |v| = 1, everything inside its box, generation in the middle of it where it has one."""
    start = np.concatenate([np.zeros(grid.buses), np.ones(grid.buses), np.zeros(2 * grid.units + len(grid.bent))])
    boxed = np.isfinite(lower) & np.isfinite(upper)
    boxed[: 2 * grid.buses] = False
    start[boxed] = (lower[boxed] + upper[boxed]) / 2
    inside: Reals = np.clip(start, lower, upper)
    return inside


def _linear_start(grid: Grid, limited: Integers, angled: Integers, lower: Reals, upper: Reals) -> Reals | None:
    """The flat start with the angles and active power of the DC optimal power flow; None where that has no optimum."""
    found = linear_optimum(grid, limited, angled)
    if found is None:
        return None
    start = _flat_start(grid, lower, upper)
    theta, p = found
    start[: grid.buses] = theta
    start[2 * grid.buses : 2 * grid.buses + grid.units] = p
    inside: Reals = np.clip(start, lower, upper)
    return inside


def _own_start(grid: Grid, lower: Reals, upper: Reals) -> Reals | None:
    """The operating point of the grid's file, inside the box; None where it holds none: a file that does has angles."""
    angles = np.angle(grid.v_own)
    if not np.any(angles):
        return None
    shape = [angles - angles[grid.slack][0], np.abs(grid.v_own), grid.s_own.real, grid.s_own.imag]
    inside: Reals = np.clip(np.concatenate([*shape, np.zeros(len(grid.bent))]), lower, upper)
    return inside
