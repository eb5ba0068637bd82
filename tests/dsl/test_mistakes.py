"""Single edits of shipped specs: what is said is said about the statement that was edited, and fixes repair it.

`pytest -m long` makes many more of them.
"""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mistakes import KINDS, SPECS, Outcome, edits, judge

from pdual.dsl.catalogue import CATALOGUE, errors_in
from pdual.dsl.fixes import applied, replacement
from pdual.dsl.formatting.layout import formatted
from pdual.dsl.parser import parse
from pdual.dsl.pipeline import read
from pdual.dsl.printer import render_all
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
    hold_the_bars(200, seed=1)


@pytest.mark.long
@pytest.mark.timeout(3000)
def test_many_mistakes_are_told_where_they_were_made_and_fixes_repair_them() -> None:
    hold_the_bars(5_000, seed=2)


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


# --- any text ----------------------------------------------------------------------------------------------------


def hold_for_any_change(text: str, seed: int) -> None:
    """A few random changes of a spec: `check` and `fmt` give diagnostics or a result, with spans inside the file."""
    draw = random.Random(seed)
    for _ in range(draw.randint(1, 4)):
        start, length = draw.randrange(len(text) + 1), draw.choice((0, 0, 1, 2, 5, 40))
        other = draw.choice(TEXTS)
        place = draw.randrange(len(other))
        inserted = draw.choice(("", other[place : place + draw.randint(1, 30)], draw.choice("[](){}=<>,:.#\"'\\\x00é")))
        text = text[:start] + inserted + text[start + length :]
    source = Source("changed.pdual", text)
    spec, found = read(source)
    assert spec is not None or errors_in(found)
    assert all(item.code in CATALOGUE and 0 <= item.span.start <= item.span.end <= len(text) for item in found)
    assert len(render_all(found, source)) < 1_000_000
    laid_out, _ = formatted(source)
    if laid_out is not None:
        again, _ = formatted(Source("again.pdual", laid_out))
        assert again == laid_out
        assert parse(Source("again.pdual", laid_out))[0] == parse(source)[0]


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(TEXTS), st.integers(0, 2**32))
def test_any_change_of_a_shipped_spec_is_checked_and_laid_out_or_told(text: str, seed: int) -> None:
    hold_for_any_change(text, seed)


@pytest.mark.long
@pytest.mark.timeout(6000)
@settings(max_examples=20_000, deadline=None)
@given(st.sampled_from(TEXTS), st.integers(0, 2**32))
def test_very_many_changes_of_shipped_specs(text: str, seed: int) -> None:
    hold_for_any_change(text, seed)
