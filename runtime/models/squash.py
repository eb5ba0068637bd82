"""Outputs with declared bounds: bounded by construction, also after rounding."""

from __future__ import annotations

import math
from functools import cache

import torch
import torch.nn.functional as functional
from torch import Tensor


def squash(raw: Tensor, low: float | None, high: float | None) -> Tensor:
    """Map any number into the declared range; element-wise, any shape.

    ``[low, high]``: ``low + (high - low) sigmoid(raw)``; ``[low, inf]``: ``low + softplus(raw)``; ``[-inf,
    high]``: ``high - softplus(raw)``; no bound: ``raw``. The result never leaves the range: a bound that has
    no exact float32 is rounded inwards, and the rounding of the sum is clamped away.
    """
    floor = None if low is None or math.isinf(low) else inward(low, up=True)
    ceiling = None if high is None or math.isinf(high) else inward(high, up=False)
    if floor is not None and ceiling is not None:
        return torch.clamp(floor + (ceiling - floor) * torch.sigmoid(raw), floor, ceiling)
    if floor is not None:
        return floor + functional.softplus(raw)
    if ceiling is not None:
        return ceiling - functional.softplus(raw)
    return raw


@cache
def inward(bound: float, *, up: bool) -> float:
    """The float32 next to a bound on its inner side: ``up`` for a lower bound, down for an upper one."""
    nearest = torch.tensor(bound, dtype=torch.float32)
    if (up and nearest.item() < bound) or (not up and nearest.item() > bound):
        nearest = torch.nextafter(nearest, torch.tensor(math.inf if up else -math.inf))
    return float(nearest.item())
