from __future__ import annotations

import json
from pathlib import Path
from string import Formatter

import golden
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdual.dsl.catalogue import CATALOGUE, Entry
from pdual.dsl.catalogue.syntax import ENTRIES
from pdual.dsl.diagnostics import Label, diagnostic
from pdual.dsl.parser import parse, source
from pdual.dsl.printer import as_json, render, render_all
from pdual.dsl.snippet import expand, width
from pdual.dsl.spans import Source, Span


def spans(text: str) -> st.SearchStrategy[Span]:
    ends = st.integers(0, len(text))
    return st.tuples(ends, ends).map(lambda pair: Span(min(pair), max(pair)))


def test_one_line() -> None:
    text = 'problem p "a"\nparam a = (1\n'
    found = diagnostic("PD011", Span(24, 25), Label(Span(26, 27), "end"), bracket="(", closer=")")
    assert render(found, Source("p.pdual", text)) == (
        "error[PD011]: `(` is never closed\n"
        " --> p.pdual:2:11\n"
        "  |\n"
        "2 | param a = (1\n"
        "  |           ^ - the file ends here\n"
        "  |           opened here"
    )


def test_labels_on_other_lines_and_wide_margins() -> None:
    text = "\n" * 8 + "over r in d {\n\n\n  over q in e {\n"
    block, inner = text.index("{"), text.rindex("over")
    found = diagnostic("PD015", Span(inner, inner + 4), Label(Span(block, block + 1), "block"), statement="over")
    assert render(found, Source("p.pdual", text)) == (
        "error[PD015]: `over` cannot stand inside `over`\n"
        "  --> p.pdual:12:3\n"
        "   |\n"
        " 9 | over r in d {\n"
        "   |             - the block starts here\n"
        "...\n"
        "12 |   over q in e {\n"
        "   |   ^^^^ inside a block\n"
        "   = note: a block holds `let`, `minimize`, `subject to`, `dual` and `metric`"
    )


def test_nowhere() -> None:
    empty = diagnostic("PD030")
    assert render(empty).splitlines()[0] == "error[PD030]: the spec is empty"
    assert "-->" not in render(empty)
    assert " --> p.pdual\n" in render(empty, Source("p.pdual", ""))


def test_missing_facts_leave_out_the_help_but_never_the_statement() -> None:
    text = Source("p.pdual", "modle f\n")
    assert "help" in render(diagnostic("PD021", Span(0, 5), word="modle", near="model"), text)
    assert "help" not in render(diagnostic("PD021", Span(0, 5), word="modle"), text)
    assert "`{word}` starts no statement" in render(diagnostic("PD021", Span(0, 5)), text)


@pytest.mark.parametrize(
    ("text", "span", "line", "underline"),
    [
        ("\tx = ;", Span(5, 6), "    x = ;", "        ^"),  # a tab takes four columns
        ("ab\tx", Span(3, 4), "ab  x", "    ^"),
        ("値 = ;", Span(4, 5), "値 = ;", "     ^"),  # a wide letter takes two
        ("a\u0301 ;", Span(3, 4), "a\u0301 ;", "  ^"),  # a combining mark takes none
        ("a\x1b[2J;", Span(5, 6), "a\ufffd[2J;", "     ^"),  # nothing reaches the terminal as a command
        ("a\udc80;", Span(2, 3), "a\ufffd;", "  ^"),  # what cannot be written is shown as such
        ("x = ", Span(4, 4), "x =", "    ^"),  # the end of the file has no width
        ("x\r\ny", Span(3, 4), "y", "^"),
        ("abc\ndef", Span(1, 7), "abc", " ^^"),  # over several lines: the first
        ("", Span(0, 1), "", "^"),
    ],
)
def test_columns(text: str, span: Span, line: str, underline: str) -> None:
    lines = render(diagnostic("PD002", span, expected="a", found="b"), Source("p", text)).splitlines()
    assert lines[3].split("|", 1)[1].removeprefix(" ") == line
    assert lines[4].split("| ", 1)[1] == underline


def test_long_lines_are_cut_around_the_caret() -> None:
    text = "x" * 5_000 + "!" + "y" * 5_000
    lines = render(diagnostic("PD002", Span(5_000, 5_001), expected="a", found="b"), Source("p", text)).splitlines()
    shown, underline = lines[3].removeprefix("1 | "), lines[4].removeprefix("  | ")
    assert width(shown) <= 112
    assert shown.startswith("…")
    assert shown.endswith("…")
    assert shown[underline.index("^")] == "!"


def test_all_are_apart_by_a_blank_line() -> None:
    found = [diagnostic("PD030"), diagnostic("PD032", size="6", limit="5")]
    assert render_all(found).count("\n\nerror[") == 1
    assert render_all(found).endswith("\n")
    assert render_all([]) == ""


def test_as_json() -> None:
    text = Source("p.pdual", "a\nlet b = f(x]\n")
    found = diagnostic(
        "PD014", Span(13, 14), Label(Span(11, 12), "opener"), found="]", bracket="(", closer=")", fix=")"
    )
    data = as_json(found, text)
    assert json.loads(json.dumps(data)) == data
    assert data == {
        "code": "PD014",
        "severity": "error",
        "message": "expected `)`, found `]`",
        "label": "closes with the wrong bracket",
        "file": "p.pdual",
        "start": {"line": 2, "column": 12},
        "end": {"line": 2, "column": 13},
        "labels": [
            {
                "message": "`(` opened here",
                "start": {"line": 2, "column": 10},
                "end": {"line": 2, "column": 11},
            }
        ],
        "notes": [],
        "help": None,
        "fix": {"start": {"line": 2, "column": 12}, "end": {"line": 2, "column": 13}, "text": ")"},
    }
    assert as_json(diagnostic("PD030"), text)["start"] is None


@given(st.data(), st.text(max_size=200), st.sampled_from(sorted(CATALOGUE)))
def test_any_diagnostic_on_any_text_prints(data: st.DataObject, text: str, code: str) -> None:
    labels = [Label(span, "found") for span in data.draw(st.lists(spans(text), max_size=4))]
    found = diagnostic(code, data.draw(spans(text)), *labels, found=text, name=text)
    printed = render(found, Source("p", text))
    printed.encode("utf-8")
    assert all(letter.isprintable() or letter == "\n" for letter in printed)
    json.dumps(as_json(found, Source("p", text)))


@given(st.text())
def test_expanded_lines_hold_no_control_characters(line: str) -> None:
    assert all(letter.isprintable() for letter in expand(line))


@pytest.mark.parametrize("entry", CATALOGUE.values(), ids=lambda entry: entry.code)
def test_wording(entry: Entry) -> None:
    assert not entry.title.endswith(".")
    assert not entry.title[:1].isupper()
    templates = (entry.title, entry.label, *entry.roles.values(), *entry.notes, *entry.help)
    fields = {name for template in templates for _, name, _, _ in Formatter().parse(template) if name is not None}
    assert all(name.isidentifier() for name in fields)


@pytest.mark.parametrize("case", golden.cases("syntax"), ids=golden.name)
def test_syntax_case(case: Path) -> None:
    text = source(case, case.name)
    golden.hold(case, render_all(parse(text)[1], text))


@pytest.mark.parametrize("case", golden.cases("syntax"), ids=golden.name)
def test_syntax_case_reports_its_own_code_only(case: Path) -> None:
    codes = {item.code for item in parse(source(case, case.name))[1]}
    assert codes == {case.name[:5].upper()} or case.name.startswith("several")


def test_every_syntax_code_has_a_case() -> None:
    covered = {case.name[:5].upper() for case in golden.cases("syntax")}
    # Too large for a file in the repository: test_parser builds it. A warning of whole specs: test_line_ends.
    assert {entry.code for entry in ENTRIES} - covered == {"PD032", "PD038"}
