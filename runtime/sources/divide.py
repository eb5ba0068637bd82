"""Seeded splits of the rows of a table."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from pdual.dsl.declarations.splits import split_sizes


def divide(
    rows: int, shares: tuple[float, float, float], seed: int, groups: Tensor | None = None
) -> Mapping[str, Tensor]:
    """Row positions of train, val and test (int64), drawn once for a seed whatever the machine.

    ``groups``: [rows], which rows stay together; the shares are then of groups, and the rows of a group stand side by side.
    """
    count = rows if groups is None else int(groups.max()) + 1
    order = torch.from_numpy(np.random.Generator(np.random.Philox(seed)).permutation(count))
    found: dict[str, Tensor] = {}
    start = 0
    for name, size in split_sizes(count, shares).items():
        chosen = order[start : start + size].clone()
        found[name] = chosen if groups is None else _rows_of(chosen, groups, count)
        start += size
    return found


def _rows_of(chosen: Tensor, groups: Tensor, count: int) -> Tensor:
    """The rows of these groups, group after group."""
    place = torch.full((count,), count)
    place[chosen] = torch.arange(len(chosen))
    order = torch.argsort(place[groups], stable=True)
    return order[: int((place[groups] < count).sum())]
