from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdual.dsl.near import MOST_EDITS, distance, nearest


@pytest.mark.parametrize(
    ("first", "second", "edits"),
    [
        ("", "", 0),
        ("", "abc", 3),
        ("kitten", "sitting", 3),
        ("dual", "dula", 1),  # two neighbours swapped are one edit
        ("ca", "abc", 3),  # the restricted form: what was swapped is not edited again
        ("sofplus", "softplus", 1),
    ],
)
def test_distance(first: str, second: str, edits: int) -> None:
    assert distance(first, second) == edits
    assert distance(second, first) == edits


@pytest.mark.parametrize(
    ("word", "candidates", "expected"),
    [
        ("sofplus", ["softplus", "sigmoid"], "softplus"),
        ("modle", ["mode", "model", "models"], "mode"),
        ("Bus", ["gus", "bus"], "bus"),  # a difference in case alone wins
        ("abcd", ["xycd", "wxyz"], "xycd"),  # half the word's length
        ("abcd", ["xyzd"], None),  # more than half
        ("abcdefghijkl", ["abcdefgzzzzz"], "abcdefgzzzzz"),  # five edits
        ("abcdefghijkl", ["abcdefzzzzzz"], None),  # six, though only half the word
        ("x", ["y"], None),
        ("same", ["same"], None),
        ("word", [], None),
    ],
)
def test_nearest(word: str, candidates: list[str], expected: str | None) -> None:
    assert nearest(word, candidates) == expected


@given(st.text("ab_c", max_size=8), st.lists(st.text("ab_c", max_size=8)))
def test_nearest_keeps_its_limits(word: str, candidates: list[str]) -> None:
    found = nearest(word, candidates)
    within = [
        other for other in candidates if other != word and distance(word, other) <= min(MOST_EDITS, len(word) // 2)
    ]
    assert (found is None) == (not within)
    if found is not None:
        assert distance(word, found) == min(distance(word, other) for other in within)
        assert nearest(word, reversed(candidates)) == found
