"""``hybrid(cap = G)``: a shared level plus a deviation per row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from pdual.runtime.data.features import Features
from pdual.runtime.duals.context import DualContext
from pdual.runtime.duals.pointwise import RowTable
from pdual.runtime.duals.shared import mean_relaxed
from pdual.runtime.duals.store import Bounds, DualStore, Reading
from pdual.runtime.optimisation.multiplier_step import ascended


class HybridStore(DualStore):
    """lam_n = a + b_n; a <- clip(a + rho/2 mean_n r_n, 0, G); then b_n <- clip(b_n + rho/2 r_n, -a, G - a); for an
    equality the bounds are [-G, G] and [-G - a, G - a].

    Each takes half a step: their sum then moves by rho along what all rows share. By two whole steps it would move by
    2 rho, where the ascent of an augmented Lagrangian no longer contracts.

    A row that was not trained on has no deviation: its multiplier would be a, which no one fitted, so it
    counts as undefined.
    """

    def __init__(self, bounds: Bounds, rows: Tensor) -> None:
        self._bounds = bounds
        self._level = torch.zeros_like(bounds.high)
        self._deviation = RowTable(rows, bounds.high)

    def value(self, ids: Tensor, features: Features, values: Mapping[str, object]) -> Tensor:
        """Level plus deviation."""
        return self._level + self._deviation.read(ids)

    def update(self, reading: Reading) -> None:
        """One step of the level, then of the deviations of the rows that were read, which keeps their sum
        within the bounds.
        """
        half = 0.5 * reading.rho
        level = self._bounds.clip(ascended(self._level, half, mean_relaxed(reading)))
        moved = ascended(self._deviation.read(reading.ids), half, reading.relaxed)
        self._level = level
        self._deviation.write(reading.ids, torch.clamp(moved, self._bounds.low - level, self._bounds.high - level))

    def state(self) -> dict[str, object]:
        """Level and deviations."""
        return {"level": self._level, "deviation": self._deviation.entries}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Replace both."""
        self._level = state["level"].to(self._level)
        self._deviation.entries.copy_(state["deviation"])

    @property
    def parameters(self) -> int:
        """One a column, and a table."""
        return self._level.numel() + self._deviation.entries.numel()

    @property
    def bytes(self) -> int:
        """Grows with the rows."""
        return self._level.nbytes + self._deviation.entries.nbytes


def build(context: DualContext) -> HybridStore:
    """The builder of ``hybrid``."""
    return HybridStore(context.bounds, context.rows)
