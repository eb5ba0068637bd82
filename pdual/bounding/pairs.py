"""A complexity in two ways, a bound and an estimate, and how they come from watched networks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf, sqrt

from pdual.bounding.networks import Watched


@dataclass(frozen=True)
class Pair:
    """A bound and an estimate of one complexity; inf where there is none, and ``why``. Neither is above ``half``: half the width of the
    range that values are in.
    """

    bound: float
    estimate: float
    why: str = ""
    half: float = inf

    def times(self, slope: float) -> Pair:
        """Of functions of these that are no steeper."""
        return Pair(slope * self.bound, slope * self.estimate, self.why) if slope else Pair(0.0, 0.0)

    def within(self, half: float) -> Pair:
        """Of values in a range of twice this width: a class has no more than that, whatever it is."""
        return Pair(min(half, self.bound), min(half, self.estimate), self.why, half)


def nothing(why: str) -> Pair:
    """Where no rule says anything."""
    return Pair(inf, inf, why)


def largest(pairs: Sequence[Pair], none: str) -> Pair:
    """Of the entry where each is largest."""
    if not pairs:
        return nothing(none)
    worst = max(pairs, key=lambda pair: pair.bound)
    why = next((pair.why for pair in pairs if pair.why), "")
    return Pair(worst.bound, max(pair.estimate for pair in pairs), why, worst.half)


def together(watched: Iterable[Watched], rows: int) -> Pair:
    """Of all outputs of a row as one vector, with a sign for each, over ``rows``; the root 2 of the contraction is included."""
    bound, estimate, numbers = 0.0, 0.0, 0
    for item in watched:
        if item.evaluations % rows:
            return nothing("not covered: a model is not evaluated once a row")
        if not item.evaluations:
            continue
        for sums in item.sums():
            estimate += float(sums.estimate.sum()) / rows
            bound += inf if sums.bound is None else float(sums.bound.sum()) / rows
            numbers += sums.estimate.numel() * (item.evaluations // rows)
    root = 1.0 if numbers == 1 else sqrt(2)
    why = "" if bound < inf else "not covered: no standard bound with layer normalisation"
    return Pair(root * bound, root * estimate, why)


def each(watched: Iterable[Watched], rows: int) -> Pair:
    """Of the output where it is largest, over ``rows``."""
    bound = estimate = 0.0
    for item in watched:
        for sums in item.sums():
            estimate = max(estimate, float(sums.estimate.max()) / rows)
            bound = max(bound, inf if sums.bound is None else float(sums.bound.max()) / rows)
    return Pair(bound, estimate)
