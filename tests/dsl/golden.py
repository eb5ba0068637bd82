"""Cases as files: `NAME.pdual` and what it must print, `NAME.expected`.

`PDUAL_REGENERATE=1 pytest` writes the expected files anew; the change is then read in the diff.
"""

from __future__ import annotations

import os
from pathlib import Path

CASES = Path(__file__).with_name("cases")


def cases(group: str) -> list[Path]:
    """The specs of a folder of cases, in order."""
    return sorted((CASES / group).glob("*.pdual"))


def name(case: Path) -> str:
    """How a case is called in a test's name."""
    return case.stem


def hold(case: Path, printed: str) -> None:
    """Assert that a case printed what its expected file holds."""
    expected = case.with_suffix(".expected")
    if os.environ.get("PDUAL_REGENERATE") == "1":
        expected.write_text(printed, encoding="utf-8")
    assert expected.is_file(), f"{expected} is missing: run with PDUAL_REGENERATE=1"
    assert printed == expected.read_text(encoding="utf-8")
