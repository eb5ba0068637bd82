"""``pdual report``: what stands on the page, that it stands there rightly, and that a browser and a reader without eyes can read it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections import Counter
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from running import say

from pdual.cli.main import perform

SPEC = """problem small "A curve between a floor & a ceiling"
set side = 0..1
data points = csv("points.csv", split = [0.6, 0.2, 0.2]) { x: real, y: real }
model f(x: real) -> real[side] = mlp(hidden = [8])
over p in points {
  let guess = f(p.x)
  minimize guess[0]^2
  subject to
    ceiling[s in side]: guess[s] <= p.y
    level: guess[0] == guess[1]
  dual ceiling = learned(mlp(hidden = [8]), on = features(f), cap = 0.5)
  dual level = shared(cap = 10)
  metric miss = abs(guess[0] - p.y)
}
solve { outer = 4, rho = 20.0, descent = adam(lr = 1e-2, batch = 8, steps = 5), ascent = adam(lr = 1e-1, batch = 8, steps = 20) }
"""
EMPTY = {"meta", "br", "link", "img", "input", "hr", "path", "use", "rect", "image", "stop"}


class Page(HTMLParser):
    """What tests ask of a page: elements in order with their attributes and texts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text
        self.elements: list[tuple[str, dict[str, str], list[str]]] = []
        self._open: list[int] = []
        self.errors: list[str] = []
        self.feed(text)
        assert self._open == [], [self.elements[place][0] for place in self._open]

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attributes}, []))
        if tag not in EMPTY:
            self._open.append(len(self.elements) - 1)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attributes}, []))

    def handle_endtag(self, tag: str) -> None:
        if tag in EMPTY:
            return
        last = self.elements[self._open.pop()][0]
        if last != tag:
            self.errors.append(f"</{tag}> ends <{last}>")

    def handle_data(self, data: str) -> None:
        for place in self._open:
            self.elements[place][2].append(data)

    def all(self, *tags: str) -> list[tuple[dict[str, str], str]]:
        return [(own, " ".join("".join(texts).split())) for tag, own, texts in self.elements if tag in tags]

    def words(self, tag: str) -> list[str]:
        return [text for _, text in self.all(tag)]

    def table(self, kind: str) -> list[list[str]]:
        """The cells of the first table of a class, line by line."""
        found, inside = [], False
        for tag, own, texts in self.elements:
            if tag == "table":
                if inside:
                    break
                inside = own.get("class") == kind
            elif inside and tag == "tr":
                found.append([])
            elif inside and tag in ("td", "th"):
                found[-1].append(" ".join("".join(texts).split()))
        return found


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs, made once: one of them has rows at its cap."""
    folder = tmp_path_factory.mktemp("reported")
    rows = [(n / 20 - 1, n / 40 - 0.6) for n in range(40)]
    (folder / "points.csv").write_text("x,y\n" + "".join(f"{x},{y}\n" for x, y in rows))
    (folder / "small.pdual").write_text(SPEC)
    before = Path.cwd()
    os.chdir(folder)
    try:
        for seed in ("0", "1"):
            assert perform(["run", "small.pdual", "--out", f"run-{seed}", "--seed", seed, "-q"]) == 0
    finally:
        os.chdir(before)
    return folder


@pytest.fixture(autouse=True)
def _here(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(runs)


@pytest.fixture
def page(capsys: pytest.CaptureFixture[str]) -> Page:
    said = say(capsys, "report", "run-0", "--out", "page.html", "-q")
    assert (said.code, said.out, said.err) == (0, "page.html\n", "")
    return Page(Path("page.html").read_text(encoding="utf-8"))


def test_it_reads_without_eyes(page: Page) -> None:
    assert page.errors == []
    assert page.all("html")[0][0]["lang"] == "en"
    assert len(page.all("main")) == len(page.all("h1")) == 1
    levels = [int(tag[1]) for tag, _, _ in page.elements if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels)), "a level is left out"
    identities = Counter(own["id"] for _, own, _ in page.elements if "id" in own)
    assert [name for name, count in identities.items() if count > 1] == []
    for own, _ in page.all("svg"):
        assert own["role"] == "img"
        assert set(own["aria-labelledby"].split()) <= identities.keys()
    for own, _ in page.all("section"):
        assert own["aria-labelledby"] in identities
    for own, text in page.all("a"):
        assert own["href"].removeprefix("#") in identities
        assert text
    heads = page.all("th")
    assert all(own.get("scope") in ("col", "row") and text for own, text in heads)
    assert len(page.all("caption")) == len(page.all("table"))
    assert all(text for text in page.words("caption") + page.words("figcaption"))


def test_it_needs_nothing_else(page: Page) -> None:
    assert page.all("script", "link", "iframe", "object") == []
    outside = [
        value
        for _, own, _ in page.elements
        for name, value in own.items()
        if name in ("src", "href", "xlink:href", "data") and not value.startswith(("#", "data:"))
    ]
    assert outside == []
    assert not any(name.startswith("on") for _, own, _ in page.elements for name in own)
    references = re.findall(r"url\((?!#)", page.text)
    assert references == []


def test_the_verdict_comes_first(page: Page, capsys: pytest.CaptureFixture[str]) -> None:
    assert page.words("h2")[0] == "Verdict"
    document = say(capsys, "run", "small.pdual", "--out", "run-0", "--resume", "-q", "--json").json["verdict"]
    first = next(text for tag, own, texts in page.elements if own.get("class") == "head" for text in ["".join(texts)])
    assert first.startswith("Feasible" if document["feasible"] else "Not feasible")
    for family in document["families"]:
        assert family["address"] in page.text


def test_every_figure_is_there(page: Page) -> None:
    titles = page.words("title")[1:]
    assert titles == [
        "Objective and violation over the outer iterations",
        "Multipliers over time, by family",
        "Constraint profiles, by family and split",
    ]
    shapes = page.text.split("<svg")[1:]
    assert all(shape.count("<path") > 5 for shape in shapes), "a figure is empty"
    assert all(word in page.text for word in ("ceiling", "level", "A curve between a floor &amp; a ceiling"))


def test_numbers_are_those_of_the_run(page: Page) -> None:
    metrics = json.loads(Path("run-0/metrics.json").read_text())
    lines = {line[0]: line[1:] for line in page.table("numbers")}
    assert lines["quantity"] == list(metrics["splits"])
    for place, found in enumerate(metrics["splits"].values()):
        assert lines["rows"][place] == f"{found['rows']:,}"
        assert float(lines["objective"][place]) == pytest.approx(found["objective"], rel=1e-5)
        mean, deviation = lines["miss"][place].split(" ± ")
        assert float(mean) == pytest.approx(found["metrics"]["miss"]["mean"], rel=1e-3)
        assert float(deviation) == pytest.approx(found["metrics"]["miss"]["std"], rel=0.06)
        assert lines["rows that are met"][place] == f"{found['violation']['feasible_rows']:.2%}"


def test_tails_are_those_of_a_plain_count(page: Page) -> None:
    """Against numpy, on the predictions of the restored models."""
    import torch

    from pdual.restoring import restored

    found = restored(Path("run-0"))
    table = found.tables["points"]
    lines = {line[0]: line for line in page.table("tails")}
    for split, ids in table.splits.items():
        rows = table.batch(ids).values
        with torch.no_grad():
            guess = found.run.problem.models["f"]({"x": rows["x"].float()}).outputs[""].numpy()
        miss = np.maximum(guess - rows["y"].numpy()[:, None], 0).max(1)
        worst = np.sort(miss)[::-1]
        expected = [
            miss.mean(), np.quantile(miss, 0.95), np.quantile(miss, 0.99), worst[0], worst[: max(1, round(0.05 * len(miss)))].mean()
        ]  # fmt: skip
        cells = lines[f"{split}, ceiling"]
        assert [float(cell) for cell in cells[1:6]] == pytest.approx(expected, rel=6e-3, abs=1e-6)
        if worst[0] > 1e-3:
            row = int(ids[int(miss.argmax())])
            assert cells[8].startswith(f"ceiling[{row}, ")


def test_rows_at_the_cap_are_listed(page: Page) -> None:
    metrics = json.loads(Path("run-0/metrics.json").read_text())
    listed = page.table("caps")[1:]
    rows = {
        split: found["rows_at_cap"] * found["rows"]
        for split, found in metrics["splits"].items()
        if found["rows_at_cap"]
    }
    assert len(listed) == round(sum(rows.values())) > 0
    assert Counter(line[1] for line in listed) == {split: round(count) for split, count in rows.items()}
    violations = [float(line[4].split()[0]) for line in listed]
    assert violations == sorted(violations, reverse=True)


def test_two_runs_stand_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    said = say(capsys, "report", "run-0", "run-1", "--out", "two.html", "-q", "--json")
    assert said.json["runs"] == ["run-0", "run-1"]
    two = Page(Path("two.html").read_text(encoding="utf-8"))
    assert two.errors == []
    columns = [own["data-run"] for own, _ in two.all("div") if own.get("class") == "run"]
    assert columns == ["run-0", "run-1"] * (len(columns) // 2)
    assert len(two.all("figure")) == 1 + 2 * 2  # progress is shared
    identities = Counter(own["id"] for _, own, _ in two.elements if "id" in own)
    assert max(identities.values()) == 1


def test_a_page_is_the_same_twice(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("one.html", "other.html"):
        assert say(capsys, "report", "run-0", "--out", name, "-q").code == 0
    assert Path("one.html").read_text() == Path("other.html").read_text()


def test_it_goes_into_the_folder_of_the_run_and_the_run_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    run = say(capsys, "run", "small.pdual", "--out", "run-1", "--seed", "1", "--resume", "-q")
    assert run.out.endswith("to look at it: pdual report run-1\n")
    assert say(capsys, "report", "run-1", "-q").out == "run-1/report.html\n"


@pytest.mark.parametrize(
    ("arguments", "code", "error"),
    [
        (["report", "nowhere"], 2, "PD620"),
        (["report"], 2, "PD700"),
        (["report", "run-0", "--out", "small.pdual/page.html"], 2, "PD713"),
    ],
)
def test_mistakes(capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, error: str) -> None:
    said = say(capsys, *arguments, "-q")
    assert (said.code, said.out) == (code, "")
    assert f"error[{error}]" in said.err


def test_data_that_are_others_now_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    before = Path("points.csv").read_text()
    Path("points.csv").write_text(before.replace("-1.0,", "-0.9,", 1))
    try:
        said = say(capsys, "report", "run-0", "-q")
    finally:
        Path("points.csv").write_text(before)
    assert said.code == 4
    assert "`data` differs" in said.err


BROWSER = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
)


@pytest.mark.usefixtures("page")
@pytest.mark.skipif(BROWSER is None, reason="there is no Chromium on this machine")
def test_a_browser_shows_it_without_a_complaint(runs: Path, tmp_path: Path) -> None:
    assert BROWSER is not None
    picture = tmp_path / "page.png"
    command = [
        BROWSER,
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--enable-logging=stderr",
        f"--user-data-dir={tmp_path}/profile",
    ]
    command += ["--window-size=1100,2000", f"--screenshot={picture}", (runs / "page.html").as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0
    assert "CONSOLE" not in done.stderr
    assert picture.stat().st_size > 20_000
