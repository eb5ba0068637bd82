"""What every way of holding multipliers has in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from pdual.runtime.data.features import FeatureCache, Features
from pdual.runtime.optimisation.multiplier_step import ascended


@dataclass(frozen=True, slots=True)
class Reading:
    """What one evaluation pass over the train rows tells a store of c columns.

    ``ids`` is [n]; ``residuals`` [n, c] are what the ascent follows, scaled, masked entries 0; ``mask`` [n, c] bool or None;
    ``multipliers`` [n, c] are the store's own at the pass's theta, before the update; ``relaxed`` [n, c] is r
    = max(g, -lam / rho) (h for an equality), 0 where masked; ``rho`` [c] is the step of the multipliers. Rows
    that are not ``fresh`` ([n] bool; None: all are) stand as an earlier pass saw them, their multipliers too.
    """

    ids: Tensor
    residuals: Tensor
    mask: Tensor | None
    multipliers: Tensor
    relaxed: Tensor
    rho: Tensor
    features: FeatureCache
    fresh: Tensor | None = None


@dataclass(frozen=True, slots=True)
class Bounds:
    """Where multipliers live, [c] each: ``low`` is 0 for ``<=`` and -G for ``==``, ``high`` is G."""

    low: Tensor
    high: Tensor

    @classmethod
    def of(cls, equal: Tensor, cap: float, dtype: torch.dtype) -> Bounds:
        """The bounds of columns with one cap; ``equal`` is [c] bool."""
        high = torch.full(equal.shape, cap, dtype=dtype, device=equal.device)
        return cls(torch.where(equal, -high, 0.0), high)

    def clip(self, multipliers: Tensor) -> Tensor:
        """The nearest multipliers that are allowed."""
        return torch.clamp(multipliers, self.low, self.high)


class DualStore(ABC):
    """The multipliers of the columns of one plan. All of them start at 0.

    ``reads`` names the features that ``value`` needs.
    """

    reads: tuple[str, ...] = ()

    @abstractmethod
    def value(self, ids: Tensor, features: Features, values: Mapping[str, object]) -> Tensor:
        """The multipliers of some rows: [batch, c], without a gradient."""

    def restrict(self, awake: Tensor) -> None:
        """Which train rows are not at rest, [rows] bool in the order of the passes: before the next update."""
        del awake  # only a fit draws rows

    @abstractmethod
    def update(self, reading: Reading) -> float | None:
        """Step 3 and 4 of Algorithm 1; returns the mean error of a fit, None where nothing is fitted."""

    @abstractmethod
    def state(self) -> dict[str, object]:
        """Everything that ``load_state`` needs to go on exactly from here."""

    @abstractmethod
    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from a saved state."""

    def adopt(self, state: Mapping[str, Any]) -> bool:
        """Start from another run's multipliers if they have the same names and shapes; tells whether they
        had.
        """
        if same_shapes(state, self.state()):
            self.load_state(state)
            return True
        return False

    def weights(self) -> list[nn.Parameter]:
        """The weights that hold the multipliers, where it is weights that do."""
        return []

    @property
    @abstractmethod
    def parameters(self) -> int:
        """How many numbers hold the multipliers."""

    @property
    @abstractmethod
    def bytes(self) -> int:
        """Their size in memory, optimiser state not counted."""


def same_shapes(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two states hold tensors of the same names and shapes."""
    if one.keys() != other.keys():
        return False
    return all(isinstance(one[name], Tensor) and one[name].shape == other[name].shape for name in one)


def step(reading: Reading, bounds: Bounds) -> Tensor:
    """clip(lam + rho u) into the bounds: [n, c]."""
    return bounds.clip(ascended(reading.multipliers, reading.rho, reading.residuals))
