"""A line ends with LF, CR LF or CR, in any mixture: what is read, where mistakes are told to be, and the layout are the same."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mistakes import SPECS, Edit, edits

from pdual.dsl.commented import commented_out
from pdual.dsl.formatting.layout import formatted
from pdual.dsl.parser import parse, source
from pdual.dsl.pipeline import read
from pdual.dsl.printer import render_all
from pdual.dsl.spans import Source, Span
from pdual.explaining.text import written
from pdual.lsp.cursor import cursor, dotted_at
from pdual.lsp.positions import Positions

TEXTS = [path.read_text(encoding="utf-8") for path in SPECS]
ENDS = ("\n", "\r\n", "\r")
#: What ``str.splitlines`` takes for the end of a line as well.
OTHERS = "\v\f\x1c\x1d\x1e\x85\u2028\u2029"


def ended(text: str, seed: int) -> str:
    """The text with line ends drawn one by one; two that would read as one are kept apart."""
    draw = random.Random(seed)
    ends = ENDS if seed % 4 == 3 else (ENDS[seed % 4],)
    first, *rest = text.split("\n")
    for line in rest:
        end = draw.choice(ends)
        first += ("\r\n" if end == "\n" and first.endswith("\r") else end) + line
    return first


@given(st.sampled_from(TEXTS), st.integers(0, 2**16))
@settings(deadline=None, max_examples=40)
def test_specs_are_the_same(text: str, seed: int) -> None:
    other = ended(text, seed)
    assert parse(Source("p", other)) == (parse(Source("p", text))[0], ())
    assert formatted(Source("p", other)) == formatted(Source("p", text))


@pytest.mark.parametrize("edit", list(edits(40, seed=3)), ids=lambda edit: f"{edit.spec} {edit.kind}")
def test_mistakes_are_told_at_the_same_places(edit: Edit) -> None:
    wanted = render_all(read(Source("p", edit.text))[1], Source("p", edit.text))
    for seed in range(4):
        other = Source("p", ended(edit.text, seed))
        assert render_all(read(other)[1], other) == wanted


@pytest.mark.parametrize("end", ENDS)
def test_positions_of_the_language_server_are_those_of_messages(end: str) -> None:
    text = f'problem p "a"{end}# one{end}{end}param b = 2{end}'
    place = text.index("param")
    assert Source("p", text).position(place) == (4, 1)
    position = Positions(text).position(place)
    assert (position.line, position.character) == (3, 0)
    assert Source("p", text).line(4) == "param b = 2"
    assert Source("p", text).line(3) == ""


@pytest.mark.parametrize("end", ENDS)
def test_a_comment_ends_with_its_line_everywhere(end: str) -> None:
    text = f"a +  # no{end}  b"
    assert written(Source("p", text), Span(0, len(text))) == "a + b"
    assert dotted_at(f"# x{end}param abc", len(f"# x{end}param abc")) is not None
    assert cursor(f'problem p "a"{end}# it\'s "{end}param ') is not None
    assert cursor(f'problem p "a"{end}# it\'s') is None


@pytest.mark.parametrize("letter", OTHERS + "\u202a\u202e\u2066\u2069", ids=lambda letter: f"U+{ord(letter):04X}")
def test_what_only_some_editors_show_as_a_line_end_is_refused_in_a_comment(letter: str) -> None:
    found = parse(Source("p", f'problem p "a"\n# one{letter}param b = 2\n'))[1]
    assert [item.code for item in found] == ["PD037"]


@pytest.mark.parametrize("text", ['problem p "a\rb"', 'problem p "a\nb"', 'problem p "a\\\rb"'])
def test_a_text_ends_on_its_line(text: str) -> None:
    assert "PD012" in {item.code for item in parse(Source("p", text))[1]}


@pytest.mark.parametrize(
    ("encoding", "cause"),
    [
        ("utf-16", "UTF-16"),
        ("utf-16-le", "UTF-16"),
        ("utf-16-be", "UTF-16"),
        ("utf-32", "UTF-32"),
        ("latin-1", "0xDF is `ß`"),
    ],
)
def test_another_encoding_is_named(encoding: str, cause: str, tmp_path: Path) -> None:
    path = tmp_path / "p.pdual"
    path.write_bytes('problem p "Straße"\n'.encode(encoding))
    text = source(path)
    assert cause in render_all(parse(text)[1], text)


def test_a_byte_order_mark_is_no_part_of_a_spec(tmp_path: Path) -> None:
    path = tmp_path / "p.pdual"
    path.write_bytes('problem p "Straße"\n'.encode("utf-8-sig"))
    assert parse(source(path)) == parse(Source("p", 'problem p "Straße"\n'))


COMMENTED = 'problem p "a"\ndata d { x: real }\n# over r in d {\n#   minimize r.x\n#   subject to few: r.x <= 3\n# }\n'


def test_a_spec_that_is_commented_out_is_a_warning() -> None:
    (found,) = commented_out(COMMENTED)
    assert (found.code, found.span.start) == ("PD038", COMMENTED.index("#"))
    typed, said = read(Source("p", COMMENTED))
    assert typed is not None
    assert found in said


@pytest.mark.parametrize(
    "text",
    [
        *TEXTS,
        'problem p "a"\n# What this is about: the model should minimize what is lost, over all the rows in the data.\n'
        "# A set of param values was tried; let us give the data to the model first. Subject to change.\n",
        'problem p "a"\ndata d { x: real, y: real, z: real }\n# param a = 1\n',
    ],
    ids=lambda text: text[:16],
)
def test_prose_and_few_lines_are_none(text: str) -> None:
    assert commented_out(text) == ()
