"""Pages name files, modules and pages that exist."""

from __future__ import annotations

import importlib
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
GENERATED = {"diagnostics.md", "functions.md"}  # conf.py writes these
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md")),
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if page.name not in GENERATED),
]
QUOTED = re.compile(r"`([^`\n]+)`")
#: A file or folder of the repository, in backticks or in running text.
FILE = re.compile(
    r"(?<![\w./$~*-])((?:benchmarks|compiler|docs|dsl|editors|packs|pdual|runtime|specs|tests|\.ci)/[\w./-]*\w/?)"
)
MODULE = re.compile(r"pdual(?:\.\w+)+")
LINK = re.compile(r"\]\(([\w./-]+\.\w+|[\w./-]+/[\w./-]*)(?:#[\w-]+)?\)")
#: `pdual.command` is a setting of the editors.
NOT_MODULES = {"pdual.command"}


def entry_points() -> set[str]:
    """The groups that pdual looks for, whether or not it registers something in them."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        groups = set(tomllib.load(file)["project"]["entry-points"])
    for file in ("declarations/registry.py", "catalogue/__init__.py"):
        groups |= set(re.findall(r'"(pdual\.\w+)"', (ROOT / "dsl" / file).read_text(encoding="utf-8")))
    return groups


def without_code(text: str) -> str:
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def files_named(text: str) -> Iterator[str]:
    yield from FILE.findall(text)


def modules_named(text: str) -> Iterator[str]:
    for quoted in QUOTED.findall(without_code(text)):
        if MODULE.fullmatch(quoted) and not quoted.endswith((".pdual", ".html")):
            yield quoted


def exists(name: str) -> bool:
    """Whether ``name`` is a module, or something in one."""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        try:
            value: object = importlib.import_module(".".join(parts[:count]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[count:]:
            if not hasattr(value, attribute):
                return False
            value = getattr(value, attribute)
        return True
    return False


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_that_a_page_names_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert [name for name in files_named(text) if not (ROOT / name).exists() and Path(name).name not in GENERATED] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_modules_that_a_page_names_exist(page: Path) -> None:
    others = NOT_MODULES | entry_points()
    text = page.read_text(encoding="utf-8")
    assert [name for name in modules_named(text) if name not in others and not exists(name)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_of_a_page_lead_somewhere(page: Path) -> None:
    links = LINK.findall(QUOTED.sub("", without_code(page.read_text(encoding="utf-8"))))
    assert [link for link in links if not (page.parent / link).exists() and Path(link).name not in GENERATED] == []


def test_names_are_seen() -> None:
    text = "see `runtime/storage/records.py`, docs/cli.md (all), and `pdual.Error`; `$PDUAL_DATA/specs/x.py` and `runs/x` are others"
    assert list(files_named(text)) == ["runtime/storage/records.py", "docs/cli.md"]
    assert list(modules_named(text)) == ["pdual.Error"]
    assert exists("pdual.Error")
    assert exists("pdual.dsl.near")
    assert not exists("pdual.Eror")
    assert not exists("pdual.dsl.far")
    assert LINK.findall("[here](docs/data.md#standardised-columns), [a](x.md)") == ["docs/data.md", "x.md"]


def test_every_page_is_in_the_index() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8").splitlines()
    pages = {page.stem for page in (ROOT / "docs").glob("*.md")} - {"index"}
    assert pages | {Path(name).stem for name in GENERATED} <= set(index)
