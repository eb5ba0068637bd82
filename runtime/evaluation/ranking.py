"""How well scores rank reference values, row by row: AUC, NDCG, Spearman, precision. NumPy and SciPy only."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Reals: TypeAlias = NDArray[np.float64]
Flags: TypeAlias = NDArray[np.bool_]


def auc(tight: Flags, score: Reals) -> Reals:
    """Of each row of [n, k]: the chance that a tight entry scores above one that is not, ties counting half; NaN where all are alike.

    The Mann-Whitney form of the area under the ROC curve.
    """
    from scipy.stats import rankdata

    ranks = rankdata(score, axis=1)
    positive = tight.sum(1).astype(float)
    negative = tight.shape[1] - positive
    above = (ranks * tight).sum(1) - positive * (positive + 1) / 2
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Reals = above / (positive * negative)
    return np.where((positive > 0) & (negative > 0), found, np.nan)


def spearman(first: Reals, second: Reals) -> Reals:
    """Of each row of [n, k]: the correlation of ranks, ties sharing theirs; NaN where either side is constant."""
    from scipy.stats import rankdata

    return pearson(rankdata(first, axis=1), rankdata(second, axis=1))


def pearson(first: Reals, second: Reals) -> Reals:
    """Of each row of [n, k]: the linear correlation; NaN where either side is constant."""
    a, b = (side - side.mean(1, keepdims=True) for side in (first, second))
    norms = np.sqrt((a * a).sum(1) * (b * b).sum(1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(norms > 0, (a * b).sum(1) / norms, np.nan)


def precision(tight: Flags, score: Reals) -> Reals:
    """Of each row of [n, k]: of as many of the highest scores as there are tight entries, the share that are tight, as
    expected when ties are broken at random; NaN where none is tight.
    """
    count = tight.sum(1)
    first = (np.arange(tight.shape[1]) < count[:, None]).astype(float)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(count > 0, _discounted(tight.astype(float), score, first) / count, np.nan)


def spearman_top(first: Reals, score: Reals, count: NDArray[np.int64]) -> Reals:
    """``spearman`` of each row, with scores below the ``count``-th highest ([n]) tied below all others; NaN where it is 0."""
    ordered = -np.sort(-score, axis=1)
    least = np.take_along_axis(ordered, np.maximum(count, 1)[:, None] - 1, axis=1)
    return np.where(count > 0, spearman(first, np.where(score >= least, score, -np.inf)), np.nan)


def ndcg(gain: Reals, score: Reals) -> Reals:
    """Of each row of [n, k]: discounted gain (log2, ties averaged) over that of the ideal order; NaN where nothing is to be gained.

    As scikit-learn's ``ndcg_score``, whose checks of every call take ten times as long as the score.
    """
    discount = 1 / np.log2(np.arange(gain.shape[1]) + 2)
    found = _discounted(gain, score, np.broadcast_to(discount, gain.shape))
    ideal = (-np.sort(-gain, axis=1) * discount).sum(1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(ideal > 0, found / ideal, np.nan)


def _discounted(gain: Reals, score: Reals, discount: Reals) -> Reals:
    """Of each row of [n, k]: the sum of gain times the discount of its place, highest score first."""
    order = np.argsort(-score, axis=1, kind="stable")
    ranked = np.take_along_axis(score, order, axis=1)
    # entries with one score share the mean of their discounts
    group = np.cumsum(np.diff(ranked, axis=1, prepend=ranked[:, :1]) != 0, axis=1)
    group += np.arange(len(gain))[:, None] * gain.shape[1]
    counts = np.bincount(group.ravel(), minlength=gain.size)
    sums = np.bincount(group.ravel(), discount.ravel(), minlength=gain.size)
    shared = (sums / np.maximum(counts, 1))[group]
    found: Reals = (np.take_along_axis(gain, order, axis=1) * shared).sum(1)
    return found


def mean(values: Reals) -> float | None:
    """The mean of the numbers among these; None where there is none."""
    kept = values[~np.isnan(values)]
    return float(kept.mean()) if len(kept) else None
