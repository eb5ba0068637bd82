from __future__ import annotations

import io
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from running import ROOT, say

GOOD = 'problem good "x"\nparam a = 1    # why\n'
UNTIDY = 'problem untidy "x" param   a=1 # why\n'
TIDY = 'problem untidy "x"\nparam a = 1    # why\n'
WRONG = 'problem wrong "x"\nparam = 3\n'


@pytest.fixture
def specs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "good.pdual").write_text(GOOD)
    (tmp_path / "untidy.pdual").write_text(UNTIDY)
    (tmp_path / "wrong.pdual").write_text(WRONG)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def standard_input(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


def left(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_files_are_written_and_counted(capsys, specs: Path):
    said = say(capsys, "fmt", "good.pdual", "untidy.pdual")
    assert (said.code, said.err) == (0, "")
    assert said.out == "formatted untidy.pdual\nformatted 1 of 2 specs\n"
    assert (specs / "untidy.pdual").read_text() == TIDY
    assert (specs / "good.pdual").read_text() == GOOD
    assert say(capsys, "fmt", "untidy.pdual").out == "formatted 0 of 1 spec\n"
    assert left(specs) == {"good.pdual", "untidy.pdual", "wrong.pdual"}


def test_a_file_that_does_not_change_is_not_touched(capsys, specs: Path):
    os.utime(specs / "good.pdual", (1, 1))
    assert say(capsys, "fmt", "good.pdual").code == 0
    assert (specs / "good.pdual").stat().st_mtime == 1


def test_the_mode_of_a_file_and_a_link_to_it_are_kept(capsys, specs: Path):
    (specs / "untidy.pdual").chmod(0o640)
    (specs / "link.pdual").symlink_to("untidy.pdual")
    assert say(capsys, "fmt", "link.pdual").code == 0
    assert (specs / "link.pdual").is_symlink()
    assert (specs / "untidy.pdual").read_text() == TIDY
    assert stat.S_IMODE((specs / "untidy.pdual").stat().st_mode) == 0o640


def test_check_writes_nothing_and_says_which(capsys, specs: Path):
    said = say(capsys, "fmt", "--check", "good.pdual", "untidy.pdual")
    assert (said.code, said.err) == (1, "")
    assert said.out == "would format untidy.pdual\nwould format 1 of 2 specs\n"
    assert (specs / "untidy.pdual").read_text() == UNTIDY
    assert say(capsys, "fmt", "--check", "good.pdual").code == 0


def test_diff_is_all_there_is_on_stdout(capsys, specs: Path):
    said = say(capsys, "fmt", "--diff", "good.pdual", "untidy.pdual")
    assert said.code == 0
    assert said.out == (
        "--- untidy.pdual\n+++ untidy.pdual\n@@ -1 +1,2 @@\n"
        '-problem untidy "x" param   a=1 # why\n+problem untidy "x"\n+param a = 1    # why\n'
    )
    assert said.err == "would format untidy.pdual\nwould format 1 of 2 specs\n"
    assert (specs / "untidy.pdual").read_text() == UNTIDY
    assert say(capsys, "fmt", "--diff", "--check", "untidy.pdual").code == 1


def test_a_diff_can_be_applied(capsys, specs: Path):
    if shutil.which("patch") is None:
        pytest.skip("there is no `patch` here")
    (specs / "untidy.pdual").write_text(UNTIDY.rstrip())
    said = say(capsys, "fmt", "--diff", "untidy.pdual")
    assert "\\ No newline at end of file\n" in said.out
    subprocess.run(["patch", "-p0"], input=said.out, text=True, check=True, capture_output=True, timeout=60)
    assert (specs / "untidy.pdual").read_text() == TIDY


def test_standard_input_goes_to_standard_output(capsys, monkeypatch: pytest.MonkeyPatch):
    standard_input(monkeypatch, UNTIDY)
    assert say(capsys, "fmt", "-") == (0, TIDY, "")
    standard_input(monkeypatch, UNTIDY)
    assert say(capsys, "fmt", "-", "--check") == (1, "", "would format -\nwould format 1 of 1 spec\n")
    standard_input(monkeypatch, WRONG)
    said = say(capsys, "fmt", "-")
    assert (said.code, said.out) == (1, "")
    assert "--> -:2:" in said.err


@pytest.mark.usefixtures("specs")
def test_standard_input_is_given_alone(capsys):
    said = say(capsys, "fmt", "-", "good.pdual")
    assert (said.code, said.out) == (2, "")
    assert "`-` stands for standard input" in said.err


def test_a_wrong_file_is_said_as_check_says_it_and_left(capsys, specs: Path):
    said = say(capsys, "fmt", "wrong.pdual", "untidy.pdual")
    assert said.code == say(capsys, "check", "wrong.pdual").code == 1
    assert "--> wrong.pdual:2:" in said.out
    assert said.out.endswith("formatted untidy.pdual\nformatted 1 of 2 specs: 1 error\n")
    assert (specs / "wrong.pdual").read_text() == WRONG
    assert (specs / "untidy.pdual").read_text() == TIDY


def test_a_folder_means_every_spec_in_it(capsys, specs: Path):
    (specs / "wrong.pdual").unlink()
    (specs / "deep" / "er").mkdir(parents=True)
    (specs / ".hidden").mkdir()
    for place in ("deep/er/one.pdual", ".hidden/two.pdual", "deep/three.txt"):
        (specs / place).write_text(UNTIDY)
    said = say(capsys, "fmt", ".")
    assert said.out == "formatted deep/er/one.pdual\nformatted untidy.pdual\nformatted 2 of 3 specs\n"
    assert (specs / ".hidden" / "two.pdual").read_text() == UNTIDY
    assert (specs / "deep" / "three.txt").read_text() == UNTIDY


@pytest.mark.usefixtures("specs")
def test_a_file_named_twice_is_one_file(capsys):
    assert say(capsys, "fmt", "untidy.pdual", ".", "./untidy.pdual").out.count("formatted untidy.pdual\n") == 1


def test_shipped_specs_are_not_rewritten_by_name(capsys, specs: Path):
    said = say(capsys, "fmt", "opf30")
    assert said.code == 2
    assert "error[PD712]: `opf30` is a shipped spec" in said.out
    said = say(capsys, "fmt", "nowhere.pdual")
    assert said.code == 2
    assert "error[PD701]" in said.out


def test_json_has_every_file(capsys, specs: Path, monkeypatch: pytest.MonkeyPatch):
    said = say(capsys, "fmt", "--check", "--json", "good.pdual", "untidy.pdual", "wrong.pdual")
    assert (said.code, said.err) == (1, "")
    assert (said.json["command"], said.json["exit_code"]) == ("fmt", 1)
    assert [(item["spec"], item["changed"], len(item["diagnostics"])) for item in said.json["specs"]] == [
        ("good.pdual", False, 0),
        ("untidy.pdual", True, 0),
        ("wrong.pdual", False, 1),
    ]
    (item,) = say(capsys, "fmt", "--diff", "--json", "untidy.pdual").json["specs"]
    assert item["diff"].startswith("--- untidy.pdual\n")
    standard_input(monkeypatch, UNTIDY)
    (item,) = say(capsys, "fmt", "-", "--json").json["specs"]
    assert item["text"] == TIDY
    assert (specs / "untidy.pdual").read_text() == UNTIDY
    assert say(capsys, "fmt", "--json", "untidy.pdual").json["specs"][0]["changed"] is True
    assert (specs / "untidy.pdual").read_text() == TIDY


def test_a_file_that_cannot_be_written_is_left(capsys, specs: Path, monkeypatch: pytest.MonkeyPatch):
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    said = say(capsys, "fmt", "untidy.pdual")
    assert said.code == 2
    assert "error[PD713]: `untidy.pdual` cannot be written: no space left on device" in said.out
    assert said.out.endswith("formatted 0 of 1 spec: 1 error\n")
    assert (specs / "untidy.pdual").read_text() == UNTIDY
    assert left(specs) == {"good.pdual", "untidy.pdual", "wrong.pdual"}
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert "cannot be written: permission denied" in say(capsys, "fmt", "untidy.pdual").out


def test_a_bug_leaves_every_file_as_it_is(capsys, specs: Path, monkeypatch: pytest.MonkeyPatch):
    (specs / "another.pdual").write_text(UNTIDY)
    monkeypatch.setattr("tempfile.tempdir", str(specs))
    monkeypatch.setattr(
        "pdual.dsl.formatting.layout._laid_out", lambda text: text.replace("  ", " ").replace("= 2", "= 3")
    )
    (specs / "untidy.pdual").write_text(UNTIDY.replace("a=1", "a= 2"))
    said = say(capsys, "fmt", "another.pdual", "untidy.pdual")
    assert (said.code, said.out) == (70, "")
    assert "error[PD999]: pdual failed in `pdual.dsl.formatting.layout`: ChangedError" in said.err
    assert (specs / "another.pdual").read_text() == UNTIDY


def test_line_ends_become_line_feeds(capsys, specs: Path):
    (specs / "good.pdual").write_bytes(GOOD.replace("\n", "\r\n").encode())
    assert say(capsys, "fmt", "good.pdual").out == "formatted good.pdual\nformatted 1 of 1 spec\n"
    assert (specs / "good.pdual").read_bytes() == GOOD.encode()


def test_the_shipped_specs_have_their_layout(capsys):
    assert say(capsys, "fmt", "--check", str(ROOT / "specs")).code == 0


def test_a_process_of_its_own(specs: Path):
    command = [sys.executable, "-m", "pdual.cli.start", "fmt", "-"]
    done = subprocess.run(command, cwd=specs, input=UNTIDY, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, TIDY, "")
