from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from running import say

from pdual.cli.options import seconds
from pdual.dsl.diagnostics import Refusal, diagnostic


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["frobnicate"], "no such command `frobnicate`"),
        (["check"], "missing argument"),
        (["run", "opf30", "--no-such-option"], "no such option"),
        (["run", "opf30", "--device", "abacus"], "abacus"),
        (["run", "opf30", "--limit", "0"], "--limit"),
        (["run", "opf30", "--set", "cap"], "`--set` takes `NAME=VALUE`, found `cap`"),
        (["run", "opf30", "--set", "=3"], "`--set` takes `NAME=VALUE`, found `=3`"),
        (["run", "opf30", "--minimize", "all"], "`--minimize` takes `none`, found `all`"),
        (["run", "opf30", "--budget", "soon"], "`--budget` takes a time"),
        (["run", "opf30", "--data", "x"], "`--data` takes `NAME=FILE`, found `x`"),
        (["run", "opf30", "--data", "demand=x.npz"], "`demand`, which is no data set"),
        (["run", "flora", "--data", "pairs=nowhere.jsonl"], "no file `nowhere.jsonl` for the data set `pairs`"),
        (["run", "opf30", "--data", "demands=nowhere.npz"], "the rows of `demands` are those of `power.demands`"),
        (["run", "opf30", "--resume"], "there is no run of `opf30` in `runs` to go on with"),
        (["explain", "opf30", "--dual", "pointwize"], "multipliers cannot be held as `pointwize`"),
        (["explain", "opf30", "--dual", "flow_sorce=shared"], "`flow_sorce`, which is no constraint"),
        (["explain", "opf30", "--uses", "ratte"], "nothing in the spec is called `ratte`"),
        (["explain", "opf30", "--stage", "soup"], "soup"),
    ],
)
def test_a_wrong_command_line_is_said_in_both_ways(
    capsys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], words: str
):
    monkeypatch.chdir(tmp_path)
    said = say(capsys, *arguments)
    assert (said.code, said.out) == (2, "")
    assert "error[PD7" in said.err
    assert words in said.err
    tool = say(capsys, *arguments, "--json")
    if arguments[0] != "frobnicate":
        assert (tool.code, tool.err) == (2, "")
    assert tool.json["exit_code"] == 2
    assert words in tool.json["diagnostics"][-1]["message"]


@pytest.mark.parametrize(
    ("arguments", "help_"),
    [
        (["explain", "opf30", "--dual", "pointwize"], "did you mean `pointwise`?"),
        (["explain", "opf30", "--dual", "flow_sorce=shared"], "did you mean `flow_source`?"),
        (["explain", "opf30", "--uses", "ratte"], "did you mean `rate`?"),
        (["run", "opf30", "--data", "demand=x"], "did you mean `demands`?"),
    ],
)
def test_near_names_are_offered(capsys, arguments: list[str], help_: str):
    assert help_ in say(capsys, *arguments).err


def test_a_near_file_is_offered(capsys, tmp_path: Path):
    (tmp_path / "loads.npz").write_bytes(b"")
    said = say(capsys, "run", "flora", "--data", f"pairs={tmp_path / 'load.npz'}")
    assert f"did you mean `{tmp_path / 'loads.npz'}`?" in said.err


def test_rows_for_a_source_that_reads_none_are_told_where_to_go(capsys):
    said = say(capsys, "run", "opf30", "--data", "demands=loads.npz")
    assert 'name the file in the spec: `power.demands(..., file = "FILE")`' in said.err
    said = say(capsys, "run", "digits", "--data", "digits=loads.npz")
    assert "declare it without a source: `data digits { ... }`" in said.err


@pytest.mark.parametrize(("written", "found"), [("90s", 90), ("5m", 300), ("1.5h", 5400), ("7", 7), (None, None)])
def test_times(written: str | None, found: float | None):
    assert seconds(written) == found


@pytest.mark.parametrize("written", ["", "m", "-3s", "0", "inf", "nan", "5 weeks"])
def test_what_is_no_time(written: str):
    with pytest.raises(Refusal, match="PD704"):
        seconds(written)


def test_no_command_shows_the_help(capsys):
    said = say(capsys)
    assert (said.code, said.err) == (0, "")
    assert "Usage: pdual" in said.out


def test_the_version(capsys):
    from pdual import __version__

    assert say(capsys, "--version") == (0, f"pdual {__version__}\n", "")


def test_a_bug_leaves_no_traceback_but_a_file_with_it(capsys, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("nothing is divided by this")

    monkeypatch.setattr("pdual.understanding.understand", broken)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    said = say(capsys, "check", "opf30")
    assert (said.code, said.out) == (70, "")
    assert "error[PD999]" in said.err
    assert "Traceback" not in said.err
    (report,) = tmp_path.glob("pdual-bug-*.txt")
    assert str(report) in said.err
    text = report.read_text()
    assert "Traceback" in text
    assert "command: pdual check opf30" in text
    assert say(capsys, "check", "opf30", "--json").json["exit_code"] == 70


def test_ctrl_c_ends_quietly(capsys, monkeypatch: pytest.MonkeyPatch):
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pdual.understanding.understand", interrupted)
    assert say(capsys, "check", "opf30") == (130, "", "interrupted\n")


def test_the_worst_thing_decides_the_exit_code():
    from pdual.cli.output import exit_code

    codes = ["PD501", "PD601"]
    assert exit_code([diagnostic(code) for code in codes]) == 3
    assert exit_code([diagnostic(code) for code in [*codes, "PD001"]]) == 1
    assert exit_code([diagnostic(code) for code in [*codes, "PD001", "PD701"]]) == 2
    assert exit_code([diagnostic(code) for code in [*codes, "PD999"]]) == 70
    assert exit_code([]) == 0


def test_a_reader_that_goes_away_is_no_bug(tmp_path: Path):
    command = f"{sys.executable} -m pdual.cli.start explain opf30 | head -1"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.stdout.startswith("opf30: ")
    assert done.stderr == ""


def test_json_of_a_process_is_nothing_but_the_document(tmp_path: Path):
    command = [sys.executable, "-m", "pdual.cli.start", "explain", "opf30", "--json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["explanation"]["problem"] == "opf30"
