"""AUC, NDCG and rank correlation against the libraries' own, one row at a time."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import pearsonr, spearmanr
from sklearn.metrics import ndcg_score, roc_auc_score

from pdual.runtime.evaluation.ranking import auc, mean, ndcg, pearson, precision, spearman, spearman_top

#: Few values, so that there are ties.
NUMBER = st.sampled_from([0.0, 0.25, 0.5, 1.0, 3.0])
ROW = st.lists(st.tuples(NUMBER, NUMBER), min_size=2, max_size=8)


def rows(drawn: list[tuple[float, float]]) -> tuple[np.ndarray, np.ndarray]:
    first, second = zip(*drawn, strict=True)
    return np.array([first]), np.array([second])


@settings(deadline=None)
@given(drawn=ROW)
def test_each_score_is_that_of_its_library(drawn: list[tuple[float, float]]) -> None:
    truth, score = rows(drawn)
    tight = truth > 0.3
    if 0 < tight.sum() < tight.size:
        assert auc(tight, score)[0] == pytest.approx(roc_auc_score(tight[0], score[0]), abs=1e-12)
    else:
        assert np.isnan(auc(tight, score)[0])
    if np.ptp(truth) and np.ptp(score):
        assert spearman(truth, score)[0] == pytest.approx(spearmanr(truth[0], score[0]).statistic, abs=1e-9)
        assert pearson(truth, score)[0] == pytest.approx(pearsonr(truth[0], score[0]).statistic, abs=1e-9)
    else:
        assert np.isnan(spearman(truth, score)[0])
        assert np.isnan(pearson(truth, score)[0])
    if truth.max() > 0:
        assert ndcg(truth, score)[0] == pytest.approx(ndcg_score(truth, score), abs=1e-12)
    else:
        assert np.isnan(ndcg(truth, score)[0])


def test_rows_are_scored_apart() -> None:
    truth = np.array([[1.0, 0.0, 0.0], [0.0, 2.0, 1.0], [0.0, 0.0, 0.0]])
    score = np.array([[3.0, 1.0, 2.0], [2.0, 1.0, 0.0], [1.0, 2.0, 3.0]])
    assert auc(truth > 0, score)[:2].tolist() == [1.0, 0.0]
    assert np.isnan(auc(truth > 0, score)[2])
    assert spearman(truth, score)[1] == pytest.approx(-0.5)
    # the gains 0, 2, 1 in the order of the scores, over the ideal order
    discount = 1 / np.log2([2, 3, 4])
    assert ndcg(truth, score)[1] == pytest.approx((2 * discount[1] + discount[2]) / (2 * discount[0] + discount[1]))


def test_what_is_undefined_is_not_averaged() -> None:
    assert mean(np.array([1.0, np.nan, 0.5])) == 0.75
    assert mean(np.array([np.nan])) is None
    assert mean(np.array([])) is None


@settings(deadline=None)
@given(drawn=st.lists(st.tuples(NUMBER, NUMBER), min_size=2, max_size=5))
def test_precision_is_the_mean_over_all_ways_to_break_ties(drawn: list[tuple[float, float]]) -> None:
    truth, score = rows(drawn)
    tight = truth > 0.3
    count = int(tight.sum())
    if not count:
        assert np.isnan(precision(tight, score)[0])
        return
    shares = []
    for order in permutations(range(tight.shape[1])):
        places = sorted(order, key=lambda place: -score[0, place])  # sorting is stable
        shares.append(np.mean([tight[0, place] for place in places[:count]]))
    assert precision(tight, score)[0] == pytest.approx(np.mean(shares))


@settings(deadline=None)
@given(drawn=ROW, count=st.integers(0, 8))
def test_the_spearman_of_the_top_ties_everything_below_it(drawn: list[tuple[float, float]], count: int) -> None:
    truth, score = rows(drawn)
    count = min(count, score.size)
    found = spearman_top(truth, score, np.array([count]))[0]
    if not count:
        assert np.isnan(found)
        return
    least = sorted(score[0])[-count]
    kept = np.array([value if value >= least else -1.0 for value in score[0]])
    if np.ptp(truth) and np.ptp(kept):
        assert found == pytest.approx(spearmanr(truth[0], kept).statistic, abs=1e-9)
    else:
        assert np.isnan(found)
