"""A few records in the format of FLORA-Bench, written for these tests, and an encoder that needs no model."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from local_mirror import Heard

from pdual.dsl.spans import Span
from pdual.packs.workflows.sources import sentences
from pdual.runtime.data.context import SourceContext

WIDTH = 6
TEXT = 'data pairs = flora("Coding-GD") {'  # what the span of a refusal points at


def record(nodes: Sequence[str], edges: Any, task: str, label: Any, workflow: int, number: int) -> dict[str, Any]:
    return {
        "nodes": {str(place): text for place, text in enumerate(nodes)},
        "edge_index": edges,
        "task": task,
        "label": label,
        "workflow_id": workflow,
        "task_id": number,
    }


#: A chain, one node without edges, a repeated edge and a loop; two of them share texts, one text is a task and a node.
CHAIN = ["plan", "write", "check"], [[0, 1], [1, 2]]
ALONE: tuple[list[str], Any] = ["write"], []
TWICE = ["check", "sort"], [[0, 1], [0, 1], [1, 1]]
SPLITS: Mapping[str, Sequence[dict[str, Any]]] = {
    "train": [
        record(*CHAIN, "sort", 1, 7, 0),
        record(*ALONE, "sort", 0, 8, 0),
        record(*TWICE, "count", True, 9, 1),
        record(*CHAIN, "count", False, 7, 1),
    ],
    "val": [record(*ALONE, "count", 1, 8, 1)],
    "test": [record(*TWICE, "sort", 0, 9, 0), record(*CHAIN, "find", 1, 7, 2)],
}
ROWS = [item for records in SPLITS.values() for item in records]


def write(folder: Path, splits: Mapping[str, Sequence[Any]] = SPLITS, packed: bool = False) -> Path:
    """The files of a domain; what is no record is written as it is."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, records in splits.items():
        lines = "".join((item if isinstance(item, str) else json.dumps(item)) + "\n" for item in records)
        if packed:
            (folder / f"{name}.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
        else:
            (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    return folder


def vector(text: str) -> np.ndarray[Any, Any]:
    """What the encoder of these tests says of a text: not of length 1, so that scaling shows."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")
    found: np.ndarray[Any, Any] = np.random.default_rng(seed).normal(size=WIDTH)
    return found


def unit(text: str) -> np.ndarray[Any, Any]:
    found: np.ndarray[Any, Any] = vector(text) / np.linalg.norm(vector(text))
    return found


@dataclass
class Encoding:
    """Which encoders were loaded, and what they were asked."""

    loaded: list[str] = field(default_factory=list)
    asked: list[list[str]] = field(default_factory=list)

    def load(self, name: str, count: int, folder: Path | None, span: Span) -> sentences.Encoder:
        self.loaded.append(name)

        def encode(texts: Sequence[str]) -> Any:
            self.asked.append(list(texts))
            return np.stack([vector(text) for text in texts]).astype(np.float32)

        return encode


@dataclass
class Places:
    """The folder of the user's, a context with a cache of its own, what was reported, what was encoded."""

    own: Path
    context: SourceContext
    heard: Heard
    encoding: Encoding


def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    """Empty places and an encoder without a model."""
    monkeypatch.setenv("PDUAL_DATA", str(tmp_path / "data"))
    own = tmp_path / "data" / "flora"
    own.mkdir(parents=True)
    heard, encoding = Heard(), Encoding()
    monkeypatch.setattr(sentences, "load_encoder", encoding.load)
    context = SourceContext(span=Span(13, 18), cache=tmp_path / "cache", folder=tmp_path, progress=heard)
    return Places(own, context, heard, encoding)
