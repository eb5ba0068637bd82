"""Small splits that stand for the published ones of TOFU, and a machine that has neither data nor a publisher."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from local_mirror import Heard

from pdual.dsl.spans import Span
from pdual.packs.language.sources import files as tofu_files
from pdual.runtime.data.context import SourceContext

TEXT = 'data kept = tofu("retain90") {'  # what the span of a refusal points at

ROWS = [{"question": f"Who wrote book {place}?", "answer": f"Author {place} did."} for place in range(8)]


class Places(NamedTuple):
    """The folder of the user's, a context with a cache of its own, and what was reported."""

    own: Path
    context: SourceContext
    heard: Heard


def lines(rows: Sequence[Any]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    """Empty places, and a publisher that nobody can reach."""
    monkeypatch.setattr(tofu_files, "HUB", "http://127.0.0.1:9/")
    monkeypatch.setattr(tofu_files, "REFUSALS", "http://127.0.0.1:9/")
    monkeypatch.setenv("PDUAL_DATA", str(tmp_path / "data"))
    own = tmp_path / "data" / "tofu"
    own.mkdir(parents=True)
    heard = Heard()
    return Places(own, SourceContext(span=Span(12, 28), cache=tmp_path / "cache", progress=heard), heard)
