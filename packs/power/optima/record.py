"""One solved demand as a row of numbers: how rows travel between processes and lie in the cache."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pdual.packs.power.optima.grid import Complexes, Grid, Reals
from pdual.packs.power.optima.optimum import Optimum, part_sizes

MULTIPLIER = "multiplier/"


def record_slices(grid: Grid) -> dict[str, slice]:
    """Where each group of numbers stands: ``load.re``, ``optimum``, ``multiplier/voltage.upper``, ..."""
    sizes = dict.fromkeys(("load.re", "load.im", "v.re", "v.im"), grid.buses)
    sizes |= {"s.re": grid.units, "s.im": grid.units, "optimum": 1}
    sizes |= {f"{MULTIPLIER}{part}": size for part, size in part_sizes(grid).items()}
    ends = np.cumsum(list(sizes.values())).tolist()
    return {name: slice(end - sizes[name], end) for name, end in zip(sizes, ends, strict=True)}


def record_width(grid: Grid) -> int:
    """Numbers in a row."""
    return sum(place.stop - place.start for place in record_slices(grid).values())


def record_of(grid: Grid, load: Complexes, optimum: Optimum) -> Reals:
    """The row of a demand and its optimum."""
    groups: Mapping[str, Reals] = {
        "load.re": load.real,
        "load.im": load.imag,
        "v.re": optimum.v.real,
        "v.im": optimum.v.imag,
        "s.re": optimum.s.real,
        "s.im": optimum.s.imag,
        "optimum": np.array([optimum.cost]),
        **{f"{MULTIPLIER}{part}": entries for part, entries in optimum.multipliers.items()},
    }
    return np.concatenate([groups[name] for name in record_slices(grid)])
