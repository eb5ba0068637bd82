"""Utility of a ranking: by hand, and with ties against every way to break them."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdual.packs.workflows.evaluations.ranked import expected_utility, utility


def by_hand(truth: list[int], score: list[int]) -> float:
    """Items in order of both rankings, ``k`` by ``k``."""
    return float(np.mean([len(set(truth[:k]) & set(score[:k])) / k for k in range(1, len(truth) + 1)]))


def test_a_perfect_ranking_has_utility_1_and_a_reversed_one_what_the_definition_says() -> None:
    truth = np.array([4.0, 3.0, 2.0, 1.0])
    assert utility(truth, truth * 10) == 1.0
    assert utility(truth, -truth) == pytest.approx((0 + 0 + 2 / 3 + 1) / 4)
    assert expected_utility(truth, -truth) == pytest.approx(utility(truth, -truth))


def test_ties_stand_in_the_order_of_the_file() -> None:
    truth = np.array([1.0, 0.0, 1.0])
    assert utility(truth, np.zeros(3)) == pytest.approx(by_hand([0, 2, 1], [0, 1, 2]))


TIED = st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=1, max_size=4)


def orders(values: list[float]) -> list[list[int]]:
    return [sorted(order, key=lambda place: -values[place]) for order in permutations(range(len(values)))]


@settings(deadline=None)
@given(truth=TIED, data=st.data())
def test_ties_at_random_are_the_mean_over_all_ways(truth: list[float], data: st.DataObject) -> None:
    score = data.draw(st.lists(st.sampled_from([0.0, 1.0, 2.0]), min_size=len(truth), max_size=len(truth)))
    ways = [by_hand(one, other) for one in orders(truth) for other in orders(score)]
    assert expected_utility(np.array(truth), np.array(score)) == pytest.approx(np.mean(ways))
