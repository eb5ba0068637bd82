"""A grid as arrays, for the solver of demands."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from pdual.dsl.declarations.known import Known

Reals = NDArray[np.float64]
Integers = NDArray[np.int64]
Complexes = NDArray[np.complex128]


@dataclass(frozen=True)
class Grid:
    """The fields of ``power.case`` in per unit and radians; ``at``, ``source``, ``target`` are positions.

    [bus]: load, shunt, v_min, v_max, slack. [branch]: source, target, series, charge_source, charge_target,
    tap, rate, angle_min, angle_max. [gen]: at, c0, c1, c2 ($/h of active power in per unit), s_min, s_max.
    v_own [bus] and s_own [gen] are the operating point of the file, a start for the solver.
    [gen, piece]: height, slope; the largest of ``height + slope p`` over the pieces is part of the cost.
    """

    at: Integers
    source: Integers
    target: Integers
    slack: NDArray[np.bool_]
    load: Complexes
    shunt: Complexes
    v_min: Reals
    v_max: Reals
    series: Complexes
    charge_source: Complexes
    charge_target: Complexes
    tap: Complexes
    rate: Reals
    angle_min: Reals
    angle_max: Reals
    c0: Reals
    c1: Reals
    c2: Reals
    height: Reals
    slope: Reals
    s_min: Complexes
    s_max: Complexes
    v_own: Complexes
    s_own: Complexes

    @property
    def buses(self) -> int:
        """Number of buses."""
        return len(self.load)

    @property
    def units(self) -> int:
        """Number of generating units."""
        return len(self.at)

    @property
    def bent(self) -> Integers:
        """The units whose cost has more than flat pieces."""
        return np.flatnonzero((self.slope != 0).any(axis=1) | (self.height != 0).any(axis=1))


def lacking(known: Known) -> list[str]:
    """The fields that a grid needs and this structure does not have."""
    return [field.name for field in fields(Grid) if field.name not in known.fields]


def grid_of(known: Known) -> Grid:
    """The arrays of a ``power.case``."""
    arrays = {field.name: np.asarray(known.fields[field.name]) for field in fields(Grid)}
    for name in ("source", "target"):  # a grid may have no branch
        arrays[name] = arrays[name].astype(np.int64)
    return Grid(**arrays)
