"""``flora``: small records from every place and in every packing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from small_flora import ALONE, CHAIN, ROWS, SPLITS, WIDTH, Places, bare, record, unit, write

from pdual.dsl.typed import TypedField
from pdual.dsl.types import ArrayType, FixedAxis, Kind
from pdual.packs.workflows.declarations.sources import FloraSettings
from pdual.packs.workflows.graphs import GraphBatch
from pdual.packs.workflows.sources.flora import build
from pdual.packs.workflows.sources.table import PairTable

CODING = FloraSettings(domain="Coding-GD")


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    return bare(tmp_path, monkeypatch)


def graphs_of(batch: GraphBatch, row: int) -> tuple[np.ndarray[Any, Any], list[list[int]]]:
    """The nodes and edges of one row, as its record has them."""
    mine = (batch.graph == batch.rows[row]).nonzero().flatten()
    first = int(mine[0])
    edges = [pair for pair in (batch.edges - first).T.tolist() if 0 <= pair[0] < len(mine)]
    return batch.nodes["node"][mine].numpy(), edges


def check(table: PairTable, rows: list[dict[str, Any]] = ROWS) -> None:
    """The table holds these records, one by one, in batches of any order."""
    ids = torch.arange(len(rows)).flip(0)
    values = table.batch(ids).values
    workflow, question = values["workflow"], values["question"]
    assert isinstance(workflow, GraphBatch)
    assert isinstance(question, torch.Tensor)
    assert values["task"].tolist() == [rows[row]["task_id"] for row in ids]  # type: ignore[attr-defined]
    assert values["solved"].tolist() == [bool(rows[row]["label"]) for row in ids]  # type: ignore[attr-defined]
    for place, row in enumerate(ids.tolist()):
        nodes, edges = graphs_of(workflow, place)
        assert np.allclose(nodes, [unit(text) for text in rows[row]["nodes"].values()], atol=1e-6)
        assert edges == rows[row]["edge_index"]
        assert np.allclose(question[place], unit(rows[row]["task"]), atol=1e-6)
        assert table.address(row) == f"workflow {rows[row]['workflow_id']}, task {rows[row]['task_id']}"


def test_records_become_rows(places: Places) -> None:
    write(places.own / "Coding-GD")
    table = build(CODING, places.context)
    check(table)
    splits = {name: ids.tolist() for name, ids in table.splits.items()}
    assert splits == {"train": [0, 1, 2, 3], "val": [4], "test": [5, 6]}
    assert len(table) == 7
    assert places.heard.notes == []
    # Texts are embedded once, graphs held once.
    (asked,) = places.encoding.asked
    assert sorted(asked) == ["check", "count", "find", "plan", "sort", "write"]
    assert len(table.graphs.node_offsets) == 4


def test_a_batch_holds_each_graph_once_and_only_its_own(places: Places) -> None:
    write(places.own / "Coding-GD")
    batch = build(CODING, places.context).batch(torch.tensor([6, 1, 0, 3])).values["workflow"]
    assert isinstance(batch, GraphBatch)
    assert (batch.graphs, batch.rows.tolist()) == (2, [0, 1, 0, 0])
    assert batch.graph.tolist() == [0, 0, 0, 1]
    assert batch.edges.tolist() == [[0, 1], [1, 2]]


@pytest.mark.parametrize("where", ["own", "cache", "named", "above"])
@pytest.mark.parametrize("packed", [False, True])
def test_places_and_packings_give_the_same_rows(places: Places, tmp_path: Path, where: str, packed: bool) -> None:
    folder = {
        "own": places.own / "Coding-GD",
        "cache": tmp_path / "cache" / "flora" / "Coding-GD",
        "named": tmp_path / "elsewhere" / "Coding-GD",
        "above": tmp_path / "elsewhere" / "Coding-GD",
    }[where]
    write(folder, packed=packed)
    named = {"named": folder, "above": folder.parent}.get(where)
    table = build(CODING, replace(places.context, file=named))
    check(table)
    assert table.fingerprint.startswith("flora/Coding-GD/574365502aa59b7ac7993be1/")


def test_a_split_in_parts_is_read_in_the_order_of_their_numbers(places: Places) -> None:
    train = SPLITS["train"]
    parts = {f"train_{number}": train[number % 4 : number % 4 + 1] for number in range(1, 12)}
    write(places.own / "Coding-GD", parts)
    table = build(CODING, places.context)
    assert len(table.splits["train"]) == 11
    assert set(table.splits) == {"train"}
    check(table, [train[number % 4] for number in range(1, 12)])


def test_one_file_is_all_train(places: Places, tmp_path: Path) -> None:
    write(tmp_path / "mine")
    table = build(CODING, replace(places.context, file=tmp_path / "mine" / "test.jsonl"))
    check(table, list(SPLITS["test"]))
    assert {name: len(ids) for name, ids in table.splits.items()} == {"train": 2}
    assert table.fingerprint.startswith("flora/mine/test.jsonl/")


def test_what_is_left_out_is_said(places: Places, tmp_path: Path) -> None:
    empty = record([], [], "sort", 1, 3, 0)
    odd = {**record(*ALONE, "another text", 1, 8, 0), "score": 0.5}
    write(tmp_path / "Mine", {"train": [*SPLITS["train"], empty, odd], "test": [empty]})
    table = build(CODING, replace(places.context, file=tmp_path / "Mine"))
    assert {name: len(ids) for name, ids in table.splits.items()} == {"train": 5}
    assert places.heard.notes == [
        "warning: `Coding-GD` was asked for, the rows are those of Mine",
        "warning: 2 records of Mine have no nodes and are left out",
        "warning: keys of Mine that are not read: score",
        "warning: 1 task ids of Mine stand for several texts each",
    ]


@pytest.mark.parametrize("edges", [None, [], [[], []]])
def test_no_edges_may_be_written_in_several_ways(places: Places, edges: Any) -> None:
    write(places.own / "Coding-GD", {"train": [record(CHAIN[0], edges, "sort", 1, 0, 0)]})
    batch = build(CODING, places.context).batch(torch.tensor([0])).values["workflow"]
    assert isinstance(batch, GraphBatch)
    assert batch.edges.shape == (2, 0)


def test_limits_and_fingerprints(places: Places) -> None:
    write(places.own / "Coding-GD")
    whole = build(CODING, places.context)
    table = build(FloraSettings(domain="Coding-GD", limit=1), places.context)
    assert {name: ids.tolist() for name, ids in table.splits.items()} == {"train": [0], "val": [4], "test": [5]}
    assert table.fingerprint == whole.fingerprint + "/limit=1" == whole.limited(1).fingerprint
    changed = {**SPLITS, "val": [{**SPLITS["val"][0], "label": 0}]}
    write(places.own / "Coding-GD", changed)
    assert build(CODING, places.context).fingerprint != whole.fingerprint


def test_precision_and_place(places: Places) -> None:
    write(places.own / "Coding-GD")
    table = build(CODING, places.context).to(torch.device("cpu"), torch.float64)
    values = table.batch(table.splits["test"]).values
    assert values["question"].dtype == values["workflow"].nodes["node"].dtype == torch.float64  # type: ignore[attr-defined]
    assert values["task"].dtype == torch.int64  # type: ignore[attr-defined]
    check(table)


def test_only_declared_fields_under_their_own_names(places: Places) -> None:
    write(places.own / "Coding-GD")
    axes = (FixedAxis(WIDTH),)
    fields = {"asked": TypedField("asked", ArrayType(Kind.REAL, axes), -1.0, 1.0, "question")}
    table = build(CODING, replace(places.context, fields=fields))
    assert set(table.batch(torch.tensor([0])).values) == {"asked"}


def test_an_encoder_beside_the_spec_is_found_there(places: Places, tmp_path: Path) -> None:
    write(places.own / "Coding-GD")
    (tmp_path / "mine").mkdir()
    build(FloraSettings(domain="Coding-GD", encoder="mine"), places.context)
    build(FloraSettings(domain="Coding-GD", encoder="of/the-hub"), places.context)
    assert places.encoding.loaded == [str(tmp_path / "mine"), "of/the-hub"]
