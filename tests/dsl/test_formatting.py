"""The layout of specs: it is stable, says the same, keeps every comment, and asks nothing of how the text was spaced."""

from __future__ import annotations

import random
from pathlib import Path

import golden
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from layouts import formatted, hold, pieces

from pdual.dsl.formatting import layout
from pdual.dsl.formatting.document import WIDTH
from pdual.dsl.parser import parse, source
from pdual.dsl.spans import Source

ROOT = Path(__file__).parent.parent.parent
SPECS = sorted((ROOT / "specs").glob("*.pdual"))
CASES = golden.cases("fmt")
FILES = [*SPECS, *sorted(golden.CASES.rglob("*.pdual"))]
READABLE = [file for file in FILES if not parse(source(file))[1]]
TEXTS = [file.read_text(encoding="utf-8") for file in [*SPECS, *CASES, golden.CASES / "good" / "every_form.pdual"]]


def name(file: Path) -> str:
    return f"{file.parent.name}/{file.stem}"


# --- files --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=golden.name)
def test_case(case: Path) -> None:
    golden.hold(case, formatted(source(case).text))


@pytest.mark.parametrize("file", READABLE, ids=name)
def test_what_a_layout_promises(file: Path) -> None:
    hold(source(file).text)


@pytest.mark.parametrize("spec", SPECS, ids=golden.name)
def test_shipped_specs_have_their_layout(spec: Path) -> None:
    text = source(spec).text
    assert formatted(text) == text
    for line in text.splitlines():
        code = line.split("#")[0].rstrip()
        assert len(code) <= WIDTH or code.startswith("problem")


@pytest.mark.parametrize("file", sorted(set(FILES) - set(READABLE)), ids=name)
def test_what_cannot_be_read_is_not_laid_out(file: Path) -> None:
    text = source(file)
    assert layout.formatted(text) == (None, parse(text)[1])


# --- drawn --------------------------------------------------------------------------------------------------


def respaced(text: str, draw: random.Random) -> str:
    """The text with other blanks. Comments stay after a token or on a line of their own, paragraphs stay apart."""
    result, between = "", ""
    for kind, piece in pieces(text.rstrip() + "\n"):
        if kind in ("COMMENT", "BLANK"):
            between += piece
        else:
            result += _respaced(between, draw, is_first=not result) + piece
            between = ""
    return result + _respaced(between, draw, is_first=False)


def _respaced(between: str, draw: random.Random, is_first: bool) -> str:
    blanks = " " * draw.randrange(4)
    first, *rest = between.split("\n")
    if "#" not in between and between.count("\n") < 2:
        return draw.choice(["\n", "\r\n", " ", "\t ", "\n  "]) if between or draw.random() < 0.2 else ""
    lines = [blanks + first.strip()]
    for line in rest[:-1]:
        lines += [" " * draw.randrange(9) + line.strip()] * (1 if line.strip() else draw.randrange(1, 4))
    if is_first and not first.strip() and not rest:
        return blanks
    return "\n".join([*lines, " " * draw.randrange(9)]) if rest else lines[0]


@given(st.sampled_from(TEXTS), st.integers(0, 2**32))
@settings(deadline=None, max_examples=60)
def test_blanks_make_no_difference(text: str, seed: int) -> None:
    assert formatted(respaced(text, random.Random(seed))) == formatted(text)


# --- single points ------------------------------------------------------------------------------------------


def test_line_ends_become_line_feeds() -> None:
    text = 'problem p "a"\n\n# why\nparam x = 1    # what\n'
    assert formatted("\ufeff" + text.replace("\n", "\r\n")) == text


@pytest.mark.parametrize(
    "deep",
    [
        "(" * 100 + "a" + ")" * 100,
        "-(" * 99 + "a" + ")" * 99,
        "f(" * 60 + "a" + ")" * 60,
        "-" * 190 + "a",
        "^".join("a" * 190),
    ],
)
def test_what_the_parser_takes_is_laid_out(deep: str) -> None:
    hold(f'problem p "a"\nlet x = {deep}')


def test_a_long_file_takes_time_in_proportion() -> None:
    text = 'problem p "a"\n' + "".join(f"param p{number} = {number}    # of {number}\n" for number in range(2000))
    assert len(formatted(text).splitlines()) == 2001


@pytest.mark.parametrize(("found", "meant"), [("x = 1", "x = 2"), ("# why", "# how"), ("# why\n", "")])
def test_a_layout_that_says_something_else_is_refused(found: str, meant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = 'problem p "a"\n# why\nparam x = 1\n'
    monkeypatch.setattr(layout, "_laid_out", lambda text: text.replace(found, meant))
    with pytest.raises(layout.ChangedError):
        layout.formatted(Source("test", text))
