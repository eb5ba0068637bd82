"""``shared(cap = G)``: one number per constraint, the same for every row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from pdual.runtime.data.features import Features
from pdual.runtime.duals.context import DualContext
from pdual.runtime.duals.store import Bounds, DualStore, Reading
from pdual.runtime.optimisation.multiplier_step import ascended


def mean_relaxed(reading: Reading) -> Tensor:
    """mean_n r_n over the rows on which an entry is live: [c].

    Rows on which a constraint is masked do not slow its multiplier down, so adding such rows changes nothing.
    """
    total = reading.relaxed.sum(0)
    return total / (len(reading.ids) if reading.mask is None else reading.mask.sum(0).clamp(min=1))


class SharedStore(DualStore):
    """a <- clip(a + rho mean_n r_n, 0, G), or [-G, G] for an equality. The mean is over all rows, so none rests."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._level = torch.zeros_like(bounds.high)

    def value(self, ids: Tensor, features: Features, values: Mapping[str, object]) -> Tensor:
        """The same row for every id, expanded, not copied."""
        return self._level.expand(ids.shape[0], -1)

    def update(self, reading: Reading) -> None:
        """One step along the mean over the rows that were read."""
        self._level = self._bounds.clip(ascended(self._level, reading.rho, mean_relaxed(reading)))

    def state(self) -> dict[str, object]:
        """The vector."""
        return {"level": self._level}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Replace the vector."""
        self._level = state["level"].to(self._level)

    @property
    def parameters(self) -> int:
        """One a column."""
        return self._level.numel()

    @property
    def bytes(self) -> int:
        """Does not grow with the rows."""
        return self._level.nbytes


def build(context: DualContext) -> SharedStore:
    """The builder of ``shared``."""
    return SharedStore(context.bounds)
