"""Which rows a step sees: seeded, endless, and exactly resumable."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor


def generator(seed: int, *stream: int) -> torch.Generator:
    """A generator of its own for each purpose, so that one stream never shifts another."""
    mixed = seed
    for number in stream:
        mixed = (mixed * 1_000_003 + number + 1) % (2**63)
    return torch.Generator().manual_seed(mixed)


@dataclass(frozen=True, slots=True)
class Draw:
    """The rows of a batch: ``ids`` [batch], and ``weights`` [batch] of their terms, None where all are 1; ``sizes`` of the
    groups that they make up, one after another, None where batches are not of groups.
    """

    ids: Tensor
    weights: Tensor | None = None
    sizes: Sequence[int] | None = None


class Stream(Protocol):
    """An endless source of batches of row ids. ``rows_per_step`` is what a weighted sum over a batch is divided
    by to estimate a mean, ``groups_per_step`` what a sum over its groups is.
    """

    rows_per_step: float
    groups_per_step: float

    def draw(self) -> Draw:
        """The next batch."""

    def state(self) -> dict[str, object]:
        """Everything that ``load_state`` needs to go on exactly from here."""

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from a saved state."""


class Shuffle:
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
        """The order of this epoch and the place in it."""
        return {"order": self._order, "next": self._next}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from a saved state."""
        self._order = state["order"].to(self._rows)
        self._next = int(state["next"])


class RowStream:
    """Batches of one size, from all rows or, after ``restrict``, from two strata: a row that is named and a row that
    is not then stand for as many rows as their strata have, so that a weighted mean over a batch stays unbiased.

    ``share`` of a batch is drawn from the rows that are not named, one row at least; more where too few are named.
    """

    def __init__(self, rows: Tensor, batch: int, random: torch.Generator, share: float = 0.5) -> None:
        self._rows = rows
        self._batch = min(batch, len(rows))
        self._random = random
        self._share = share
        self._whole = Shuffle(rows, batch, random)
        self._named: Tensor | None = None
        self._strata: tuple[Shuffle, ...] = ()
        self._weights: Tensor | None = None
        self.rows_per_step = float(self._batch)
        self.groups_per_step = 0.0

    def restrict(self, named: Tensor | None) -> None:
        """Draw by strata: ``named`` [rows] bool; None, or one stratum without rows: draw from all."""
        count = len(self._rows) if named is None else int(named.sum())
        rest = len(self._rows) - count
        self._named, self._strata, self._weights = named, (), None
        if named is None or not count or not rest or self._batch < 2:
            return
        first = min(self._batch - max(1, round(self._batch * self._share)), count)
        first = max(first, self._batch - rest)
        sizes = (max(1, first), self._batch - max(1, first))
        self._strata = tuple(
            Shuffle(self._rows[chosen], size, self._random) for chosen, size in zip((named, ~named), sizes, strict=True)
        )
        weights = [
            self._rows.new_full((size,), members / len(self._rows) * self._batch / size, dtype=torch.float64)
            for members, size in zip((count, rest), sizes, strict=True)
        ]
        self._weights = torch.cat(weights)

    def draw(self) -> Draw:
        """The next batch."""
        if not self._strata:
            return Draw(self._whole.draw())
        return Draw(torch.cat([stratum.draw() for stratum in self._strata]), self._weights)

    def state(self) -> dict[str, object]:
        """The strata, the order of each and the generator."""
        return {
            "named": self._named,
            "strata": [stratum.state() for stratum in (self._whole, *self._strata)],
            "random": self._random.get_state(),
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from a saved state."""
        named = state["named"]
        self.restrict(None if named is None else named.to(self._rows.device))
        for stratum, saved in zip((self._whole, *self._strata), state["strata"], strict=True):
            stratum.load_state(saved)
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
        self._share(len(self._pack(range(len(self._members)))))

    def draw(self) -> Draw:
        """The next batch: the rows of some groups, group after group."""
        if not self._queue:
            order = torch.randperm(len(self._members), generator=self._random).tolist()
            self._queue = self._pack(order)[::-1]
            self._share(len(self._queue))
        groups = self._queue.pop()
        return Draw(torch.cat([self._members[group] for group in groups]), sizes=[self._sizes[g] for g in groups])

    def state(self) -> dict[str, object]:
        """The batches left in this epoch, its mean batch and the generator."""
        shares = [self.rows_per_step, self.groups_per_step]
        return {"queue": self._queue, "shares": shares, "random": self._random.get_state()}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from a saved state."""
        self._queue = [[int(group) for group in batch] for batch in state["queue"]]
        self.rows_per_step, self.groups_per_step = (float(share) for share in state["shares"])
        self._random.set_state(state["random"])

    def _share(self, batches: int) -> None:
        self.rows_per_step = sum(self._sizes) / batches
        self.groups_per_step = len(self._sizes) / batches

    def _pack(self, order: Any) -> list[list[int]]:
        return packed(order, self._sizes, self._batch)


def packed(order: Iterable[int], sizes: Sequence[int], batch: int) -> list[list[int]]:
    """Groups, given by their numbers, into batches in this order: as many as fit in ``batch`` rows, one at least."""
    found: list[list[int]] = []
    filled = batch
    for group in order:
        if found and filled + sizes[group] <= batch:
            found[-1].append(group)
            filled += sizes[group]
        else:
            found.append([group])
            filled = sizes[group]
    return found


def members_of(sizes: Sequence[int], device: torch.device) -> tuple[Tensor, Tensor]:
    """Positions of the rows of every group where groups of these sizes lie one after another: [groups, largest] int64, and
    which places are rows, bool; the others point at the group's first row.
    """
    counts = torch.tensor(sizes, dtype=torch.long, device=device)
    places = torch.arange(max(sizes, default=0), device=device)
    present = places < counts[:, None]
    starts = counts.cumsum(0) - counts
    return starts[:, None] + places * present, present
