"""Rows of one group are in one split, where groups are what is learnt from."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pdual.dsl.declarations.splits import split_sizes
from pdual.dsl.pipeline import read
from pdual.dsl.spans import Source
from pdual.runtime.data.context import SourceContext
from pdual.runtime.data.split_groups import split_warnings
from pdual.runtime.data.tables import Table
from pdual.runtime.problem.prepare import load_tables
from pdual.runtime.sources.divide import divide

SPEC = """problem p "t"
set side = {{ left, right }}
data d = csv("d.csv"{setting}) {{ x: real, who: id, word: text, on: bool, k: side }}
model f(x: real) -> real = linear()
over r in d {{ minimize f(r.x)^2 }}
{block}
"""


def table(folder: Path, setting: str = "", block: str = "") -> Table:
    lines = [
        f"{n},{n % 20},w{n % 15},{'true' if n % 2 else 'false'},{'left' if n % 3 else 'right'}" for n in range(300)
    ]
    (folder / "d.csv").write_text("x,who,word,on,k\n" + "\n".join(lines) + "\n")
    spec, found = read(Source("t.pdual", SPEC.format(setting=setting, block=block)))
    assert spec is not None, found
    return load_tables(spec, {}, SourceContext(folder=folder))["d"]


def shared(table: Table, every: int) -> int:
    """How many groups, of rows whose number has one rest, have rows in two splits."""
    of = {name: {row % every for row in ids.tolist()} for name, ids in table.splits.items()}
    return sum(len(of[one] & of[other]) for one in of for other in of if one < other)


OVER = "over group g of d by {field} {{ minimize mean[a in g](f(a.x)^2) }}"


@pytest.mark.parametrize(
    ("setting", "block", "every"),
    [
        (", split_by = who", "", 20),
        ("", OVER.format(field="who"), 20),
        ("", OVER.format(field="word"), 15),
        (", split_by = word", OVER.format(field="who"), 15),
    ],
)
def test_groups_are_whole(tmp_path: Path, setting: str, block: str, every: int) -> None:
    found = table(tmp_path, setting, block)
    assert shared(found, every) == 0
    rows = torch.cat(list(found.splits.values())).sort().values
    assert torch.equal(rows, torch.arange(300))
    sizes = {name: len(ids) * every // 300 for name, ids in found.splits.items()}
    assert sizes == split_sizes(every, (0.8, 0.1, 0.1))
    again = table(tmp_path, setting, block)
    assert all(torch.equal(ids, again.splits[name]) for name, ids in found.splits.items())


@pytest.mark.parametrize(
    ("setting", "block"),
    [
        ("", ""),
        ("", OVER.format(field="on")),
        ("", OVER.format(field="k")),
        (", split_by = none", OVER.format(field="who")),
    ],
)
def test_rows_are_drawn_one_by_one_without_a_key(tmp_path: Path, setting: str, block: str) -> None:
    """A category, of which every split should have rows, is no key; and the draw is the one of a table without groups."""
    found = table(tmp_path, setting, block)
    assert shared(found, 20) > 20
    plain = divide(300, (0.8, 0.1, 0.1), 0)
    assert all(torch.equal(ids, plain[name]) for name, ids in found.splits.items())


def test_what_is_drawn_is_in_the_fingerprint(tmp_path: Path) -> None:
    prints = [
        table(tmp_path, setting).fingerprint
        for setting in ("", ", split_by = who", ", split_by = word", ", split_by = none")
    ]
    assert len(set(prints)) == 3
    assert prints[0] == prints[3]


def warned(folder: Path, rows: list[tuple[int, int, str]], setting: str, blocks: str) -> list[tuple[str, str, str]]:
    """Code, count or splits, and total or values of the warnings about rows (x, n, word)."""
    (folder / "d.csv").write_text("x,n,who,word\n" + "".join(f"{x},{n},{x % 7},{word}\n" for x, n, word in rows))
    text = f"""problem p "t"
data d = csv("d.csv", split = [0.6, 0.2, 0.2]{setting}) {{ x: real, n: int, who: id, word: text }}
model f(x: real) -> real = linear()
over r in d {{ minimize f(r.x)^2 }}
{blocks}
"""
    spec, found = read(Source("t.pdual", text))
    assert spec is not None, found
    told = split_warnings(spec, load_tables(spec, {}, SourceContext(folder=folder)))
    return [
        (
            item.code,
            item.fact.get("count", item.fact.get("empty", "")),
            item.fact.get("total", item.fact.get("values", "")),
        )
        for item in told
    ]


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(st.integers(0, 99), st.integers(0, 5), st.sampled_from(["", "a", "b", "é"])), min_size=5, max_size=30
    )
)
def test_groups_in_several_splits_are_counted(tmp_path: Path, rows: list[tuple[int, int, str]]) -> None:
    """Against a count by hand; a group that is kept together is in none."""
    block = OVER.format(field="n")
    drawn = divide(len(rows), (0.6, 0.2, 0.2), 0)
    of = {name: {rows[row][1] for row in ids.tolist()} for name, ids in drawn.items()}
    several = {n for _, n, _ in rows if sum(n in found for found in of.values()) > 1}
    total = len({n for _, n, _ in rows})
    assert warned(tmp_path, rows, "", block) == ([("PD553", str(len(several)), str(total))] if several else [])
    assert warned(tmp_path, rows, ", split_by = none", block) == []
    assert {code for code, *_ in warned(tmp_path, rows, ", split_by = n", block)} <= {"PD554"}


def test_groups_by_another_field_than_the_one_that_is_kept_together(tmp_path: Path) -> None:
    rows = [(x, x % 5, "abc"[x % 3]) for x in range(60)]
    blocks = (
        OVER.format(field="who")
        + "\n"
        + OVER.format(field="word").replace("group g", "group h").replace("[a in g]", "[a in h]")
    )
    assert warned(tmp_path, rows, "", blocks) == [("PD553", "3", "3")]
    assert warned(tmp_path, rows, "", OVER.format(field="who")) == []


def test_a_split_that_no_group_is_left_for_is_told(tmp_path: Path) -> None:
    rows = [(x, x % 2, "w") for x in range(60)]
    assert warned(tmp_path, rows, ", split_by = n", "") == [("PD554", "`val` and `test`", "2")]
    assert warned(tmp_path, rows, ", split_by = who", "") == []
    assert warned(tmp_path, rows, "", "") == []
