"""Mistakes in meaning beside mistakes in syntax: told where they are sure, held back where they may be consequences."""

from __future__ import annotations

import pytest

from pdual.dsl.pipeline import read
from pdual.dsl.spans import Source

HEAD = """problem p
param weight = 2
set side = { left, right }
data d { x, y: real, s: side }
model f(x: real) -> real = mlp([8])
over r in d {
  let z = f(r.x)
  minimize weight * z
  subject to
    low: r.y <= z
    side: z <= 3
  dual low = pointwise(cap = 1)
  metric right = r.s == left
}
"""


def codes(text: str) -> list[str]:
    return [item.code for item in read(Source("p.pdual", text))[1]]


def broken(*changes: tuple[str, str]) -> list[str]:
    text = HEAD
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return codes(text)


def test_the_spec_that_is_changed_is_sound() -> None:
    assert codes(HEAD) == []


@pytest.mark.parametrize(
    "change",
    [
        ("param weight = 2", "param weight 2 3"),
        ("set side = { left, right }", "set side = { left right }"),
        ("data d { x, y: real, s: side }", "data d { x, y real, s: side }"),
        ("model f(x: real) -> real", "model f(x: real -> real"),
        ("let z = f(r.x)", "let z = * f(r.x)"),
        ("low: r.y <= z", "low[: r.y <= z"),
        ("over r in d {", "over r d {"),
    ],
)
def test_one_mistake_in_syntax_is_one_report(change: tuple[str, str]) -> None:
    assert len(broken(change)) == 1


def test_sound_statements_are_checked_all_the_same() -> None:
    assert broken(("param weight = 2", "param weight = 2 +"), ("r.y <= z", "r.yy <= z"), ("== left", "== lfet")) == [
        "PD019",
        "PD107",
        "PD243",
    ]


def test_what_names_something_that_could_not_be_read_is_held_back() -> None:
    assert broken(("let z = f(r.x)", "let z = f(r.x) f"), ("low: r.y <= z", "low: r.y <= zz")) == ["PD002", "PD101"]
    assert broken(("let z = f(r.x)", "let z = f(r.x) f"), ("low: r.y <= z", "low: r.yy <= z")) == ["PD002"]


def test_a_statement_with_a_mistake_in_syntax_says_nothing_else() -> None:
    assert broken(("low: r.y <= z", "low: r.yy = z")) == ["PD007"]
