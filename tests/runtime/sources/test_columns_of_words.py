"""Words where numbers or members were wanted: the advice, made, lets the file be read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch

from pdual.dsl.diagnostics import Refusal
from pdual.dsl.pipeline import read
from pdual.dsl.printer import render
from pdual.dsl.spans import Source
from pdual.runtime.data.context import SourceContext
from pdual.runtime.data.tables import Table
from pdual.runtime.problem.prepare import load_tables

HEAD = 'problem p "t"\n'
REST = (
    'data rows = csv("rows.csv") {{ x: real, {field} }}\nmodel f(x: real) -> real = mlp([4])\n'
    "over r in rows {{ minimize (f(r.x) - r.x)^2 }}\n"
)


def table(folder: Path, field: str, column: list[str], sets: str = "", name: str = "k") -> Table:
    (folder / "rows.csv").write_text(f"x,{name}\n" + "".join(f"1,{word}\n" for word in column))
    spec, found = read(Source("t.pdual", HEAD + sets + REST.format(field=field)))
    assert spec is not None, found
    return load_tables(spec, {}, SourceContext(folder=folder))["rows"]


def told(folder: Path, field: str, column: list[str], sets: str = "", name: str = "k") -> tuple[list[str], str]:
    """The notes and the help of the refusal."""
    with pytest.raises(Refusal) as refusal:
        table(folder, field, column, sets, name)
    (item,) = refusal.value.diagnostics
    assert item.code == "PD535"
    lines = render(item, Source("t.pdual", HEAD + sets + REST.format(field=field))).splitlines()
    advice = [line.partition("= help: ")[2] for line in lines if "= help:" in line]
    return [line.partition("= note: ")[2] for line in lines if "= note:" in line], "".join(advice)


WORDS = ["north", "south", "north", "east"]


@pytest.mark.parametrize("kind", ["real", "real in [0, 1]", "int"])
def test_a_column_of_words_is_a_set(tmp_path: Path, kind: str) -> None:
    notes, advice = told(tmp_path, f"k: {kind}", WORDS)
    assert notes[1] == "its 3 words are `north`, `south`, `east`"
    assert advice == "declare `set k = { north, south, east }`, and `k: k`"
    declaration, field = re.findall("`([^`]*)`", advice)
    found = table(tmp_path, field, WORDS, f"{declaration}\n")
    assert found.batch(torch.arange(4)).values["k"].tolist() == [0, 1, 0, 2]


def test_ids_may_be_words(tmp_path: Path) -> None:
    found = table(tmp_path, "k: id", WORDS).batch(torch.arange(4)).values["k"]
    assert isinstance(found, torch.Tensor)
    assert found[0] == found[2]
    assert len(set(found.tolist())) == 3


def test_names_that_are_taken(tmp_path: Path) -> None:
    assert (
        told(tmp_path, "k: int", WORDS, "set k = 0..2\n")[1]
        == "declare `set k_kind = { north, south, east }`, and `k: k_kind`"
    )
    assert told(tmp_path, "id: real", WORDS, name="id")[1].startswith("declare `set id_kind = {")
    there = "set side = { west, north, south, east }\n"
    assert told(tmp_path, "k: int", WORDS, there)[1] == "declare `k: side`, since that set has these members"
    assert table(tmp_path, "k: side", WORDS, there).batch(torch.arange(2)).values["k"].tolist() == [1, 2]


@pytest.mark.parametrize("words", [["new york", "rome"], ["data", "over"], ["a-b", "c"]])
def test_words_that_no_set_can_list(tmp_path: Path, words: list[str]) -> None:
    assert told(tmp_path, "k: int", words)[1].startswith("replace the words by numbers in the file, or by names")


def test_a_key_of_many_words(tmp_path: Path) -> None:
    notes, advice = told(tmp_path, "k: int", [f"row_{place}" for place in range(20)])
    assert notes[1].startswith("its 20 words are `row_0`, `row_1`,")
    assert notes[1].endswith("`row_7`, ...")
    assert advice.startswith(
        "leave the field out where nothing reads it, or replace the words by numbers in the file: words"
    )


@pytest.mark.parametrize(
    ("kind", "column"),
    [("real", ["1", "", "3"]), ("real", ["1", "n/a", "3"]), ("real in [0, 1]", ["2", "3"]), ("int", ["0.5", "0.1"])],
)
def test_gaps_and_numbers_out_of_range_are_no_categories(tmp_path: Path, kind: str, column: list[str]) -> None:
    assert told(tmp_path, f"k: {kind}", column)[1] == ""


def test_what_is_no_member(tmp_path: Path) -> None:
    sets = "set side = { north, south }\n"
    notes, advice = told(tmp_path, "k: side", ["north", "sotuh"], sets)
    assert notes[1] == "the members of `side` are `north`, `south`"
    assert advice == "did you mean `south`?"
    assert told(tmp_path, "k: side", ["north", "east"], sets)[1] == "declare `set side = { north, south, east }`"
    assert told(tmp_path, "k: side", ["north", "new york"], sets)[1] == ""
    assert told(tmp_path, "k: side", ["0", "7"], "set side = 0..2\n")[1] == ""
