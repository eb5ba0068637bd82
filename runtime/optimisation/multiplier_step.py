"""The step of the multipliers: lam <- clip(lam + rho u), where u is what the ascent follows in place of the residuals g.

With u = g it is the ascent target of Algorithm 1 (Boero, Nixon and Ribeiro).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import torch
from torch import Tensor


class MultiplierStep(Protocol):
    """What the multipliers of a data set follow. Algorithm 1 of the paper follows the residuals themselves.

    ``rests``: whether a row whose multiplier would end at 0 may be left out of a pass, which a step with memory would miss.
    """

    rests: bool

    def __call__(self, ids: Tensor, residuals: Tensor) -> Tensor:
        """u [n, columns] of the rows ``ids`` [n], from their residuals g [n, columns], scaled, masked entries 0."""

    def state(self) -> Mapping[str, object]:
        """What ``load_state`` needs to go on exactly from here."""

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from a saved state."""


class Ascent:
    """u = g: gradient ascent on the dual function, by steps of rho."""

    rests = True

    def __call__(self, ids: Tensor, residuals: Tensor) -> Tensor:
        """The residuals."""
        return residuals

    def state(self) -> Mapping[str, object]:
        """Nothing is kept."""
        return {}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Nothing to load."""


def ascended(multipliers: Tensor, rho: Tensor, followed: Tensor) -> Tensor:
    """lam + rho u, before it is clipped: [n, c]. Every kind of dual moves, or is fitted, towards it."""
    return torch.addcmul(multipliers, rho, followed)
