"""Seeded splits of the rows of a table."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from pdual.dsl.declarations.splits import split_sizes


def divide(rows: int, shares: tuple[float, float, float], seed: int) -> Mapping[str, Tensor]:
    """Row positions of train, val and test (int64), drawn once for a seed whatever the machine."""
    order = torch.from_numpy(np.random.Generator(np.random.Philox(seed)).permutation(rows))
    found: dict[str, Tensor] = {}
    start = 0
    for name, size in split_sizes(rows, shares).items():
        found[name] = order[start : start + size].clone()
        start += size
    return found
