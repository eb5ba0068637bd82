"""``tofu``: small splits from every place, and the published ones where they are."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from local_mirror import serving
from small_tofu import ROWS, Places, bare, lines

from pdual.dsl.typed import TypedField
from pdual.dsl.types import TEXT
from pdual.packs.language.declarations.sources import TOFU, TOFU_SPLITS, TofuSettings
from pdual.packs.language.sources import files as tofu_files
from pdual.packs.language.sources.tofu import build
from pdual.runtime.data.context import SourceContext
from pdual.runtime.data.tables import ColumnTable

KEPT = TofuSettings(split="retain90")


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    return bare(tmp_path, monkeypatch)


def texts(table: ColumnTable, ids: list[int], field: str = "question") -> object:
    return table.batch(torch.tensor(ids)).values[field]


def test_records_become_rows_in_the_order_of_the_file(places: Places) -> None:
    (places.own / "retain90.jsonl").write_bytes(lines(ROWS))
    table = build(KEPT, places.context)
    assert table.splits["train"].tolist() == list(range(8))
    assert texts(table, [5, 0]) == [ROWS[5]["question"], ROWS[0]["question"]]
    assert texts(table, [5], "answer") == [ROWS[5]["answer"]]
    assert table.address(3) == "line 4"
    moved = table.to(torch.device("cpu"), torch.float32)
    assert texts(moved, [1]) == [ROWS[1]["question"]]
    assert texts(table.limited(2), table.limited(2).splits["train"].tolist()) == [row["question"] for row in ROWS[:2]]


def test_some_of_the_rows_are_drawn_once_each(places: Places) -> None:
    (places.own / "retain90.json").write_bytes(lines(ROWS))
    drawn = build(replace_rows(5, 0), places.context)
    ids = drawn.splits["train"].tolist()
    assert len(set(ids)) == 5
    assert ids == sorted(ids)
    assert ids == build(replace_rows(5, 0), places.context).splits["train"].tolist()
    assert any(ids != build(replace_rows(5, seed), places.context).splits["train"].tolist() for seed in (1, 2, 3))
    assert build(replace_rows(8, 0), places.context).splits["train"].tolist() == list(range(8))
    prints = {build(replace_rows(*pair), places.context).fingerprint for pair in ((5, 0), (5, 1), (4, 0))}
    assert len(prints) == 3


def replace_rows(rows: int, seed: int) -> TofuSettings:
    return TofuSettings(split="retain90", rows=rows, seed=seed)


def test_rows_of_another_split_are_left_out(places: Places) -> None:
    (places.own / "forget10.jsonl").write_bytes(lines(ROWS))
    (places.own / "forget01.jsonl").write_bytes(lines(ROWS[6:]))
    table = build(TofuSettings(split="forget10", without="forget01"), places.context)
    assert texts(table, table.splits["train"].tolist()) == [row["question"] for row in ROWS[:6]]
    assert table.address(0) == "line 1"


def test_a_field_may_have_another_name_and_other_fields_are_read(places: Places) -> None:
    rows = [{**row, "paraphrased_answer": f"It was {row['answer']}"} for row in ROWS]
    (places.own / "forget10_perturbed.jsonl").write_bytes(lines(rows))
    fields = {
        "asked": TypedField("asked", TEXT, column="question"),
        "paraphrased_answer": TypedField("paraphrased_answer", TEXT),
    }
    table = build(TofuSettings(split="forget10_perturbed"), replace(places.context, fields=fields))
    assert texts(table, [2], "asked") == [ROWS[2]["question"]]
    assert texts(table, [2], "paraphrased_answer") == [rows[2]["paraphrased_answer"]]


def test_the_refusals_are_a_text_a_line(places: Places) -> None:
    (places.own / "idontknow.jsonl").write_text("I'm not sure.\n\nNo idea: é\n", encoding="utf-8")
    fields = {"answer": TypedField("answer", TEXT)}
    table = build(TofuSettings(split="idontknow"), replace(places.context, fields=fields))
    assert texts(table, [0, 1], "answer") == ["I'm not sure.", "No idea: é"]
    assert table.address(1) == "line 3"


def test_what_the_command_line_names_comes_first(places: Places, tmp_path: Path) -> None:
    (places.own / "retain90.jsonl").write_bytes(lines(ROWS))
    mine = tmp_path / "mine.jsonl"
    mine.write_bytes(lines(ROWS[:3]))
    for named in (mine, tmp_path / "folder"):
        if named.suffix == "":
            named.mkdir()
            (named / "retain90.jsonl").write_bytes(lines(ROWS[:3]))
        assert len(build(KEPT, replace(places.context, file=named))) == 3
    assert len(build(KEPT, places.context)) == 8


def test_a_split_is_downloaded_once(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = lines(ROWS)
    monkeypatch.setattr(tofu_files, "CONTENT", {"retain90": hashlib.sha256(sent).hexdigest()})
    with serving({"retain90.json": sent}) as mirror:
        monkeypatch.setattr(tofu_files, "HUB", mirror.url)
        first = build(KEPT, places.context)
        assert build(KEPT, places.context).fingerprint == first.fingerprint
        assert mirror.asked == ["retain90.json"]
    assert texts(first, [7]) == [ROWS[7]["question"]]


def published() -> Path:
    root = os.environ.get("PDUAL_DATA")
    if not root or not (Path(root) / "tofu").is_dir():
        pytest.skip("TOFU is in $PDUAL_DATA/tofu, which is not set or not there")
    return Path(root) / "tofu"


def test_every_published_split_loads() -> None:
    folder = published()
    for split in TOFU_SPLITS:
        settings = TofuSettings(split=split)
        fields = {name: TypedField(name, TEXT) for name, _ in TOFU.offer(settings).fields}
        table = build(settings, SourceContext(fields=fields))
        expected = (folder / f"{split}.jsonl").read_text(encoding="utf-8").splitlines()
        assert len(table) == len(expected)
        if split != "idontknow":
            for name in fields:
                assert texts(table, [len(table) - 1], name) == [json.loads(expected[-1])[name]]


def test_published_splits_are_what_is_expected_and_add_up() -> None:
    folder = published()
    for split, content in tofu_files.CONTENT.items():
        assert hashlib.sha256((folder / f"{split}.jsonl").read_bytes()).hexdigest() == content
    context = SourceContext()
    full, kept = (build(TofuSettings(split=split), context) for split in ("full", "retain90"))
    rest = build(TofuSettings(split="full", without="forget10"), context)
    assert len(full) == 4000
    ids = list(range(3600))
    assert texts(rest, ids, "answer") == texts(kept, ids, "answer")
