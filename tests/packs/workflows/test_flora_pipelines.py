"""``flora("Pipelines")``, which is not FLORA-Bench: its rows against their published counts, and a run over them."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from small_flora import WIDTH, bare

from pdual.compiler.compile import lower
from pdual.dsl.pipeline import read
from pdual.dsl.spans import Source
from pdual.packs.workflows.declarations.sources import FloraSettings
from pdual.packs.workflows.sources.flora import build
from pdual.packs.workflows.sources.table import PairTable
from pdual.runtime.data.context import SourceContext
from pdual.runtime.problem.options import RunOptions
from pdual.runtime.runs.execute import execute


@pytest.fixture(scope="module")
def pipelines() -> Path:
    root = os.environ.get("PDUAL_DATA")
    folder = Path(root or "") / "flora" / "Pipelines"
    if not root or not (folder / "train.jsonl.gz").is_file():
        pytest.skip("rows are in $PDUAL_DATA/flora/Pipelines, which is not set or not there")
    return folder


@pytest.fixture(scope="module")
def table(pipelines: Path) -> PairTable:
    return build(FloraSettings(domain="Pipelines"), SourceContext())


def test_pipelines_are_counted(table: PairTable) -> None:
    """Counts as the README of the data states them."""
    assert {name: len(ids) for name, ids in table.splits.items()} == {"train": 24489, "val": 3061, "test": 3061}
    assert table.embeddings.shape == (112, 384)
    assert len(table.graphs.node_offsets) - 1 == 1026 == len(table.workflow.unique())
    assert len(table.task.unique()) == 57
    assert round(len(table.graphs.members) / 1026, 1) == 5.6
    shares = {name: round(table.solved[ids].double().mean().item(), 3) for name, ids in table.splits.items()}
    assert shares == {"train": 0.520, "val": 0.510, "test": 0.521}
    assert table.address(0) == "workflow 207, task 26"


def test_pipelines_are_those_of_the_list_of_pairs(table: PairTable, pipelines: Path) -> None:
    lines = (pipelines / "pairs.csv").read_text().splitlines()[1:]
    expected = [line.split(",") for line in lines]
    assert Counter(row[0] for row in expected) == {name: len(ids) for name, ids in table.splits.items()}
    assert table.workflow.tolist() == [int(row[1]) for row in expected]
    assert table.task.tolist() == [int(row[2]) for row in expected]
    assert table.solved.tolist() == [row[3] == "1" for row in expected]


def test_the_embeddings_beside_the_records_are_read(table: PairTable, pipelines: Path) -> None:
    stored = np.load(pipelines / "embeddings.npz", allow_pickle=False)
    rows = {text: row.astype(np.float64) for text, row in zip(stored["text"], stored["embedding"], strict=True)}
    found = np.sort(table.embeddings.numpy(), axis=0)
    expected = np.sort(np.stack([row / np.linalg.norm(row) for row in rows.values()]), axis=0)
    assert np.allclose(found, expected, atol=1e-7)
    assert torch.allclose(table.embeddings.norm(dim=1), torch.ones(112), atol=1e-6)


def test_the_two_are_not_called_by_each_others_name(table: PairTable, pipelines: Path, tmp_path: Path) -> None:
    assert table.fingerprint.startswith("flora/Pipelines/")
    other = build(FloraSettings(domain="Coding-GD"), SourceContext(file=pipelines, cache=tmp_path))
    assert other.fingerprint == table.fingerprint


SPEC = """
problem pairs "Which workflow solves which task, row by row"
set dim = 0..383
data pairs = flora("Pipelines") {
  workflow: graph { node: real[dim] }
  question: real[dim]
  solved:   bool
}
model predictor(workflow: graph { node: real[dim] }, question: real[dim]) -> real = graph_pair(width = 32)
model q(x: real[32]) -> real = mlp(hidden = [16], output_bias = -7)
over p in pairs {
  let s = predictor(p.workflow, p.question)
  minimize bce(s, p.solved)
  subject to fit: bce(s, p.solved) <= 0.6
  dual fit = 10 * sigmoid(q(features(s)))
  metric accuracy = (s > 0) == p.solved
}
solve { outer = 6, descent = adam(lr = 2e-3, batch = 64, epochs = 2), ascent = adam(lr = 1e-3, batch = 256, epochs = 1) }
"""


def test_a_spec_over_rows_runs(pipelines: Path, tmp_path: Path) -> None:
    """A network that reads both sides beats the larger class, 0.52 of the rows, on rows that it has seen."""
    spec, found = read(Source("pairs.pdual", SPEC))
    assert spec is not None, found
    graph, _ = lower(spec, {})
    done = execute(
        graph, SPEC, RunOptions(out=tmp_path / "run", limit=1000, device="cpu"), SourceContext(cache=tmp_path)
    )
    assert done.metrics.status == "finished"
    assert set(done.metrics.splits) == {"train", "val", "test"}
    assert done.metrics.splits["train"].metrics["accuracy"].mean > 0.6


def test_a_copy_without_embeddings_asks_the_encoder(
    pipelines: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = bare(tmp_path, monkeypatch)
    folder = places.own / "Pipelines"
    folder.mkdir()
    shutil.copy(pipelines / "val.jsonl.gz", folder / "train.jsonl.gz")
    table = build(FloraSettings(domain="Pipelines"), places.context)
    assert len(table) == 3061
    assert table.embeddings.shape == (112, WIDTH)
