"""The command line in this process: what it returns, and what it prints on either stream."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pdual.cli.main import perform

GOLDEN = Path(__file__).with_name("golden")
ROOT = Path(__file__).parent.parent.parent


class Said(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one document on stdout."""
        return json.loads(self.out)


def say(capsys: pytest.CaptureFixture[str], *arguments: str) -> Said:
    """Run one command."""
    capsys.readouterr()
    code = perform(list(arguments))
    return Said(code, *capsys.readouterr())


def hold(name: str, printed: str) -> None:
    """Assert that a golden file holds what was printed; ``PDUAL_REGENERATE=1 pytest`` writes it anew."""
    expected = GOLDEN / name
    if os.environ.get("PDUAL_REGENERATE") == "1":
        expected.write_text(printed, encoding="utf-8")
    assert expected.is_file(), f"{expected} is missing: run with PDUAL_REGENERATE=1"
    assert printed == expected.read_text(encoding="utf-8")
