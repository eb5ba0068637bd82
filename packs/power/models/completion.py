"""What completes set points of generators to a power flow, as constant matrices. No torch.

A state is the angle of every bus, then the magnitude of every voltage: [2 bus]. Controls are the active power
of every unit, the voltage set point of every unit, and P and Q of every demand: [2 gen + 2 bus]. Injections
are P then Q of every bus. Angles are free except at the reference bus, magnitudes are free except where a
unit holds them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pdual.packs.power.models.flow import admittance, injections, jacobian, state_of
from pdual.packs.power.optima.grid import Complexes, Grid, Integers, Reals


@dataclass(frozen=True)
class Completion:
    """The constants of ``z <- z + M (target - injections(z))`` and of the balance that gives units' power.

    Matrices multiply rows from the right. ``network`` [2 bus, 4 bus] gives from the parts of v the numbers
    (i_re, i_im, -i_im, i_re) of ``i = Y v``. ``correct`` [2 bus, 2 bus] is M: the inverse Jacobian on what is
    free, 0 elsewhere. ``prepare`` [2 gen + 2 bus, 4 bus + 2 gen] and ``constant`` give from the controls the
    first state (one Newton step, linear in the controls), the injections that are asked for, and what units
    give whatever the state. ``supply`` [2 bus, 2 gen] is what units add for the injections: Q, and P at the
    reference.
    """

    network: Reals
    correct: Reals
    prepare: Reals
    constant: Reals
    supply: Reals


def completion(grid: Grid, v: Complexes) -> Completion:
    """The constants for a grid around the voltages ``v`` [bus] of a solved power flow."""
    buses, units = grid.buses, grid.units
    matrix, at_slack = admittance(grid), grid.slack[grid.at]
    held = np.isin(np.arange(buses), grid.at)
    free = np.concatenate((~grid.slack, ~held))
    slope = jacobian(matrix, v)
    inverse = np.zeros((2 * buses, 2 * buses))
    inverse[np.ix_(free, free)] = np.linalg.inv(slope[np.ix_(free, free)])

    # z = z0 + d + M (asked c - injections(z0) - J d): d = set_points c - kept moves what units hold.
    asked, set_points = _asked(grid, at_slack), _set_points(grid.at, buses)
    state = state_of(v)
    kept = np.where(np.concatenate((np.zeros(buses, bool), held)), state, 0.0)
    from_controls = set_points + inverse @ (asked - slope @ set_points)
    from_point = state - kept - inverse @ (injections(matrix, v) - slope @ kept)

    share, floor = _shares(grid, at_slack)
    own = np.zeros((2 * units, 2 * units))
    own[:units, :units] = np.diag(~at_slack)
    prepare = np.vstack((from_controls, asked, np.hstack((own, share)))).T
    constant = np.concatenate((from_point, np.zeros(2 * buses), floor))
    return Completion(_network(matrix), inverse.T, prepare, constant, share.T)


def _network(matrix: Complexes) -> Reals:
    g, b = matrix.real, matrix.imag
    return np.vstack((np.hstack((g, -b)), np.hstack((b, g)), np.hstack((-b, -g)), np.hstack((g, -b)))).T


def _asked(grid: Grid, at_slack: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> Reals:
    """Injections that the controls ask for: P of the units at a bus minus its demand, Q of its demand."""
    buses, units = grid.buses, grid.units
    matrix = np.zeros((2 * buses, 2 * units + 2 * buses))
    chosen = np.flatnonzero(~at_slack)
    matrix[grid.at[chosen], chosen] = 1.0
    matrix[:, 2 * units :] = -np.eye(2 * buses)
    return matrix


def _set_points(at: Integers, buses: int) -> Reals:
    """State from controls: the magnitude at a bus with units is the mean of their set points."""
    units = len(at)
    matrix = np.zeros((2 * buses, 2 * units + 2 * buses))
    matrix[buses + at, units + np.arange(units)] = 1.0 / np.bincount(at, minlength=buses)[at]
    return matrix


def _shares(grid: Grid, at_slack: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> tuple[Reals, Reals]:
    """What units at one bus give of the power that is left to them, ``floor + share * total`` a unit.

    Q everywhere and P at the reference bus: in proportion to the width of their boxes above the lower ends;
    in equal parts where no box there has a finite width above 0. ``share`` [2 gen, 2 bus], ``floor`` [2 gen].
    """
    buses, units = grid.buses, grid.units
    share, floor = np.zeros((2 * units, 2 * buses)), np.zeros(2 * units)
    boxes = (
        (grid.s_min.real, grid.s_max.real, at_slack),
        (grid.s_min.imag, grid.s_max.imag, at_slack | True),
    )
    for part, (low, high, takes) in enumerate(boxes):
        for bus in np.unique(grid.at[takes]):
            members = np.flatnonzero((grid.at == bus) & takes)
            width = high[members] - low[members]
            proportional = bool(np.all(np.isfinite(width)) and width.sum() > 0)
            part_share = width / width.sum() if proportional else np.full(len(members), 1.0 / len(members))
            bottom = low[members] if proportional else np.zeros(len(members))
            share[part * units + members, part * buses + bus] = part_share
            floor[part * units + members] = bottom - part_share * bottom.sum()
    return share, floor
