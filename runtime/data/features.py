"""Features of the rows of one evaluation pass, kept so that fitting multipliers never runs a model of the
primal.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import torch
from torch import Tensor

from pdual.runtime.data.tables import Ragged, joined, offsets_of

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

    def replace(self, positions: Tensor, now: FeatureCache) -> None:
        """Put the features of some rows ([k], positions) in the place of what is here."""
        for key in self._dense:
            self.dense(key).index_copy_(0, positions, now.dense(key))
        for key in self._ragged:
            here, there = self._joined(key), now._joined(key)
            order = torch.arange(len(here.offsets) - 1, device=positions.device)
            order[positions] = len(order) + torch.arange(len(positions), device=positions.device)
            self._ragged[key] = [_take(joined([here, there]), order)]

    def ordered(self, order: Tensor) -> FeatureCache:
        """The features of the rows at these positions ([n])."""
        found = FeatureCache()
        found.append(self.rows(order), (*self._dense, *self._ragged))
        return found

    def state(self) -> dict[str, object]:
        """All of it, for a checkpoint."""
        ragged = {key: [(joined := self._joined(key)).values, joined.offsets] for key in self._ragged}
        return {"dense": {key: self.dense(key) for key in self._dense}, "ragged": ragged}

    @classmethod
    def of_state(cls, state: Mapping[str, Any], device: torch.device) -> FeatureCache:
        """The features of a checkpoint."""
        found = cls()
        found._dense = {key: [value.to(device)] for key, value in state["dense"].items()}
        found._ragged = {
            key: [Ragged(values.to(device), offsets.to(device))] for key, (values, offsets) in state["ragged"].items()
        }
        return found

    def _joined(self, key: str) -> Ragged:
        chunks = self._ragged[key]
        if len(chunks) > 1:
            chunks[:] = [joined(chunks)]
        return chunks[0]


def _take(ragged: Ragged, positions: Tensor) -> Ragged:
    starts = ragged.offsets.index_select(0, positions)
    lengths = ragged.offsets.diff().index_select(0, positions)
    offsets = offsets_of(lengths)
    within = torch.arange(int(offsets[-1]), device=offsets.device)
    index = within + torch.repeat_interleave(starts - offsets[:-1], lengths)
    return Ragged(ragged.values.index_select(0, index), offsets)
