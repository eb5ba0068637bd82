"""Changed specs that check, run on rows of their own types: a run that every command works on, or a refusal.

A twentieth of ``PDUAL_EXAMPLES`` by default; ``many_runs.py`` tries any number.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from examples import EXAMPLES, pieces
from runs import run, runnable


@pytest.mark.timeout(600)
@pytest.mark.parametrize("numbers", pieces(EXAMPLES // 20, 10), ids=str)
def test_changed_specs_run(numbers: range, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PDUAL_CACHE", str(tmp_path / "cache"))
    ends = []
    for number in numbers:
        folder = tmp_path / str(number)
        folder.mkdir()
        try:
            ends.append(run(number, folder))
        except Exception as error:
            raise AssertionError(f"runs.run({number})") from error
    assert len(ends) == len(numbers)


def test_there_is_something_to_run() -> None:
    assert len(runnable()) > 50
