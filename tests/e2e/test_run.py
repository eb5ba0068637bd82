from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from running import ROOT, say

SPEC = """problem small "A line through four points"
param slack = 0.5 in [0, 10]
param wanted = 0.0
data points = csv("points.csv", split = [0.8, 0.1, 0.1]) { x: real, y: real }
model f(x: real) -> real = linear()
over p in points {
  let guess = f(p.x)
  minimize (guess - p.y)^2
  subject to
    near: p.y - slack <= guess <= p.y + slack
  dual near = shared(cap = 10)
  metric error = abs(guess - p.y)
}
solve { outer = OUTER, rho = 1.0, descent = adam(lr = 1e-2, batch = 8, steps = 5) }
expect close on points.train: mean(viol(near)) <= wanted
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rows = [(n / 10 - 2, 0.5 * (n / 10 - 2) + 0.1) for n in range(40)]
    (tmp_path / "points.csv").write_text("x,y\n" + "".join(f"{x},{y}\n" for x, y in rows))
    (tmp_path / "small.pdual").write_text(SPEC.replace("OUTER", "3"))
    (tmp_path / "long.pdual").write_text(SPEC.replace("OUTER", "100000"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_run_leaves_its_folder_and_says_what_it_came_to(capsys, here: Path):
    said = say(capsys, "run", "small.pdual", "--out", "out", "--set", "slack=9", "-q")
    assert said.code == 0
    assert said.err == ""
    assert "feasible: every train row is met" in said.out
    assert "finished after 3 outer iterations" in said.out
    assert "run folder: out" in said.out
    assert (here / "out" / "spec.pdual").read_text() == (here / "small.pdual").read_text()
    record = json.loads((here / "out" / "run.json").read_text())
    assert record["status"] == "finished"
    assert record["parameters"]["slack"] == 9
    assert len((here / "out" / "log.jsonl").read_text().splitlines()) == 3
    assert (here / "out" / "checkpoint").is_dir()


def test_the_json_of_a_run_holds_what_metrics_json_holds(capsys, here: Path):
    said = say(capsys, "run", "small.pdual", "--out", "out", "--set", "slack=9", "--json")
    assert said.code == 0
    document = said.json
    assert document["metrics"] == json.loads((here / "out" / "metrics.json").read_text())
    assert (document["status"], document["verdict"]["feasible"]) == ("finished", True)
    assert [item["holds"] for item in document["expectations"]] == [True]
    assert set(document["metrics"]["splits"]) == {"train", "val", "test"}


def test_an_expectation_that_does_not_hold_is_an_exit_code(capsys, here: Path):
    said = say(capsys, "run", "small.pdual", "--out", "out", "--set", "slack=0.001", "-q")
    assert said.code == 4
    assert "error[PD650]: `close` does not hold on `points.train`" in said.err
    assert "small.pdual:15:" in said.err
    assert "which does not hold" in said.out


@pytest.mark.usefixtures("here")
def test_a_quick_run_is_not_held_to_what_a_whole_one_is(capsys):
    said = say(capsys, "run", "small.pdual", "--out", "out", "--set", "slack=0.001", "--quick", "-q")
    assert said.code == 0
    assert "warning[PD652]: `close` does not hold on `points.train` yet" in said.err
    assert "which does not hold" in said.out


@pytest.mark.usefixtures("here")
def test_a_folder_is_never_overwritten_but_resumed(capsys):
    first = ["run", "small.pdual", "--out", "out", "--set", "slack=9", "-q"]
    assert say(capsys, *first).code == 0
    again = say(capsys, *first)
    assert (again.code, again.out) == (2, "")
    assert "error[PD622]" in again.err
    assert say(capsys, *first, "--resume").code == 0


@pytest.mark.usefixtures("here")
def test_the_last_run_is_the_one_to_go_on_with(capsys):
    assert say(capsys, "run", "small.pdual", "--set", "slack=9", "-q").code == 0
    (folder,) = Path("runs").glob("small-*")
    resumed = say(capsys, "run", "small.pdual", "--set", "slack=9", "--resume", "-q")
    assert resumed.code == 0
    assert f"run folder: {folder}" in resumed.out


@pytest.mark.usefixtures("here")
def test_a_run_starts_from_the_weights_of_another(capsys):
    assert say(capsys, "run", "small.pdual", "--out", "one", "--set", "slack=9", "-q").code == 0
    arguments = ["--out", "two", "--init", "one", "--set", "slack=9", "-q"]
    assert say(capsys, "run", "small.pdual", *arguments).code == 0
    assert say(capsys, "run", "small.pdual", "--out", "three", "--init", "nowhere", "-q").code == 2


def test_without_iterations_another_run_is_measured_as_it_is(capsys, here: Path):
    (here / "none.pdual").write_text(SPEC.replace("OUTER", "0"))
    set_to = ["--set", "slack=9", "-q", "--json"]
    one = say(capsys, "run", "small.pdual", "--out", "one", *set_to).json
    again = say(capsys, "run", "none.pdual", "--out", "again", "--init", "one", *set_to).json
    untouched = say(capsys, "run", "none.pdual", "--out", "untouched", *set_to).json
    assert [item["metrics"]["timing"]["outer"] for item in (one, again, untouched)] == [3, 0, 0]
    assert again["status"] == untouched["status"] == "finished"
    assert again["metrics"]["splits"] == one["metrics"]["splits"] != untouched["metrics"]["splits"]
    assert say(capsys, "report", "again").code == 0
    assert say(capsys, "run", "none.pdual", "--out", "again", "--resume", *set_to).code == 0


@pytest.mark.usefixtures("here")
def test_a_budget_ends_a_run(capsys):
    said = say(capsys, "run", "long.pdual", "--out", "out", "--budget", "0.2s", "--set", "slack=9", "-q", "--json")
    assert (said.code, said.json["status"]) == (0, "budget")


def test_data_that_are_not_there(capsys, here: Path):
    (here / "points.csv").unlink()
    said = say(capsys, "run", "small.pdual", "--out", "out", "-q")
    assert (said.code, said.out) == (3, "")
    assert "error[PD5" in said.err


@pytest.mark.usefixtures("here")
def test_every_outer_iteration_is_told_on_request(capsys):
    said = say(capsys, "run", "small.pdual", "--out", "out", "--set", "slack=9", "-v")
    assert [line.split(":")[0] for line in said.err.splitlines() if line.startswith("outer")] == [
        "outer 1",
        "outer 2",
        "outer 3",
    ]
    assert "\x1b" not in said.err


def test_ctrl_c_saves_and_says_how_to_go_on(here: Path):
    command = [sys.executable, "-m", "pdual.cli.start", "run", "long.pdual", "--out", "out", "--set", "slack=9", "-v"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, cwd=here, env=environment, text=True, stdout=-1, stderr=-1) as process:
        log = here / "out" / "log.jsonl"
        for _ in range(600):
            if log.exists() and log.stat().st_size:
                break
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted; what was reached is saved: `pdual run long.pdual --set slack=9 -v --resume --out out`" in err
    assert "Traceback" not in err
    assert "stopped after" in out
    assert (here / "out" / "checkpoint").is_dir()


def test_the_first_spec_of_the_docs_runs(capsys, tmp_path: Path):
    spec = str(ROOT / "docs" / "first" / "first.pdual")
    said = say(capsys, "run", spec, "--out", str(tmp_path / "out"), "--quick", "--json")
    assert said.code == 0
    assert said.json["metrics"]["multipliers"]["per_row"] == 2
    assert said.json["metrics"]["splits"]["test"]["violation"]["mean"]["mean"] < 0.05
