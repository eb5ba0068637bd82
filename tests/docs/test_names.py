"""Files and modules that the documentation names are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
TOP = ("benchmarks", "compiler", "docs", "dsl", "editors", "packs", "pdual", "runtime", "specs", "tests")


def named(text: str) -> set[str]:
    """Paths of the repository in backticks, links and commands, without what has a wildcard or stands for another name."""
    paths = re.findall(rf"(?<![\w./-])((?:{'|'.join(TOP)})/[\w./-]*\w)", text)
    return {path for path in paths if path.rpartition("/")[2].count(".") <= 1}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_paths_are_there(page: Path) -> None:
    missing = {path for path in named(page.read_text(encoding="utf-8")) if not (ROOT / path).exists()}
    assert {path for path in missing if not (ROOT / f"{path}.py").exists()} == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_modules_are_there(page: Path) -> None:
    found = set(re.findall(r"`(pdual(?:\.[a-z_]+)+)", page.read_text(encoding="utf-8")))
    groups = {"pdual.sources", "pdual.architectures", "pdual.duals", "pdual.evaluations", "pdual.diagnostics"}
    for name in sorted(found - groups):
        parts = name.split(".")
        places = [ROOT.joinpath(*parts), ROOT.joinpath(*parts[1:])]
        module = any(place.with_suffix(".py").is_file() or place.is_dir() for place in places)
        inside = any(place.parent.with_suffix(".py").is_file() or place.parent.is_dir() for place in places)
        assert module or inside, name
