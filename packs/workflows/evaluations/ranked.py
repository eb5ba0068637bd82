"""How well items are ranked: the shared part of the first k of two rankings, over all k."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]


def utility(truth: Reals, score: Reals) -> float:
    """Mean over k of the share of the k best by ``score`` that are among the k best by ``truth``, [n] each; ties in file order.

    The utility of FLORA-Bench: a perfect ranking has 1, and the curve is averaged over every k, not over 100 of them.
    """
    n = len(truth)
    ours, theirs = (np.argsort(-side, kind="stable") for side in (score, truth))
    place = np.empty((2, n), dtype=np.int64)
    place[0, ours] = place[1, theirs] = np.arange(n)
    # an item is shared by the first k from its later place on
    shared = np.bincount(place.max(0), minlength=n).cumsum()
    return float((shared / np.arange(1, n + 1)).mean())


def expected_utility(truth: Reals, score: Reals) -> float:
    """``utility`` as expected when ties of both sides are broken at random, each on its own."""
    counts = np.arange(1, len(truth) + 1)
    chance = _chances(truth) * _chances(score)
    return float((chance.sum(0) / counts).mean())


def _chances(score: Reals) -> Reals:
    """[n, n]: the chance that an item is among the first k, k = 1 to n."""
    ordered = np.sort(-score)
    first, last = (np.searchsorted(ordered, -score, side) for side in ("left", "right"))
    counts = np.arange(1, len(score) + 1)
    found: Reals = np.clip((counts - first[:, None]) / (last - first)[:, None], 0.0, 1.0)
    return found
