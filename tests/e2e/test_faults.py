"""What can go wrong while a run is under way: nothing is lost, and a message says what there is to do."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from running import Said, say
from safetensors.torch import load_file

from pdual.runtime.storage import folder
from pdual.runtime.storage.folder import RunFolder
from pdual.runtime.storage.records import LogLine

SPEC = """problem small "A curve under a ceiling"
data points = csv("points.csv", split = [0.8, 0.1, 0.1]) { x: real, y: real }
model f(x: real) -> real = mlp(hidden = [8])
over p in points {
  let guess = f(p.x)
  minimize (guess - p.y)^2
  subject to
    near: guess <= p.y + 0.1
    root: sqrt(p.y) <= guess + 3
  dual default = learned(mlp(hidden = [8]), on = features(f), cap = 10)
}
solve { outer = OUTER, rho = 2.0, descent = adam(lr = 1e-2, batch = 8, steps = 5), ascent = adam(lr = 1e-2, batch = 8, steps = 5) }
"""
HERE = Path(__file__).parent
RUN = ["run", "small.pdual", "--out", "out", "-q"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    points(tmp_path)
    (tmp_path / "small.pdual").write_text(SPEC.replace("OUTER", "3"))
    (tmp_path / "long.pdual").write_text(SPEC.replace("OUTER", "100000"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def points(folder: Path, special: str | None = None) -> None:
    rows = [f"{n / 10},{n / 20 + 1}\n" for n in range(40)]
    if special is not None:
        rows[7] = f"0.7,{special}\n"
    (folder / "points.csv").write_text("x,y\n" + "".join(rows))


def numbers(folder: Path) -> dict[str, Any]:
    """All of ``metrics.json`` but what it cost."""
    found: dict[str, Any] = json.loads((folder / "metrics.json").read_text())
    del found["timing"]
    return found


def history(folder: Path) -> list[dict[str, Any]]:
    return [line.model_dump(exclude={"seconds"}) for line in RunFolder(folder).log]


def same_run(one: Path, other: Path) -> None:
    """To the last bit: weights, moments, batches, random numbers, multipliers; numbers; every line of the log."""
    mine, theirs = (load_file(folder / "checkpoint" / "tensors.safetensors") for folder in (one, other))
    assert mine.keys() == theirs.keys()
    assert [name for name in mine if not torch.equal(mine[name], theirs[name])] == []
    assert numbers(one) == numbers(other)
    assert history(one) == history(other)


def kill(folder: Path, kills: int, seed: int) -> Mapping[str, Any]:
    command = [sys.executable, str(HERE / "killed.py"), str(folder), str(kills), str(seed)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    found: Mapping[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert set(found["codes"].values()) == {0}, done.stderr
    assert [item["code"] for item in found["kills"]] == [-signal.SIGKILL] * kills
    for name in found["codes"]:
        same_run(folder / name, folder / "whole")
    return found


def test_a_run_that_is_killed_is_gone_on_with_as_if_it_had_not_been(tmp_path: Path) -> None:
    found = kill(tmp_path, 3, 1)
    assert len(found["codes"]) >= 2


@pytest.mark.long
def test_twenty_kills(tmp_path: Path) -> None:
    found = kill(tmp_path, 20, 2)
    assert any(item["iteration"] for item in found["kills"])
    assert any(".new" in item["remains"] for item in found["kills"]), "none fell into a save"


@pytest.mark.usefixtures("here")
def test_a_run_that_died_before_anything_was_saved_begins_anew(capsys) -> None:
    assert say(capsys, *RUN).code == 0
    whole = numbers(Path("out"))
    for name in ("checkpoint", "metrics.json", "log.jsonl"):
        Path("out", name).rename(f"kept-{name}")
    said = say(capsys, *RUN, "--resume")
    assert said.code == 0
    assert "warning: `out` has no checkpoint to go on from yet: the run begins anew" in said.err
    assert numbers(Path("out")) == whole
    for item in [item for item in Path("out").iterdir() if item.name != "run.json"]:  # it died even earlier
        item.rename(f"kept-again-{item.name}")
    assert say(capsys, *RUN, "--resume").code == 0
    assert numbers(Path("out")) == whole


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("damage", ["truncated", "a bit", "foreign"])
def test_a_checkpoint_that_is_damaged_or_of_another_run(capsys, damage: str) -> None:
    assert say(capsys, *RUN).code == 0
    tensors = Path("out/checkpoint/tensors.safetensors")
    content = bytearray(tensors.read_bytes())
    if damage == "truncated":
        tensors.write_bytes(content[:-9])
    elif damage == "a bit":
        content[-9] ^= 8
        tensors.write_bytes(content)
    else:
        text = Path("small.pdual").read_text().replace("+ 0.1", "+ 0.2")
        Path("other.pdual").write_text(text)
        assert say(capsys, "run", "other.pdual", "--out", "other", "-q").code == 0
        Path("out/checkpoint").rename("away")
        Path("other/checkpoint").rename("out/checkpoint")
    said = say(capsys, *RUN, "--resume")
    assert (said.code, said.out) == (4, "")
    if damage == "foreign":
        assert "error[PD604]: the saved state belongs to another run: `spec` differs" in said.err
    else:
        assert "error[PD621]: `out/checkpoint/tensors.safetensors` is damaged" in said.err


@pytest.mark.usefixtures("here")
def test_a_run_is_gone_on_with_after_a_comment_was_written(capsys) -> None:
    assert say(capsys, *RUN).code == 0
    spec = Path("small.pdual")
    spec.write_text("# a thought\n" + spec.read_text() + "\n# another\n")
    assert say(capsys, *RUN, "--resume").code == 0
    spec.write_text(spec.read_text().replace("+ 0.1", "+ 0.2"))
    assert "error[PD604]: the saved state belongs to another run: `spec` differs" in say(capsys, *RUN, "--resume").err


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("changed", "subject"),
    [(["--seed", "1"], "seed"), (["--precision", "float64"], "precision"), (["--limit", "9"], "rows")],
)
def test_a_run_is_gone_on_with_as_it_was_begun(capsys, changed: list[str], subject: str) -> None:
    assert say(capsys, *RUN).code == 0
    said = say(capsys, *RUN, "--resume", *changed)
    assert (said.code, said.out) == (4, "")
    assert f"`{subject}` differs" in said.err
    assert say(capsys, *RUN, "--resume").code == 0


def in_a_process(here: Path, *arguments: str, limit: int | None = None) -> Said:
    """A run in a process of its own that may write ``limit`` bytes into a file, as on a disk that is full then."""

    def full() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    command = [sys.executable, "-m", "pdual.cli.start", *arguments]
    done = subprocess.run(command, cwd=here, capture_output=True, text=True, timeout=120, preexec_fn=full)
    return Said(done.returncode, done.stdout, done.stderr)


def test_a_disk_that_fills_up_during_a_save(here: Path, capsys) -> None:
    said = in_a_process(here, *RUN, limit=4000)
    assert (said.code, said.out) == (4, "")
    assert "error[PD624]: `out/checkpoint` cannot be written: " in said.err
    assert "Traceback" not in said.err
    assert not (here / "out" / "checkpoint").exists()
    assert not list((here / "out").glob("*.new"))
    assert RunFolder(here / "out").record.status == "failed"
    assert say(capsys, *RUN, "--resume").code == 0  # there is room again


@pytest.mark.usefixtures("here")
def test_a_disk_that_is_full_keeps_what_was_saved(capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    assert say(capsys, *RUN).code == 0
    before = {item.name: item.read_bytes() for item in Path("out/checkpoint").iterdir()}
    Path("out/metrics.json").unlink()
    whole = folder.write_whole

    def full(place: Path, content: bytes) -> None:
        if place.name == "metrics.json":
            raise OSError(28, "No space left on device")
        whole(place, content)

    monkeypatch.setattr(folder, "write_whole", full)
    said = say(capsys, *RUN, "--resume")
    assert said.code == 4
    assert "error[PD624]: `out/metrics.json` cannot be written: no space left on device" in said.err
    assert "the last state that was saved is kept in `out/checkpoint`" in said.err
    after = {item.name: item.read_bytes() for item in Path("out/checkpoint").iterdir()}
    assert after["tensors.safetensors"] == before["tensors.safetensors"]
    monkeypatch.setattr(folder, "write_whole", whole)
    assert say(capsys, *RUN, "--resume").code == 0


@pytest.mark.usefixtures("here")
def test_a_folder_that_may_not_be_written_to(capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever tests as the super-user may write everywhere, so the refusal is played."""
    allowed = os.open

    def refuses(path: Any, flags: int, *rest: Any, **more: Any) -> int:
        if "locked-up" in str(path) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            raise PermissionError(13, "Permission denied")
        return allowed(path, flags, *rest, **more)

    Path("locked-up").mkdir(mode=0o555)
    monkeypatch.setattr(os, "open", refuses)
    said = say(capsys, "run", "small.pdual", "--out", "locked-up", "-q")
    assert (said.code, said.out) == (4, "")
    assert "error[PD624]: `locked-up/run.lock` cannot be written: permission denied" in said.err
    under = say(capsys, "run", "small.pdual", "--out", "small.pdual/run", "-q")
    assert (under.code, under.out) == (4, "")
    assert "error[PD624]: `small.pdual/run/run.lock` cannot be written: not a directory" in under.err


@pytest.mark.usefixtures("here")
def test_two_runs_into_one_folder(capsys) -> None:
    assert say(capsys, *RUN).code == 0
    with RunFolder(Path("out")).locked():
        for more in ([], ["--resume"]):
            said = say(capsys, *RUN, *more)
            assert (said.code, said.out) == (2, "")
            assert "error[PD625]: another process is at work in `out`" in said.err
        assert say(capsys, "run", "small.pdual", "--out", "another", "-q").code == 0
    assert say(capsys, *RUN, "--resume").code == 0


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "1e999"])
def test_data_that_are_not_finite(capsys, here: Path, value: str) -> None:
    points(here, special=value)
    said = say(capsys, *RUN)
    assert (said.code, said.out) == (3, "")
    assert "error[PD535]: `y` should hold finite numbers" in said.err
    assert "row 7" in said.err
    assert not (here / "out").exists()


def test_a_loss_that_is_not_finite_names_row_constraint_and_expression(capsys, here: Path) -> None:
    """The square root of a negative number: finite data, and one row where a constraint has no value."""
    points(here, special="-4")
    said = say(capsys, *RUN)
    assert (said.code, said.out) == (4, "")
    assert "error[PD601]: the loss stopped being a finite number in outer iteration 1" in said.err
    assert "`root[7]`" in said.err
    assert "root: sqrt(p.y) <= guess + 3" in said.err
    assert RunFolder(here / "out").record.status == "failed"


def test_what_was_saved_before_a_loss_was_not_finite_is_kept(capsys, here: Path) -> None:
    """Steps that are too long by a factor: the weights of a line grow geometrically, for some outer iterations."""
    text = SPEC.replace("OUTER", "60").replace(
        "learned(mlp(hidden = [8]), on = features(f), cap = 10)", "shared(cap = 10)"
    )
    text = text.replace("mlp(hidden = [8])", "linear()").replace("adam(lr = 1e-2", "sgd(lr = 0.5", 1)
    (here / "wild.pdual").write_text(text)
    said = say(capsys, "run", "wild.pdual", "--out", "out", "-q")
    assert said.code == 4, said.err
    assert "error[PD601]" in said.err
    folder = RunFolder(here / "out")
    assert folder.record.status == "failed"
    saved = folder.load()
    assert f"the last saved state is from the end of outer iteration {saved['iteration'] - 1}" in said.err
    assert all(bool(torch.isfinite(weight).all()) for weight in saved["models"].values())


def test_ctrl_c_twice(here: Path) -> None:
    command = [sys.executable, "-m", "pdual.cli.start", "run", "long.pdual", "--out", "out", "-v"]
    with subprocess.Popen(command, cwd=here, text=True, stdout=-1, stderr=-1) as process:
        log = here / "out" / "log.jsonl"
        for _ in range(600):
            if log.exists() and len(log.read_bytes().splitlines()) > 2:
                break
            time.sleep(0.1)
        for _ in range(2):
            process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in out + err
    assert err.rstrip().endswith("`pdual run long.pdual -v --resume --out out`")
    state = RunFolder(here / "out").load()
    assert state["iteration"] >= 1
    assert all(isinstance(LogLine.model_validate(line), LogLine) for line in state["history"])
