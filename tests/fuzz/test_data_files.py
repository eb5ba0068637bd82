"""Changed files of rows and grids through their readers: values or a Refusal, in a bounded time, and no other exception.

A quarter of ``PDUAL_EXAMPLES`` in all by default, ``PDUAL_LONG_EXAMPLES`` of each kind with `pytest -m long`; ``many_files.py`` tries any
number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest
from data_files import hold
from data_mutations import KINDS, mutated
from examples import EXAMPLES, LONG_EXAMPLES


def hold_all(kind: str, numbers: Iterable[int], folder: Path) -> Counter[str]:
    codes: Counter[str] = Counter()
    for number in numbers:
        try:
            codes[hold(kind, mutated(kind, number), number, folder)[1] or "read"] += 1
        except Exception as error:
            raise AssertionError(f"data_mutations.mutated({kind!r}, {number})") from error
    return codes


@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", KINDS)
def test_changed_files(kind: str, tmp_path: Path) -> None:
    count = max(60, EXAMPLES // 4 // len(KINDS))
    codes = hold_all(kind, range(count), tmp_path)
    assert 0 < codes["read"] < count  # both are tried


@pytest.mark.long
@pytest.mark.timeout(6000)
@pytest.mark.parametrize("kind", KINDS)
def test_very_many_changed_files(kind: str, tmp_path: Path) -> None:
    hold_all(kind, range(1_000_000, 1_000_000 + LONG_EXAMPLES), tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_is_not_changed_is_read(kind: str, tmp_path: Path) -> None:
    good, _ = KINDS[kind]
    codes = [hold(kind, data, number, tmp_path)[1] for data in good() for number in range(1, 30)]
    assert None in codes


@pytest.mark.parametrize("kind", KINDS)
def test_a_number_is_the_same_bytes_everywhere(kind: str) -> None:
    assert mutated(kind, 7) == mutated(kind, 7)
    assert len({mutated(kind, number) for number in range(100)}) > 80
