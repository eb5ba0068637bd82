"""Features of the rows of one evaluation pass, kept so that fitting multipliers never runs a model of the
primal.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import torch
from torch import Tensor

from pdual.runtime.data import Ragged

#: What a program hands to its duals: a tensor [batch, ...], or ragged values, by the key of the model call.
Features: TypeAlias = Mapping[str, "Tensor | Ragged"]


class FeatureCache:
    """Features of n rows, filled batch after batch, then read by position (0 to n - 1)."""

    def __init__(self) -> None:
        self._dense: dict[str, list[Tensor]] = {}
        self._ragged: dict[str, list[Ragged]] = {}

    def append(self, features: Features, keys: tuple[str, ...]) -> None:
        """Keep the named features of the next rows."""
        for key in keys:
            value = features[key]
            if isinstance(value, Ragged):
                self._ragged.setdefault(key, []).append(value)
            else:
                self._dense.setdefault(key, []).append(value.detach())

    def rows(self, positions: Tensor) -> dict[str, Tensor | Ragged]:
        """The features of some rows, in the order of ``positions`` ([batch] int64)."""
        found: dict[str, Tensor | Ragged] = {}
        for key in self._dense:
            found[key] = self.dense(key).index_select(0, positions)
        for key in self._ragged:
            found[key] = _take(self._joined(key), positions)
        return found

    def dense(self, key: str) -> Tensor:
        """One feature of all rows: [n, ...]."""
        chunks = self._dense[key]
        if len(chunks) > 1:
            chunks[:] = [torch.cat(chunks)]
        return chunks[0]

    def _joined(self, key: str) -> Ragged:
        chunks = self._ragged[key]
        if len(chunks) > 1:
            lengths = torch.cat([chunk.offsets.diff() for chunk in chunks])
            chunks[:] = [Ragged(torch.cat([chunk.values for chunk in chunks]), _offsets(lengths))]
        return chunks[0]


def _take(ragged: Ragged, positions: Tensor) -> Ragged:
    starts = ragged.offsets.index_select(0, positions)
    lengths = ragged.offsets.diff().index_select(0, positions)
    offsets = _offsets(lengths)
    within = torch.arange(int(offsets[-1]), device=offsets.device)
    index = within + torch.repeat_interleave(starts - offsets[:-1], lengths)
    return Ragged(ragged.values.index_select(0, index), offsets)


def _offsets(lengths: Tensor) -> Tensor:
    return torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
