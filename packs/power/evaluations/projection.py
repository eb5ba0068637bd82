"""Newton's method on the power-flow equations for many predictions at once: what is held are set points, as an operator would."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pdual.packs.power.models.flow import admittance
from pdual.packs.power.optima.grid import Complexes, Grid, Reals

#: Newton steps, and the largest mismatch at a solution, per unit.
STEPS, EXACT = 12, 1e-8

#: Rows that are solved together.
CHUNK = 256


class Projected(NamedTuple):
    """``v`` [rows, bus] and ``s`` [rows, gen] that meet the balance; ``solved`` [rows] tells where Newton's method arrived."""

    v: Complexes
    s: Complexes
    solved: np.ndarray[tuple[int], np.dtype[np.bool_]]


def project(grid: Grid, load: Complexes, v: Complexes, s: Complexes) -> Projected:
    """Predictions [rows, bus] and [rows, gen] projected on the power flow of their demand [rows, bus], per unit.

    Held: angle 0 and the voltage's magnitude at the reference bus, P and the magnitude at buses with units; P of the
    reference's units and Q of all units take up what is missing, in equal shares at one bus. Newton starts from the prediction.
    """
    parts = [
        _project(grid, load[at : at + CHUNK], v[at : at + CHUNK], s[at : at + CHUNK])
        for at in range(0, len(load), CHUNK)
    ]
    return Projected(*(np.concatenate(pieces) for pieces in zip(*parts, strict=True)))


def _project(grid: Grid, load: Complexes, v: Complexes, s: Complexes) -> Projected:
    matrix, buses = admittance(grid), grid.buses
    at_bus = np.zeros((grid.units, buses))
    at_bus[np.arange(grid.units), grid.at] = 1.0
    held = at_bus.any(0)
    free = np.concatenate((~grid.slack, ~held & ~grid.slack))
    wanted = np.concatenate(((s.real @ at_bus) - load.real, (s.imag @ at_bus) - load.imag), 1)
    # the prediction's angles, turned so that the reference stands at 0
    turned = np.angle(v) - np.angle(v[:, grid.slack][:, :1])
    state = np.concatenate((np.where(grid.slack, 0.0, turned), np.abs(v)), 1)
    for _ in range(STEPS):
        at = _voltages(state)
        missing = (wanted - _injections(matrix, at))[:, free]
        if np.abs(missing).max(initial=0.0) < EXACT:
            break
        slopes = _jacobians(matrix, at)[:, free][:, :, free]
        state[:, free] += _steps(slopes, missing)
    at = _voltages(state)
    given = _injections(matrix, at)
    mismatch = np.abs((wanted - given)[:, free]).max(1, initial=0.0)
    solved = mismatch < 1e-6
    power = given + np.concatenate((load.real, load.imag), 1)
    counts = np.maximum(at_bus.sum(0), 1)
    spare = (power - np.concatenate((s.real @ at_bus, s.imag @ at_bus), 1)) / np.tile(counts, 2)
    extra_p, extra_q = spare[:, :buses][:, grid.at], spare[:, buses:][:, grid.at]
    active = s.real + np.where(grid.slack[grid.at], extra_p, 0.0)
    return Projected(at, active + 1j * (s.imag + extra_q), solved)


def _voltages(state: Reals) -> Complexes:
    angle, size = np.split(state, 2, axis=1)
    found: Complexes = size * np.exp(1j * angle)
    return found


def _injections(matrix: Complexes, v: Complexes) -> Reals:
    """P then Q that each bus feeds in: [rows, 2 bus]."""
    power = v * np.conj(v @ matrix.T)
    return np.concatenate((power.real, power.imag), 1)


def _jacobians(matrix: Complexes, v: Complexes) -> Reals:
    """Derivative of P then Q by angles then magnitudes, of each row: [rows, 2 bus, 2 bus]; see ``power_flow.jacobian``."""
    direction, current = v / np.abs(v), v @ matrix.T
    diagonal = np.eye(v.shape[1])
    by_angle = 1j * v[:, :, None] * np.conj(diagonal * current[:, None, :] - matrix * v[:, None, :])
    by_size = diagonal * (direction * np.conj(current))[:, None, :]
    by_size = by_size + v[:, :, None] * np.conj(matrix * direction[:, None, :])
    return np.concatenate(
        (
            np.concatenate((by_angle.real, by_size.real), 2),
            np.concatenate((by_angle.imag, by_size.imag), 2),
        ),
        1,
    )


def _steps(slopes: Reals, missing: Reals) -> Reals:
    """Newton's steps; a row whose matrix is singular stays where it is."""
    try:
        found: Reals = np.linalg.solve(slopes, missing[:, :, None])[:, :, 0].astype(np.float64)
    except np.linalg.LinAlgError:
        found = np.zeros_like(missing)
        for row, (matrix, side) in enumerate(zip(slopes, missing, strict=True)):
            if np.linalg.matrix_rank(matrix) == len(matrix):
                found[row] = np.linalg.solve(matrix, side)
    return np.where(np.isfinite(found), found, 0.0)
