"""Which rows a step sees: seeded, endless, and exactly resumable."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import torch
from torch import Tensor


def generator(seed: int, *stream: int) -> torch.Generator:
    """A generator of its own for each purpose, so that one stream never shifts another."""
    mixed = seed
    for number in stream:
        mixed = (mixed * 1_000_003 + number + 1) % (2**63)
    return torch.Generator().manual_seed(mixed)


class Stream(Protocol):
    """An endless source of batches of row ids. ``rows_per_step`` is what a sum over a batch is divided by to
    estimate a mean.
    """

    rows_per_step: float

    def draw(self) -> Tensor:
        """The ids of the next batch."""

    def state(self) -> dict[str, object]:
        """Everything that ``load_state`` needs to go on exactly from here."""

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from a saved state."""


class RowStream:
    """Rows in random order, every row once an epoch, batches of one size.

    Epochs follow each other without a gap: a batch that reaches the end of one goes on in the next. So every
    batch has the same number of rows (no last small one, whose rows would weigh more), and a mean over a
    batch is unbiased.
    """

    def __init__(self, rows: Tensor, batch: int, random: torch.Generator) -> None:
        self._rows = rows
        self._batch = min(batch, len(rows))
        self._random = random
        self._order = rows[:0]
        self._next = 0
        self.rows_per_step = float(self._batch)

    def draw(self) -> Tensor:
        """The ids of the next batch: [batch]."""
        end = self._next + self._batch
        if end <= len(self._order):
            ids = self._order[self._next : end]
            self._next = end
            return ids
        rest = self._order[self._next :]
        self._order = self._rows[torch.randperm(len(self._rows), generator=self._random).to(self._rows.device)]
        self._next = self._batch - len(rest)
        return torch.cat([rest, self._order[: self._next]])

    def state(self) -> dict[str, object]:
        """The order of this epoch, the place in it and the generator."""
        return {"order": self._order, "next": self._next, "random": self._random.get_state()}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from a saved state."""
        self._order = state["order"].to(self._rows)
        self._next = int(state["next"])
        self._random.set_state(state["random"])


class GroupStream:
    """Whole groups in random order, as many as fit in ``batch`` rows (one group at least), every group once
    an epoch.

    ``groups`` is [rows]: the group of each of ``rows``. ``rows_per_step`` is the rows of an epoch over its
    batches, so that sums over batches, divided by it, add up to the mean over all rows times the number of
    batches. Epochs differ in how groups pack, so the number of batches is that of a packing in order of size,
    a close lower bound.
    """

    def __init__(self, rows: Tensor, groups: Tensor, batch: int, random: torch.Generator) -> None:
        order = torch.argsort(groups, stable=True)
        sizes = torch.unique_consecutive(groups[order], return_counts=True)[1]
        self._members = list(torch.split(rows[order], sizes.tolist()))
        self._sizes = sizes.tolist()
        self._batch = batch
        self._random = random
        self._queue: list[list[int]] = []
        self.rows_per_step = len(rows) / len(self._pack(range(len(self._members))))

    def draw(self) -> Tensor:
        """The ids of the next batch: the rows of some groups, group after group."""
        if not self._queue:
            order = torch.randperm(len(self._members), generator=self._random).tolist()
            self._queue = self._pack(order)[::-1]
            self.rows_per_step = sum(self._sizes) / len(self._queue)
        return torch.cat([self._members[group] for group in self._queue.pop()])

    def state(self) -> dict[str, object]:
        """The batches left in this epoch, its mean batch and the generator."""
        return {"queue": self._queue, "rows": self.rows_per_step, "random": self._random.get_state()}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from a saved state."""
        self._queue = [[int(group) for group in batch] for batch in state["queue"]]
        self.rows_per_step = float(state["rows"])
        self._random.set_state(state["random"])

    def _pack(self, order: Any) -> list[list[int]]:
        packed: list[list[int]] = []
        filled = self._batch
        for group in order:
            if packed and filled + self._sizes[group] <= self._batch:
                packed[-1].append(group)
                filled += self._sizes[group]
            else:
                packed.append([group])
                filled = self._sizes[group]
        return packed
