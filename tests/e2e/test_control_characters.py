"""Control characters of specs, data and names never reach a terminal as they are, and no text gives LaTeX a command."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from running import ROOT, say

from pdual.dsl.visible import escaped_json, visible, visible_lines
from pdual.explaining.latex import escaped

#: An escape sequence, a bell, C1, a mark that turns the direction, a carriage return, DEL.
NASTY = "\x1b[31m\x07\x9b\u202e\u2066\x7f\x08"
SPEC = f"""problem p "a {NASTY} title"
param word = "{NASTY.replace(chr(0x202E), "").replace(chr(0x2066), "")}"
data d {{ x: real from "{NASTY[:6]}" }}
model f(x: real) -> real = linear()
over r in d {{ minimize f(r.x)   # \x1b[2J \x9b \x07
 subject to a: f(r.x) <= nothing }}
"""


def hold(text: str) -> None:
    assert all(letter.isprintable() or letter in "\n\t" for letter in text), [
        hex(ord(c)) for c in text if not c.isprintable()
    ]


@pytest.mark.parametrize(
    "command",
    [
        ["check"],
        ["explain"],
        ["explain", "--math"],
        ["fmt", "--check"],
        ["fmt", "--diff"],
        ["run"],
        ["explain", "--stage", "ast"],
    ],
)
@pytest.mark.parametrize("wrong", [True, False])
def test_commands(
    command: list[str], wrong: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = SPEC.replace("\u202e", "").replace("\u2066", "")
    name = "p\x1b[1m\x9b.pdual"
    Path(name).write_text(text if wrong else text.replace("nothing", "3"), encoding="utf-8")
    said = say(capsys, command[0], name, *command[1:])
    assert said.out or said.err
    hold(said.out)
    hold(said.err)
    if command[0] != "run":
        as_json = say(capsys, command[0], name, *command[1:], "--json").out
        hold(as_json)
        assert json.loads(as_json)


def test_a_diff_in_json_is_exact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.pdual").write_text('problem p   "a"\n# \x1b[2J \x9b\n', encoding="utf-8")
    (spec,) = say(capsys, "fmt", "--diff", "--json", "p.pdual").json["specs"]
    assert "# \x1b[2J \x9b\n" in spec["diff"]


@given(st.text())
def test_json_says_the_same(text: str) -> None:
    written = escaped_json(json.dumps({"a": text}, ensure_ascii=False))
    hold(written)
    assert json.loads(written) == {"a": text}


@given(st.text(st.characters()))
def test_what_is_visible_has_nothing_left(text: str) -> None:
    assert visible(text).isprintable()
    assert len(visible_lines(text)) == len(text)
    hold(visible_lines(text))
    assert visible(visible(text)) == visible(text)


@given(st.text(st.sampled_from("\\\\{}$%#&_^~ab\n\r\x1b \"'<>|")))
def test_a_text_gives_latex_no_command(text: str) -> None:
    made = escaped(text)
    plain = made
    for known in (r"\#", r"\$", r"\%", r"\&", r"\_", r"\{", r"\}", r"\char92 ", r"\char94 ", r"\char126 "):
        plain = plain.replace(known, "")
    assert not set(plain) & set("\\{}$%#&_^~\n\r")


@pytest.mark.parametrize("title", ["a\\n\\\\input{/etc/passwd}", "a} \\\\write18{x}", "$\\\\end{align*}$", "%"])
def test_titles_and_labels_stay_text(
    title: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = f'problem p "{title}"\ndata d {{ x: real, t: text }}\nmodel f(x: real) -> real = linear()\nover r in d {{ minimize f(r.x) }}\n'
    Path("p.pdual").write_text(text, encoding="utf-8")
    said = say(capsys, "explain", "--math", "p.pdual").out
    for command in (r"\input", r"\write", "$\\end"):
        assert command not in said
    assert said.splitlines()[0].startswith("% p: a") or title in ("%", "$\\\\end{align*}$")
    assert said.splitlines()[1] == r"\begin{align*}"


def test_only_one_module_of_the_command_line_prints() -> None:
    found = []
    for file in sorted((ROOT / "pdual" / "cli").glob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id == "print"
                and file.name != "say.py"
            ):
                found.append(f"{file.name}:{node.lineno}")
    assert found == []
