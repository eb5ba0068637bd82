"""The re-solves of a sensitivity analysis and their settings."""

from __future__ import annotations

from dataclasses import dataclass

#: Re-solves take shorter steps than the run did, whose weights they start from. Of re-solves with groups of one size the order of the
#: rows is the same, so that they differ by their groups alone as long as steps are short enough not to magnify rounding: random groups
#: of 100 beside 6,000 MNIST images differ by 0.05 at 0.3, and by 0.004 at 0.1.
RATE = 0.1


@dataclass(frozen=True)
class Plan:
    """``groups`` by multiplier and ``random`` ones of ``size`` rows each, re-solved with seeds 0 to ``seeds`` - 1 in ``outer`` iterations.

    Without a size, a group has a tenth of the rows it is taken from. ``epochs`` of descent make an iteration, the spec's own without;
    ``rate``: the descent's learning rate, as a share of the spec's.
    """

    groups: int
    random: int
    size: int | None
    seeds: int
    outer: int
    epochs: float | None = None
    rate: float = RATE

    def sized(self, rows: int) -> int:
        """Rows of a group that is taken from so many."""
        return max(2, rows // 10) if self.size is None else self.size


@dataclass(frozen=True)
class Task:
    """One re-solve: the ids of the rows that are imposed, and the seed."""

    rows: tuple[int, ...]
    seed: int


@dataclass(frozen=True)
class Answer:
    """What came of a re-solve: the objective on the run's own train rows, in its own units, and the mean over the imposed rows of the
    largest violation that a row is left with, 0 without any.
    """

    objective: float
    violation: float
