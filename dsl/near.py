"""The name that was probably meant."""

from __future__ import annotations

from collections.abc import Iterable

MOST_EDITS = 5


def nearest(word: str, candidates: Iterable[str]) -> str | None:
    """The candidate the fewest edits away, or None: at most five edits and at most half the word's length.

    An edit inserts, removes or replaces a letter, or swaps two neighbours (restricted Damerau distance). Of
    equally near ones the candidate that differs in case alone wins, then the first in the alphabet.
    """
    limit = min(MOST_EDITS, len(word) // 2)
    best: tuple[int, bool, str] | None = None
    for candidate in candidates:
        if candidate == word or abs(len(candidate) - len(word)) > limit:
            continue
        edits = distance(word, candidate)
        rank = (edits, candidate.lower() != word.lower(), candidate)
        if edits <= limit and (best is None or rank < best):
            best = rank
    return None if best is None else best[2]


def distance(first: str, second: str) -> int:
    """The restricted Damerau edit distance (optimal string alignment)."""
    before: list[int] = []
    previous = list(range(len(second) + 1))
    for i, letter in enumerate(first, start=1):
        current = [i]
        for j, other in enumerate(second, start=1):
            edits = min(previous[j] + 1, current[j - 1] + 1, previous[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == second[j - 2] and first[i - 2] == other:
                edits = min(edits, before[j - 2] + 1)
            current.append(edits)
        before, previous = previous, current
    return previous[-1]
