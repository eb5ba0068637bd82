"""Code in the documentation does what the page says: specs check, commands succeed, Python runs, page by page from top to bottom."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from pdual.cli.main import perform
from pdual.dsl.catalogue import errors_in
from pdual.dsl.printer import render_all
from pdual.dsl.spans import Source
from pdual.understanding import understand

ROOT = Path(__file__).parent.parent.parent
PAGES = [ROOT / "README.md", *(page for page in sorted((ROOT / "docs").glob("*.md")) if page.name != "diagnostics.md")]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"`([\w./]+\.(?:pdual|csv))`")


class Block(NamedTuple):
    language: str
    text: str
    file: str | None  # what the paragraph right before it calls it


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for found in BLOCK.finditer(text):
        paragraph = text[: found.start()].rstrip().rsplit("\n\n", 1)[-1]
        names = NAMED.findall(paragraph)
        yield Block(found.group(1), found.group(2), names[-1] if names else None)


SPECS = [(page, block) for page in PAGES for block in blocks(page) if block.text.startswith("problem ")]


@pytest.mark.parametrize(("page", "block"), SPECS, ids=lambda value: value.stem if isinstance(value, Path) else "")
def test_specs_check(page: Path, block: Block) -> None:
    source = Source(page.name, block.text)
    found = understand(source).diagnostics
    assert not errors_in(found), render_all(found, source)


def test_pages_have_specs() -> None:
    assert {"README.md", "tutorial.md", "data.md", "debugging.md", "infeasible.md"} <= {page.name for page, _ in SPECS}


@pytest.mark.parametrize("page", ["tutorial.md", "data.md"])
def test_the_page_runs(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PDUAL_CACHE", str(tmp_path / "cache"))
    found = list(blocks(ROOT / "docs" / page))
    for block in found:
        if block.language == "pdual":
            assert block.file is not None
            Path(block.file).write_text(block.text, encoding="utf-8")
    names: dict[str, object] = {}
    ran = 0
    for block in found:
        if block.language == "python":
            exec(compile(block.text, f"docs/{page}", "exec"), names)
            ran += 1
        elif block.language == "sh":
            for line in block.text.splitlines():
                command, *arguments = line.split("#")[0].split()
                assert command == "pdual"
                assert perform(arguments) == 0, (line, capsys.readouterr())
                ran += 1
    assert ran >= 1
