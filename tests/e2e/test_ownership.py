"""Nothing that pdual did not write is replaced or removed, and nothing is written or read through a link that a folder brings along."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from running import Said, say

SPEC = """problem small "A line below others"
data points = csv("points.csv", split = [0.5, 0.25, 0.25]) { x: real, y: real }
param width = 4
model f(x: real) -> real = mlp(hidden = [width])
over p in points {
  let guess = f(p.x)
  minimize (guess - 1)^2
  subject to
    ceiling: guess <= p.y
  dual ceiling = learned(mlp(hidden = [4]), on = features(f), cap = 10)
}
solve { outer = 2, rho = 20.0, descent = adam(lr = 1e-2, batch = 8, steps = 2) }
"""
MINE = "mine\n"
SENSITIVITY = ["--groups", "2", "--random", "0", "--size", "4", "--seeds", "1", "--outer", "1", "-q"]
RUN = ["run", "small.pdual", "--out", "out", "-q"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from pdual.cli.main import perform

    folder = tmp_path_factory.mktemp("owned")
    (folder / "small.pdual").write_text(SPEC)
    (folder / "points.csv").write_text("x,y\n" + "".join(f"{n / 40},{1 + (n * 7 % 11) / 11}\n" for n in range(40)))
    before = Path.cwd()
    os.chdir(folder)
    try:
        assert perform(["run", "small.pdual", "--out", "run", "-q"]) == 0
    finally:
        os.chdir(before)
    return folder


@pytest.fixture
def here(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = Path(shutil.copytree(finished, tmp_path / "work"))
    monkeypatch.chdir(folder)
    return folder


def digests(folder: Path) -> dict[str, str]:
    files = (item for item in folder.rglob("*") if item.is_file() and not item.is_symlink())
    return {str(item.relative_to(folder)): hashlib.sha256(item.read_bytes()).hexdigest() for item in files}


#: Every command that writes, and a file of the user's that stands in the place of one of its own.
WRITES: list[tuple[list[str], str]] = [
    *(
        (RUN, f"out/{name}")
        for name in ("spec.pdual", "metrics.json", "log.jsonl", "checkpoint/mine", "notes.txt", "run.lock")
    ),
    *(([*RUN, "--resume"], f"out/{name}") for name in ("spec.pdual", "metrics.json", "run.json", "checkpoint/mine")),
    ([*RUN, "--tensorboard"], "out/tensorboard"),
    (["compare", "small.pdual", "--duals", "pointwise", "--out", "c", "-q"], "c/pointwise-0/metrics.json"),
    (["sweep", "small.pdual", "--over", "width=3", "--out", "s", "-q"], "s/width=3-0/spec.pdual"),
    (["report", "run", "-q"], "run/report.html"),
    (["report", "run", "--out", "page.html", "-q"], "page.html"),
    (["sensitivity", "run", *SENSITIVITY], "run/sensitivity.svg"),
    (["export", "run"], "run/export/export.json"),
    (["export", "run"], "run/export/f.pt2"),
    (["export", "run", "--out", "e"], "e/f.onnx"),
    (["predict", "run", "--data", "points.csv", "--out", "points.csv", "-q"], "points.csv"),
    (["predict", "run", "--data", "points.csv", "--out", "rows.jsonl", "-q"], "rows.jsonl"),
    (["score", "run", "--data", "points.csv", "--out", "rows.npz", "-q"], "rows.npz"),
]


@pytest.mark.parametrize(("command", "place"), WRITES, ids=lambda item: item if isinstance(item, str) else item[0])
def test_a_file_of_the_users_stays(capsys, here: Path, command: list[str], place: str) -> None:
    if place != "points.csv":
        (here / place).parent.mkdir(parents=True, exist_ok=True)
        (here / place).write_text(MINE)
    before = digests(here)
    said = say(capsys, *command)
    assert said.code != 0
    assert any(f"[{code}]" in said.err for code in ("PD621", "PD626", "PD627"))
    after = digests(here)
    assert {name: after.get(name) for name in before} == before
    assert not [name for name in after if name.endswith(".new")]


@pytest.mark.parametrize(("command", "place"), WRITES, ids=lambda item: item if isinstance(item, str) else item[0])
def test_nothing_is_written_through_a_link(capsys, here: Path, command: list[str], place: str) -> None:
    if place == "points.csv":
        place = "linked.csv"
        command = [
            "linked.csv" if item == "points.csv" and command[at - 1] == "--out" else item
            for at, item in enumerate(command)
        ]
    (here / "elsewhere").write_text(MINE)
    (here / place).parent.mkdir(parents=True, exist_ok=True)
    (here / place).symlink_to(here / "elsewhere")
    said = say(capsys, *command)
    assert said.code != 0
    assert (here / "elsewhere").read_text() == MINE
    assert (here / place).is_symlink()


def test_what_pdual_wrote_it_replaces(capsys, here: Path) -> None:
    for command in (["report", "run", "-q"], ["export", "run"], ["sensitivity", "run", *SENSITIVITY]):
        assert [say(capsys, *command).code for _ in range(2)] == [0, 0], command
    page = here / "run" / "report.html"
    page.write_text(page.read_text().replace("</h1>", " (my note)</h1>"))
    said = say(capsys, "report", "run", "-q")
    assert said.code != 0
    assert "`run/report.html` is there already" in said.err
    assert "(my note)" in page.read_text()
    predicted = ["predict", "run", "--data", "points.csv", "--out", "rows.csv", "-q"]
    assert [say(capsys, *predicted).code for _ in range(2)] == [0, 4]
    assert say(capsys, *predicted, "--replace").code == 0


def test_what_the_user_adds_to_a_run_stays(capsys, here: Path) -> None:
    added = [
        "notes.txt",
        "checkpoint/mine.txt",
        "checkpoint.old/tensors.safetensors",
        "checkpoint.new/x",
        "run.json.bak",
    ]
    for name in added:
        (here / "run" / name).parent.mkdir(exist_ok=True)
        (here / "run" / name).write_text(MINE)
    assert say(capsys, "run", "small.pdual", "--out", "run", "--resume", "-q").code == 0
    assert say(capsys, "report", "run", "-q").code == 0
    assert [(here / "run" / name).read_text() for name in added] == [MINE] * len(added)


@pytest.mark.parametrize("left", ["run.lock", ".DS_Store", ".run.json.0123456789abcdef.new"])
def test_an_empty_folder_may_hold_what_systems_leave(capsys, here: Path, left: str) -> None:
    (here / "out").mkdir()
    (here / "out" / left).write_text("")
    assert say(capsys, *RUN).code == 0


# --- a run from elsewhere ---------------------------------------------------------------------------------------------


READING: list[list[str]] = [
    ["report", "RUN", "-q"],
    ["predict", "RUN", "--data", "points.csv", "-q"],
    ["score", "RUN", "--data", "points.csv", "-q"],
    ["sensitivity", "RUN", *SENSITIVITY],
    ["bounds", "--run", "RUN"],
    ["verify", "--run", "RUN", "--examples", "1", "-q"],
    ["export", "RUN"],
    ["sweep", "small.pdual", "--over", "width=4", "--reference", "RUN", "-q"],
]


def sent(change: Callable[[dict[str, object]], object] = lambda record: None) -> None:
    """The run as somebody sends it who has changed its record."""
    file = Path("run/run.json")
    record = json.loads(file.read_text())
    change(record)
    record["signature"] = "0" * 64
    file.write_text(json.dumps(record))
    Path("run").rename("sent")


def asked(name: str, value: object) -> Callable[[dict[str, object]], object]:
    return lambda record: record["asked"].update({name: value})  # type: ignore[attr-defined]


def told(capsys, command: list[str]) -> Said:
    return say(capsys, *("sent" if item == "RUN" else item for item in command))


@pytest.mark.parametrize("command", READING, ids=lambda item: item[0])
def test_a_run_from_elsewhere_reads_nothing_that_was_not_named(capsys, here: Path, command: list[str]) -> None:
    sent(asked("folder", str(here)))
    said = told(capsys, command)
    assert (said.code, "error[PD629]: `points` of this run is `points.csv`, outside its folder" in said.err) == (
        4,
        True,
    ), said.err


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (asked("folder", "/etc"), "PD629"),
        (asked("data", {"points": "/etc/passwd"}), "PD629"),
        (asked("data", {"points": "../points.csv"}), "PD629"),
        (lambda record: record.update(overrides={"width": "'/etc/passwd'"}), "PD629"),
        (lambda record: record.update(overrides={"width": "../x"}), "PD629"),
    ],
)
def test_no_path_of_a_record_leads_out(
    capsys, here: Path, change: Callable[[dict[str, object]], object], code: str
) -> None:
    sent(change)
    assert f"error[{code}]" in told(capsys, READING[0]).err


def test_a_spec_that_was_changed_makes_a_run_another_ones(capsys, here: Path) -> None:
    spec = here / "run" / "spec.pdual"
    spec.write_text(spec.read_text().replace("A line below", "A line above"))
    assert "error[PD629]" in say(capsys, "report", "run", "-q").err


@pytest.mark.parametrize(
    "name", ["points.csv", "spec.pdual", "run.json", "checkpoint/tensors.safetensors", "checkpoint"]
)
def test_a_link_that_was_sent_leads_nowhere(capsys, here: Path, name: str) -> None:
    sent(asked("folder", ""))
    place = here / "sent" / name
    if place.exists():
        place.rename(here / "moved")
        place.symlink_to(here / "moved")
    else:
        place.symlink_to(here / "points.csv")
    assert "error[PD628]" in told(capsys, READING[0]).err


def test_what_was_sent_with_a_run_and_what_is_named_is_read(capsys, here: Path) -> None:
    sent(asked("folder", "/nowhere"))
    assert told(capsys, [*READING[0], "--trained-on", "points=points.csv"]).code == 0
    assert told(capsys, [*READING[1], "--trained-on", "points=points.csv"]).code == 0
    shutil.copy("points.csv", "sent")
    assert told(capsys, READING[0]).code == 0
    assert "`--trained-on` takes" in told(capsys, [*READING[0], "--trained-on", "rows=points.csv"]).err
    assert "error[PD708]" in told(capsys, [*READING[0], "--trained-on", "points=none.csv"]).err


def test_a_run_of_ones_own_may_be_moved(capsys, here: Path) -> None:
    assert say(capsys, "run", "small.pdual", "--out", "a/run", "--data", "points=points.csv", "-q").code == 0
    Path("a/run").rename("b")
    assert say(capsys, "report", "b", "-q").code == 0
