"""The optimal power flow without losses and reactive power: a linear program, whose optimum is a start for the full one."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_matrix, diags, hstack, vstack

from pdual.packs.power.optima.grid import Grid, Integers, Reals


def linear_optimum(grid: Grid, limited: Integers, angled: Integers) -> tuple[Reals, Reals] | None:
    """theta [bus] and p [gen] of the DC optimal power flow at the grid's own load; None where it has none.

    |v| = 1 and sin x = x: a branch carries ``b (theta_source - theta_target - shift)``, b = -Im(series) / ratio, within its rate
    (``limited`` branches) and its limits of angle (``angled``). A quadratic cost counts by its slope in the middle of a unit's box.
    """
    bent = grid.bent
    across = _picks(grid.source, grid.buses) - _picks(grid.target, grid.buses)
    b = -grid.series.imag / np.abs(grid.tap)
    moved = b * np.angle(grid.tap)
    carried = diags(b) @ across
    piece_of = np.repeat(np.arange(len(bent)), grid.slope.shape[1])
    sloped = diags(grid.slope[bent].ravel()) @ _picks(bent[piece_of], grid.units)
    sizes = (grid.buses, grid.units, len(bent))
    at_most = [
        (_row(sizes, theta=carried[limited]), grid.rate[limited] + moved[limited]),
        (_row(sizes, theta=-carried[limited]), grid.rate[limited] - moved[limited]),
        (_row(sizes, theta=across[angled]), grid.angle_max[angled]),
        (_row(sizes, theta=-across[angled]), -grid.angle_min[angled]),
        (_row(sizes, p=sloped, most=-_picks(piece_of, len(bent))), -grid.height[bent].ravel()),
    ]
    low, high = grid.s_min.real, grid.s_max.real
    middle = np.where(np.isfinite(low) & np.isfinite(high), (low + high) / 2, 0.0)
    free, endless = np.where(grid.slack, 0.0, np.inf), np.full(len(bent), np.inf)
    found = linprog(
        np.concatenate([np.zeros(grid.buses), grid.c1 + 2 * grid.c2 * middle, np.ones(len(bent))]),
        vstack([row for row, _ in at_most]),
        np.concatenate([limit for _, limit in at_most]),
        _row(sizes, theta=-(across.T @ carried), p=_picks(grid.at, grid.buses).T),
        grid.load.real + grid.shunt.real - across.T @ moved,
        np.stack([np.concatenate([-free, low, -endless]), np.concatenate([free, high, endless])], 1),
    )
    if not found.success:
        return None
    theta, p, _ = np.split(found.x, np.cumsum([grid.buses, grid.units]))
    return theta, p


def _picks(places: Integers, size: int) -> Any:
    """[entry, size]: 1 where an entry stands; sparse."""
    return csr_matrix((np.ones(len(places)), (np.arange(len(places)), places)), shape=(len(places), size))


def _row(sizes: tuple[int, int, int], **blocks: Any) -> Any:
    """Rows over theta, p and the costs of pieces; a block that is not given is zero."""
    height = next(iter(blocks.values())).shape[0]
    named = zip(("theta", "p", "most"), sizes, strict=True)
    return hstack([blocks.get(name, csr_matrix((height, size))) for name, size in named], format="csr")
