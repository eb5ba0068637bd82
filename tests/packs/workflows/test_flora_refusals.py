"""What ``flora`` refuses, each text as a file; test_flora has what it accepts."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import golden
import pytest
from power_oracle import refused
from small_flora import ALONE, CHAIN, SPLITS, TEXT, WIDTH, Places, bare, record, write

from pdual.dsl.printer import render
from pdual.dsl.spans import Source
from pdual.dsl.typed import TypedField
from pdual.dsl.types import ArrayType, FixedAxis, GraphType, Kind, SetAxis
from pdual.packs.workflows.declarations.sources import FloraSettings
from pdual.packs.workflows.sources import files as flora_files
from pdual.packs.workflows.sources.flora import build

CODING = FloraSettings(domain="Coding-GD")
GOOD = record(*CHAIN, "sort", 1, 7, 0)


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    return bare(tmp_path, monkeypatch)


def told(action: Any, name: str, tmp_path: Path) -> str:
    """The code of a refusal whose text is that of its golden file."""
    (item,) = refused(action)
    printed = render(item, Source("flora.pdual", TEXT)) + "\n"
    golden.hold(Path(__file__).parent / "refusals" / name, printed.replace(str(tmp_path), ""))
    return item.code


def test_nothing_is_here(places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert told(lambda: build(CODING, places.context), "flora_nowhere", tmp_path) == "PD541"
    other = FloraSettings(domain="Pipeline")
    assert told(lambda: build(other, places.context), "flora_other", tmp_path) == "PD541"
    write(places.own / "Pipelines")
    assert told(lambda: build(other, places.context), "flora_near", tmp_path) == "PD541"
    monkeypatch.delenv("PDUAL_DATA")
    assert told(lambda: build(CODING, places.context), "flora_no_folder", tmp_path) == "PD541"
    assert places.heard.notes == []


def test_a_folder_that_lacks_files(places: Places, tmp_path: Path) -> None:
    write(places.own / "Coding-GD", {"test": [GOOD], "trian": [GOOD]})
    assert told(lambda: build(CODING, places.context), "flora_no_train", tmp_path) == "PD542"
    write(places.own / "Math-GD", {"train_1": [GOOD], "train_3": [GOOD]})
    assert told(lambda: build(FloraSettings(domain="Math-GD"), places.context), "flora_no_part", tmp_path) == "PD542"
    (tmp_path / "empty").mkdir()
    assert (
        told(lambda: build(CODING, replace(places.context, file=tmp_path / "empty")), "flora_empty", tmp_path)
        == "PD542"
    )


def test_nothing_is_left_to_train_on(places: Places) -> None:
    for records in ([], [record([], [], "sort", 1, 0, 0)]):
        write(places.own / "Coding-GD", {"train": records, "test": [GOOD]})
        (item,) = refused(lambda: build(CODING, places.context))
        assert item.code == "PD536"


@pytest.mark.parametrize("cut", [30, 0])
def test_a_packed_file_that_broke_off(places: Places, cut: int) -> None:
    file = write(places.own / "Coding-GD", packed=True) / "train.jsonl.gz"
    file.write_bytes(file.read_bytes()[:-cut] if cut else b"not packed")
    (item,) = refused(lambda: build(CODING, places.context))
    assert (item.code, item.fact["file"]) == ("PD533", str(file))


@pytest.mark.parametrize("packed", [True, False])
def test_a_line_without_an_end(places: Places, monkeypatch: pytest.MonkeyPatch, packed: bool) -> None:
    monkeypatch.setattr(flora_files, "_LONGEST", 100_000)
    file = write(places.own / "Coding-GD", packed=packed) / ("train.jsonl.gz" if packed else "train.jsonl")
    content = json.dumps(GOOD).encode() + b"\n" + bytes(100_001)
    file.write_bytes(gzip.compress(content) if packed else content)
    (item,) = refused(lambda: build(CODING, places.context))
    assert (item.code, item.fact["reason"]) == ("PD533", "line 2 is longer than 100,000 bytes")


def without(key: str, **more: Any) -> dict[str, Any]:
    return {**{name: value for name, value in GOOD.items() if name != key}, **more}


LINES: dict[str, Any] = {
    "not_json": '"nodes": 3',
    "nan": json.dumps({**GOOD, "label": float("nan")}),
    "no_object": "[1]",
    "no_task": without("task"),
    "key": without("edge_index", edge_indexes=[]),
    "nodes_list": {**GOOD, "nodes": ["plan"]},
    "node_number": {**GOOD, "nodes": {"0": "plan", "1": 3, "2": "check"}},
    "edge_outside": {**GOOD, "edge_index": [[0, 1], [1, 3]]},
    "edge_negative": {**GOOD, "edge_index": [[0, -1]]},
    "edge_text": {**GOOD, "edge_index": [["0", "1"]]},
    "edge_truth": {**GOOD, "edge_index": [[True, 0]]},
    "edge_single": {**GOOD, "edge_index": [[0, 1, 2]]},
    "edges_number": {**GOOD, "edge_index": 4},
    "edges_of_none": record([], [[0, 1]], "sort", 1, 0, 0),
    "task_number": {**GOOD, "task": 4},
    "label_two": {**GOOD, "label": 2},
    "label_text": {**GOOD, "label": "yes"},
    "id_text": {**GOOD, "workflow_id": "HumanEval/1"},
    "id_share": {**GOOD, "task_id": 0.5},
    "id_large": {**GOOD, "task_id": 2**63},
}


@pytest.mark.parametrize("name", LINES)
def test_a_line_that_is_refused(name: str, places: Places, tmp_path: Path) -> None:
    write(places.own / "Coding-GD", {"train": SPLITS["train"], "val": [GOOD, "", LINES[name]]})
    assert told(lambda: build(CODING, places.context), f"flora_{name}", tmp_path) == "PD543"
    (item,) = refused(lambda: build(CODING, places.context))
    assert (item.fact["line"], item.fact["file"]) == ("3", str(places.own / "Coding-GD" / "val.jsonl"))
    assert places.encoding.loaded == []


@pytest.mark.parametrize("axis", [SetAxis("dim"), FixedAxis(5)])
@pytest.mark.parametrize("graph", [False, True])
def test_a_vector_of_another_width(places: Places, axis: Any, graph: bool, tmp_path: Path) -> None:
    write(places.own / "Coding-GD")
    array = ArrayType(Kind.REAL, (axis,))
    declared = TypedField(
        "x", GraphType((("node", array),)) if graph else array, column="workflow" if graph else "question"
    )
    context = replace(places.context, fields={"x": declared}, sets={"dim": ("a",) * 5})
    assert told(lambda: build(CODING, context), "flora_width", tmp_path) == "PD544"
    if isinstance(axis, SetAxis):
        build(CODING, replace(context, sets={"dim": ("a",) * WIDTH}))


def test_an_embedding_outside_the_declared_range(places: Places, tmp_path: Path) -> None:
    write(places.own / "Coding-GD", {"train": [record(*ALONE, "sort", 1, 0, 0)]})
    declared = TypedField("question", ArrayType(Kind.REAL, (FixedAxis(WIDTH),)), 0.0, 1.0)
    assert (
        told(lambda: build(CODING, replace(places.context, fields={"question": declared})), "flora_range", tmp_path)
        == "PD535"
    )
