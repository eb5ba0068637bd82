"""The catalogue: every code that the sources use is worded, nothing is worded for nobody, and the style is kept."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import pytest

from pdual.dsl.catalogue import CATALOGUE, Entry
from pdual.dsl.catalogue.entry import ROLES

ROOT = Path(__file__).parent.parent.parent
LAYERS = ("dsl", "compiler", "runtime", "packs", "pdual")
CODE = re.compile(r'"(PD\d{3})"')
WORDED = re.compile(r'\bEntry\(\s*"(PD\d{3})"')
ROLE = re.compile(r'Label\([^"\n]*?, "(\w+)"\)')


def wordings() -> list[Path]:
    """The files of entries, of the core and of the packs."""
    return [*(ROOT / "dsl" / "catalogue").glob("*.py"), *(ROOT / "packs").glob("*/declarations/diagnostics.py")]


def sources() -> Iterator[str]:
    for layer in LAYERS:
        for file in sorted((ROOT / layer).rglob("*.py")):
            if file not in wordings():
                yield file.read_text(encoding="utf-8")


def texts(entry: Entry) -> Iterator[str]:
    yield from (entry.title, entry.label, *entry.roles.values(), *entry.notes, *entry.help)


def fields(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


@pytest.mark.parametrize("entry", CATALOGUE.values(), ids=lambda entry: entry.code)
def test_a_fix_says_what_the_help_says(entry: Entry) -> None:
    worded = " ".join((entry.title, *entry.help))
    for fix in entry.fixes:
        assert fields(fix) <= fields(worded) | {"inserted"}, fix


def test_every_code_in_use_is_worded() -> None:
    used = {code for text in sources() for code in CODE.findall(text)}
    assert used - set(CATALOGUE) == set()


def test_every_worded_code_is_in_use() -> None:
    used = {code for text in sources() for code in CODE.findall(text)}
    assert set(CATALOGUE) - used == set()


def test_no_code_is_worded_twice() -> None:
    codes = [code for file in wordings() for code in WORDED.findall(file.read_text(encoding="utf-8"))]
    assert sorted(codes) == sorted(CATALOGUE)


def test_a_reason_stands_in_the_catalogue_or_in_a_file_with_a_failing_spec() -> None:
    shown = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "dsl" / "explanations").glob("*.md")}
    assert set(shown) == {code for code, entry in CATALOGUE.items() if not entry.reason}
    for code, text in shown.items():
        assert text.count("\n```pdual\n") == 2, code


@pytest.mark.parametrize("entry", [entry for entry in CATALOGUE.values() if entry.reason], ids=lambda entry: entry.code)
def test_a_reason_is_whole_sentences(entry: Entry) -> None:
    assert entry.reason[0].isupper() or entry.reason.startswith(("`", "pdual ")), entry.reason
    assert entry.reason.endswith("."), entry.reason
    assert "  " not in entry.reason
    assert "\n" not in entry.reason
    assert entry.reason.count("`") % 2 == 0


def test_every_role_is_worded_somewhere() -> None:
    used = {role for text in sources() for role in ROLE.findall(text)}
    worded = {role for entry in CATALOGUE.values() for role in entry.roles}
    assert used
    assert used <= worded | set(ROLES)


@pytest.mark.parametrize("entry", CATALOGUE.values(), ids=lambda entry: entry.code)
def test_templates_are_filled_by_name(entry: Entry) -> None:
    for text in texts(entry):
        for _, name, form, conversion in Formatter().parse(text):
            assert name is None or name.isidentifier(), text
            assert not form or form == ".0", text  # `.0` is a fact that chooses a text and is not printed
            assert conversion is None, text


@pytest.mark.parametrize("entry", CATALOGUE.values(), ids=lambda entry: entry.code)
def test_style(entry: Entry) -> None:
    for text in texts(entry):
        assert not text.endswith("."), text
        assert text.count("`") % 2 == 0, text
        assert not text or not text[0].isupper() or text.startswith(("P ", "MATPOWER")), text
    suggested = " ".join((entry.title, entry.label, *entry.notes))
    assert "did you mean" not in suggested
    assert not re.search(r"\b(you|your|please|invalid|illegal|wrong|bad)\b", entry.title), entry.title
