"""Names and texts stand in a report as they are written: no formula, no element, no script."""

from __future__ import annotations

import shutil
from html import escape
from html.parser import HTMLParser
from pathlib import Path

import pytest
from running import say
from test_ownership import SPEC

NAMES = (
    "a$b$c",
    "$\\frac{",
    "_under_score",
    "<script>alert(1)</script>".replace("/", "\u2215"),
    "'\"><img src=x onerror=alert(1)>",
    "100% & more",
    "caf\u00e9 \u6570 \U0001f600",
    "{{ 7 * 7 }}",
    "x" * 200,
    "line\nbreak\x1b[31m",
)


class Elements(HTMLParser):
    """Which elements a page has, and whether one of them could run a script."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes |= {name for name, _ in attributes}


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import os

    from pdual.cli.main import perform

    folder = tmp_path_factory.mktemp("named")
    title = "a $title$ <script>alert(1)</script> & 100% \U0001f600"
    (folder / "small.pdual").write_text(SPEC.replace("A line below others", title))
    (folder / "points.csv").write_text("x,y\n" + "".join(f"{n / 40},{1 + (n * 7 % 11) / 11}\n" for n in range(40)))
    before = Path.cwd()
    os.chdir(folder)
    try:
        assert perform(["run", "small.pdual", "--out", "run", "-q"]) == 0
    finally:
        os.chdir(before)
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_a_run_may_be_called_anything(
    capsys: pytest.CaptureFixture[str], ran: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ran / "run", name)
    said = say(capsys, "report", name, "--out", "page.html", "-q")
    assert said.code == 0, said.err
    text = Path("page.html").read_text(encoding="utf-8")
    assert (
        escape(name[:80], quote=False) in text
        or escape(name[:80]).replace("&#x27;", "&#39;").replace("&quot;", "&#34;") in text
    )
    found = Elements(text)
    assert "script" not in found.names
    assert not {item for item in found.attributes if item.startswith("on")}
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text  # the title, as it was written
