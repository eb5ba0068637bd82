"""How well some scores rank what another source says, row by row: AUC, NDCG and Spearman. NumPy and SciPy only."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

Reals: TypeAlias = NDArray[np.float64]
Flags: TypeAlias = NDArray[np.bool_]


def auc(tight: Flags, score: Reals) -> Reals:
    """Of each row of [n, k]: the chance that a tight entry scores above one that is not, ties counting half; NaN where all are alike.

    The Mann-Whitney form of the area under the ROC curve.
    """
    ranks = rankdata(score, axis=1)
    positive = tight.sum(1).astype(float)
    negative = tight.shape[1] - positive
    above = (ranks * tight).sum(1) - positive * (positive + 1) / 2
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Reals = above / (positive * negative)
    return np.where((positive > 0) & (negative > 0), found, np.nan)


def spearman(first: Reals, second: Reals) -> Reals:
    """Of each row of [n, k]: the correlation of ranks, ties sharing theirs; NaN where either side is constant."""
    return pearson(rankdata(first, axis=1), rankdata(second, axis=1))


def pearson(first: Reals, second: Reals) -> Reals:
    """Of each row of [n, k]: the linear correlation; NaN where either side is constant."""
    a, b = (side - side.mean(1, keepdims=True) for side in (first, second))
    norms = np.sqrt((a * a).sum(1) * (b * b).sum(1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(norms > 0, (a * b).sum(1) / norms, np.nan)


def ndcg(gain: Reals, score: Reals) -> Reals:
    """Of each row of [n, k]: discounted gain (log2, ties averaged) over that of the ideal order; NaN where nothing is to be gained.

    As scikit-learn's ``ndcg_score``, whose checks of every call take ten times as long as the score.
    """
    discount = 1 / np.log2(np.arange(gain.shape[1]) + 2)
    order = np.argsort(-score, axis=1, kind="stable")
    ranked = np.take_along_axis(score, order, axis=1)
    # entries with one score share the mean of their discounts
    group = np.cumsum(np.diff(ranked, axis=1, prepend=ranked[:, :1]) != 0, axis=1)
    group += np.arange(len(gain))[:, None] * gain.shape[1]
    counts = np.bincount(group.ravel(), minlength=gain.size)
    sums = np.bincount(group.ravel(), np.broadcast_to(discount, gain.shape).ravel(), minlength=gain.size)
    shared = (sums / np.maximum(counts, 1))[group]
    found = (np.take_along_axis(gain, order, axis=1) * shared).sum(1)
    ideal = (-np.sort(-gain, axis=1) * discount).sum(1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(ideal > 0, found / ideal, np.nan)


def mean(values: Reals) -> float | None:
    """The mean of the numbers among these; None where there is none."""
    kept = values[~np.isnan(values)]
    return float(kept.mean()) if len(kept) else None
