"""What ``tofu`` refuses; test_tofu has what it accepts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import golden
import pytest
from power_oracle import refused
from small_tofu import ROWS, TEXT, Places, bare, lines

from pdual.dsl.printer import render
from pdual.dsl.spans import Source
from pdual.packs.language.declarations.sources import TofuSettings
from pdual.packs.language.sources.tofu import build


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    return bare(tmp_path, monkeypatch)


def told(action: Any, name: str, *hidden: tuple[str, str]) -> str:
    """The code of a refusal whose text is that of its golden file, with what differs from run to run named."""
    (item,) = refused(action)
    printed = render(item, Source("tofu.pdual", TEXT)) + "\n"
    for text, stand_in in hidden:
        printed = printed.replace(text, stand_in)
    golden.hold(Path(__file__).parent / "refusals" / name, printed)
    return item.code


@pytest.mark.parametrize(
    ("split", "name", "code"),
    [
        ("retain90", "tofu_nowhere", "PD538"),
        ("holdout10", "tofu_by_hand", "PD550"),
        ("retain9", "tofu_near", "PD550"),
    ],
)
def test_a_split_that_is_not_here(places: Places, tmp_path: Path, split: str, name: str, code: str) -> None:
    action = lambda: build(TofuSettings(split=split), places.context)  # noqa: E731
    assert told(action, name, (str(tmp_path), "")) == code


CONTENTS = {
    "tofu_no_rows": (b"\n", "PD533"),
    "tofu_not_json": (lines(ROWS) + b"Who?\n", "PD543"),
    "tofu_no_object": (lines([*ROWS, ["Who?"]]), "PD543"),
    "tofu_no_answer": (lines([*ROWS, {"question": "Who?", "answr": "He."}]), "PD543"),
    "tofu_no_text": (lines([*ROWS, {"question": "Who?", "answer": 3}]), "PD543"),
}


@pytest.mark.parametrize("name", CONTENTS)
def test_a_file_that_holds_something_else(places: Places, tmp_path: Path, name: str) -> None:
    content, code = CONTENTS[name]
    (places.own / "retain90.jsonl").write_bytes(content)
    assert told(lambda: build(TofuSettings(split="retain90"), places.context), name, (str(tmp_path), "")) == code


def test_bytes_that_are_no_text(places: Places) -> None:
    (places.own / "retain90.jsonl").write_bytes(b"\xff\xfe{}")
    (item,) = refused(lambda: build(TofuSettings(split="retain90"), places.context))
    assert item.code == "PD533"


def test_a_named_file_that_is_not_there(places: Places, tmp_path: Path) -> None:
    context = replace(places.context, file=tmp_path / "none.jsonl")
    (item,) = refused(lambda: build(TofuSettings(split="retain90"), context))
    assert item.code == "PD533"


def test_more_rows_than_there_are(places: Places) -> None:
    (places.own / "retain90.jsonl").write_bytes(lines(ROWS))
    action = lambda: build(TofuSettings(split="retain90", rows=9), places.context)  # noqa: E731
    assert told(action, "tofu_rows") == "PD551"
    all_of_it = TofuSettings(split="retain90", without="retain90")
    (item,) = refused(lambda: build(all_of_it, places.context))
    assert (item.code, item.fact["found"]) == ("PD551", "0")
