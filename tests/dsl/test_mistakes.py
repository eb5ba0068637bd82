"""Single edits of shipped specs: what is said is said about the statement that was edited, and fixes repair it.

`pytest -m long` makes many more of them.
"""

from __future__ import annotations

import pytest
from mistakes import KINDS, SPECS, Outcome, edits, judge

from pdual.dsl.catalogue import errors_in
from pdual.dsl.fixes import applied, replacement
from pdual.dsl.pipeline import read
from pdual.dsl.spans import Source

TEXTS = [path.read_text(encoding="utf-8") for path in SPECS]


def outcomes(count: int, seed: int) -> list[Outcome]:
    return [found for edit in edits(count, seed) if (found := judge(edit)) is not None]


def hold_the_bars(count: int, seed: int) -> None:
    found = outcomes(count, seed)
    assert len(found) > 0.9 * count
    assert {item.edit.kind for item in found} == set(KINDS)
    elsewhere = [item for item in found if not item.on_statement]
    assert len(elsewhere) <= 0.05 * len(found), [(item.edit.spec, item.edit.what) for item in elsewhere]
    offered = [item for item in found if item.fixed is not None]
    useless = [item for item in offered if not item.fixed]
    assert len(offered) > 0.1 * len(found)
    assert len(useless) <= 0.1 * len(offered), [(item.edit.spec, item.edit.what) for item in useless]


def test_mistakes_are_told_where_they_were_made_and_fixes_repair_them() -> None:
    hold_the_bars(250, seed=1)


@pytest.mark.long
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("seed", range(2, 12))
def test_many_mistakes_are_told_where_they_were_made_and_fixes_repair_them(seed: int) -> None:
    hold_the_bars(1_000, seed)


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("minimize wieght * r.x", "minimize weight * r.x"),
        ("subject to a: r.x = 1", "subject to a: r.x == 1"),
        ("subject to a: r.x =< 1", "subject to a: r.x <= 1"),
        ("subject to a r.x <= 1", "subject to a : r.x <= 1"),
        ("minimise r.x", "minimize r.x"),
        ("minimize max(r.x weight)", "minimize max(r.x , weight)"),
        ("minimize (r.x + weight]", "minimize (r.x + weight)"),
        ("minimize sofplus(r.x) + relo(r.x)", "minimize softplus(r.x) + relu(r.x)"),
        ("minimize sum[g in gen](price[g] * r.z[g])", "minimize sum[g in gen](price[g] * r.z[at[g]])"),
    ],
)
def test_fixes(wrong: str, right: str) -> None:
    text = (
        'problem p\nparam weight = 2\ngiven grid = power.case("x") {{\n  set bus, gen\n  at: bus[gen]\n  c1: real[gen]\n}}\n'
        "data d {{ x: real, z: real[bus] }}\nover r in d {{\n  let price[g in gen] = c1[g]\n  {}\n}}\n"
    )
    found = read(Source("p", text.format(wrong)))[1]
    assert applied(text.format(wrong), found) == text.format(right)


@pytest.mark.parametrize(
    "wrong",
    ["minimize r.x +", "minimize q.x", "minimize r.x r.x", "minimize wieght * r.x * lambda", "minimize sum(r.x)"],
)
def test_no_fix_where_none_is_sure(wrong: str) -> None:
    text = f"problem p\nparam weight = 2\ndata d {{ x: real }}\nover r in d {{ {wrong} }}\n"
    found = read(Source("p", text))[1]
    assert errors_in(found)
    assert [replacement(item) for item in found] == [None] * len(found)
