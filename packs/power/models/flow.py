"""The power-flow equations of a grid as matrices: admittance, injections and their derivatives. No torch."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pdual.packs.power.optima.grid import Complexes, Grid, Reals


def admittance(grid: Grid) -> NDArray[np.complex128]:
    """The bus admittance matrix Y [bus, bus]: the currents that flow into the network are ``Y v``.

    Branch l contributes ``(series + charge_source) / |tap|^2`` and ``series + charge_target`` to the
    diagonal, and ``-series / conj(tap)`` and ``-series / tap`` off it; shunts stand on the diagonal.
    """
    matrix = np.diag(grid.shunt.astype(np.complex128))
    source, target, tap = grid.source, grid.target, grid.tap
    np.add.at(matrix, (source, source), (grid.series + grid.charge_source) / np.abs(tap) ** 2)
    np.add.at(matrix, (target, target), grid.series + grid.charge_target)
    np.add.at(matrix, (source, target), -grid.series / np.conj(tap))
    np.add.at(matrix, (target, source), -grid.series / tap)
    return matrix


def injections(matrix: NDArray[np.complex128], v: Complexes) -> Reals:
    """P then Q that each bus feeds into the network: the parts of ``v conj(Y v)``, [2 bus]."""
    power = v * np.conj(matrix @ v)
    return np.concatenate((power.real, power.imag))


def jacobian(matrix: NDArray[np.complex128], v: Complexes) -> Reals:
    """Derivative of P, then Q, by the angles, then the magnitudes of ``v``: [2 bus, 2 bus]."""
    direction = v / np.abs(v)
    current = matrix @ v
    by_angle = 1j * v[:, None] * np.conj(np.diag(current) - matrix * v)
    by_size = np.diag(direction * np.conj(current)) + v[:, None] * np.conj(matrix * direction)
    return np.block([[by_angle.real, by_size.real], [by_angle.imag, by_size.imag]])


def state_of(v: Complexes) -> Reals:
    """Angles, then magnitudes: [2 bus]."""
    return np.concatenate((np.angle(v), np.abs(v)))
