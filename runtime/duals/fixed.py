"""``--dual penalty``: multipliers stay 0, rho stays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from pdual.runtime.data.features import Features
from pdual.runtime.duals.context import DualContext
from pdual.runtime.duals.store import Bounds, DualStore, Reading


class PenaltyStore(DualStore):
    """lam = 0: the quadratic penalty rho / 2 [g]_+^2 alone."""

    def __init__(self, bounds: Bounds) -> None:
        self._zeros = torch.zeros_like(bounds.high)

    def value(self, ids: Tensor, features: Features, values: Mapping[str, object]) -> Tensor:
        """Zeros, expanded."""
        return self._zeros.expand(len(ids), -1)

    def update(self, reading: Reading) -> None:
        """Nothing to do."""

    def state(self) -> dict[str, object]:
        """Nothing to keep."""
        return {}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Nothing to load."""

    @property
    def parameters(self) -> int:
        """None."""
        return 0

    @property
    def bytes(self) -> int:
        """None."""
        return 0


def build(context: DualContext) -> PenaltyStore:
    """The builder of ``penalty``."""
    return PenaltyStore(context.bounds)
