"""Run folders: what is written is read back, a half-written one is never seen, and damage is told."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from small_problems import logged, recorded

from pdual.dsl.diagnostics import Diagnostic, Refusal
from pdual.runtime.storage import checkpoint, folder
from pdual.runtime.storage.checkpoint import DIGESTS, FRESH, OLD, STATE, TENSORS
from pdual.runtime.storage.folder import CHECKPOINT, LOG, RUN, RunFolder


def state(value: float = 1.0) -> dict[str, Any]:
    return {
        "identity": {"problem": "hand", "seed": 0},
        "models": {"f.x": torch.full((2, 3), value, dtype=torch.float64)},
        "lanes": {"d": {"multipliers": {"stores": [{"table": torch.arange(4)}, {}]}}},
        "worst": None,
    }


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    made = RunFolder.create(tmp_path / "run", "problem p", recorded())
    made.save(state())
    return made


def refusal(what: Callable[[], object]) -> tuple[Diagnostic, ...]:
    with pytest.raises(Refusal) as found:
        what()
    return found.value.diagnostics


def refused(what: Callable[[], object]) -> str:
    (item,) = refusal(what)
    return item.code


def same(found: Any, expected: Any) -> None:
    if isinstance(expected, torch.Tensor):
        assert torch.equal(found, expected)
        assert found.dtype == expected.dtype
    elif isinstance(expected, dict):
        assert found.keys() == expected.keys()
        for key, value in expected.items():
            same(found[key], value)
    elif isinstance(expected, list):
        assert len(found) == len(expected)
        for mine, other in zip(found, expected, strict=True):
            same(mine, other)
    else:
        assert found == expected


def test_what_is_saved_is_loaded(run: RunFolder) -> None:
    same(run.load(), state())
    run.save(state(2.0))
    same(run.load(), state(2.0))
    assert sorted(item.name for item in run.path.iterdir()) == [CHECKPOINT, RUN, "spec.pdual"]


def test_records_and_lines_go_round(run: RunFolder) -> None:
    assert run.spec == "problem p"
    assert run.record == recorded()
    assert run.log == ()
    run.append_log(logged(0))
    run.append_log(logged(1))
    assert run.log == (logged(0), logged(1))
    run.rewrite_log((logged(5),))
    assert run.log == (logged(5),)
    run.write_record(recorded(status="finished"))
    assert RunFolder.open(run.path).record.status == "finished"


def test_beginning_again_clears_what_was_there(run: RunFolder) -> None:
    run.append_log(logged(0))
    assert refused(lambda: RunFolder.create(run.path, "problem q", recorded())) == "PD622"
    again = RunFolder.create(run.path, "problem q", recorded(), replace=True)
    assert (again.spec, again.log) == ("problem q", ())
    assert refused(again.load) == "PD623"


@pytest.mark.parametrize("fails", ["save_file", "dumps", "rename"])
def test_a_save_that_fails_leaves_the_last_one(run: RunFolder, monkeypatch: pytest.MonkeyPatch, fails: str) -> None:
    """A full disk in the tensors, in the state, or a death between the two renames."""
    rename = Path.rename

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    def dies(self: Path, target: Path) -> Path:
        if self.name.endswith(".new"):
            raise OSError(5, "Input/output error")
        return rename(self, target)

    if fails == "save_file":
        monkeypatch.setattr(checkpoint, "save_file", full)
    elif fails == "dumps":
        monkeypatch.setattr(checkpoint.json, "dumps", full)
    else:
        monkeypatch.setattr(Path, "rename", dies)
    (item,) = refusal(lambda: run.save(state(2.0)))
    facts = dict(item.facts)
    assert (item.code, facts["saved"]) == ("PD624", str(run.path / CHECKPOINT))
    assert facts["reason"] in ("no space left on device", "input/output error")
    monkeypatch.undo()
    same(run.load(), state(1.0))
    run.save(state(3.0))
    same(run.load(), state(3.0))


def test_a_record_that_cannot_be_written_leaves_the_last_one(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(folder.os, "fsync", full)
    assert refused(lambda: run.write_record(recorded(status="finished"))) == "PD624"
    assert not (run.path / f"{RUN}.new").exists()
    assert run.record.status == "running"


DAMAGE: dict[str, Callable[[Path], object]] = {
    "tensors cut short": lambda path: (path / TENSORS).write_bytes((path / TENSORS).read_bytes()[:-7]),
    "no tensors": lambda path: (path / TENSORS).unlink(),
    "not tensors": lambda path: (path / TENSORS).write_text("PK"),
    "no state": lambda path: (path / STATE).unlink(),
    "state cut short": lambda path: (path / STATE).write_text((path / STATE).read_text()[:-5]),
    "state of something else": lambda path: (path / STATE).write_text("{}"),
    "a tensor of another name": lambda path: (path / STATE).write_text(
        (path / STATE).read_text().replace('"models.f.x"', '"models.g.x"')
    ),
}


def flipped(name: str) -> Callable[[Path], object]:
    """One bit in the middle of a file is another."""

    def flip(path: Path) -> object:
        content = bytearray((path / name).read_bytes())
        content[len(content) // 2] ^= 4
        return (path / name).write_bytes(content)

    return flip


DAMAGE |= {
    "a bit of the tensors": flipped(TENSORS),
    "a bit of the state": flipped(STATE),
    "a bit of the digests": flipped(DIGESTS),
    "no digest": lambda path: (path / DIGESTS).write_text("{}"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_checkpoint_is_told(run: RunFolder, damage: str) -> None:
    same(run.load(), state())
    DAMAGE[damage](run.path / CHECKPOINT)
    assert refused(run.load) == "PD621"


def test_every_bit_of_the_tensors_counts(run: RunFolder) -> None:
    """A number that is another one is no format error: only its digest tells."""
    path = run.path / CHECKPOINT / TENSORS
    content = path.read_bytes()
    for place in range(len(content)):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        assert refused(run.load) == "PD621"
    path.write_bytes(content)
    same(run.load(), state())


def test_a_checkpoint_of_a_version_without_digests_is_loaded(run: RunFolder) -> None:
    (run.path / CHECKPOINT / DIGESTS).unlink()
    same(run.load(), state())


@pytest.mark.parametrize("moment", ["before the renames", "between the renames", "after the renames"])
def test_a_death_at_any_moment_of_a_save_loses_nothing(run: RunFolder, moment: str) -> None:
    """What a killed save leaves behind is loaded, and the next save cleans up."""
    current, old, fresh = (run.path / (CHECKPOINT + suffix) for suffix in ("", OLD, FRESH))
    expected = 1.0
    if moment == "before the renames":
        shutil.copytree(current, fresh)
        (fresh / TENSORS).write_bytes(b"half")
    elif moment == "between the renames":
        current.rename(old)
    else:
        shutil.copytree(current, old)
        run.save(state(2.0))
        shutil.copytree(current, old)
        (old / STATE).unlink()
        expected = 2.0
    assert run.has_checkpoint
    same(run.load(), state(expected))
    run.save(state(3.0))
    same(run.load(), state(3.0))
    assert not old.exists()
    assert not fresh.exists()


def test_two_runs_do_not_share_a_folder(tmp_path: Path) -> None:
    place = RunFolder(tmp_path / "run")
    with place.locked():
        (item,) = refusal(lambda: place.locked().__enter__())
        assert item.code == "PD625"
        with RunFolder(tmp_path / "another").locked():
            pass
    with place.locked():
        pass


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (item,) = refusal(lambda: RunFolder(tmp_path / "file" / "run").locked().__enter__())
    assert (item.code, "saved" in dict(item.facts)) == ("PD624", False)
    assert refused(lambda: RunFolder.create(tmp_path / "file" / "run", "problem p", recorded())) == "PD624"


def test_a_checkpoint_runs_no_code(run: RunFolder) -> None:
    """Only tensors and JSON: a pickle in the place of either is refused, not opened."""
    torch.save({"x": torch.ones(1)}, run.path / CHECKPOINT / TENSORS)
    assert refused(run.load) == "PD621"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": 2}', '{"schema": 1}'])
def test_a_malformed_record_is_told(run: RunFolder, text: str) -> None:
    (run.path / RUN).write_text(text)
    assert refused(lambda: run.record) == "PD621"


def test_a_line_that_was_cut_off_is_told_with_its_number(run: RunFolder) -> None:
    run.append_log(logged(0))
    with (run.path / LOG).open("a") as file:
        file.write('{"outer": 1')
    (item,) = refusal(lambda: run.log)
    assert item.code == "PD621"
    assert "line 2" in str(dict(item.facts)["reason"])


def test_what_is_no_run_is_told(tmp_path: Path, run: RunFolder) -> None:
    assert refused(lambda: RunFolder.open(tmp_path)) == "PD620"
    assert refused(lambda: run.metrics) == "PD620"
