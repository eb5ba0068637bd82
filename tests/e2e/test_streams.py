"""Wherever output goes: no traceback, a whole run, an exit code that says what happened."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SPEC = """problem s "Größe ≤ 1 😀"
data d = csv("d.csv", split = [0.5, 0, 0.5]) { x: real, y: real }
model f(x: real) -> real = linear()
over r in d { minimize (f(r.x) - r.y)^2 subject to near: f(r.x) <= r.y + 9 }
solve { outer = 1, descent = adam(lr = 1e-2, batch = 4, steps = 2) }
"""
COMMANDS = ("explain s.pdual", "explain s.pdual --json")
needs_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "d.csv").write_text("x,y\n" + "".join(f"{n},{n}\n" for n in range(8)))
    (tmp_path / "s.pdual").write_text(SPEC, encoding="utf-8")
    return tmp_path


def shell(folder: Path, command: str, around: str) -> subprocess.CompletedProcess[bytes]:
    line = around.format(f"{sys.executable} -m pdual.cli.start {command}")
    done = subprocess.run(["bash", "-c", line], cwd=folder, capture_output=True, timeout=120, check=False)
    for said in (done.stdout, done.stderr):
        assert b"Traceback" not in said
        assert b"PD999" not in said
        assert b"Exception ignored" not in said
    return done


@pytest.mark.parametrize("command", COMMANDS)
def test_ascii(folder: Path, command: str) -> None:
    plain = shell(folder, command, "{}")
    found = shell(folder, command, "PYTHONIOENCODING=ascii {}")
    assert found.returncode == plain.returncode
    assert found.stdout.isascii()
    if command.endswith("--json"):
        assert json.loads(found.stdout) == json.loads(plain.stdout)


@pytest.mark.parametrize("command", ["check nosuch"])
@pytest.mark.parametrize("around", ["{} >&-", "{} >&- 2>&-"])
def test_closed(folder: Path, command: str, around: str) -> None:
    assert shell(folder, command, around).returncode == shell(folder, command, "{}").returncode


@needs_full
@pytest.mark.parametrize("command", ["explain s.pdual --json", "--help"])
def test_full(folder: Path, command: str) -> None:
    found = shell(folder, command, "{} >/dev/full")
    assert found.returncode == 2
    assert b"error[PD713]: `standard output` cannot be written: no space left on device" in found.stderr
    assert shell(folder, command, "{} 2>/dev/full").returncode == 0


@pytest.mark.parametrize("command", ["check s.pdual"])
def test_a_reader_that_goes(folder: Path, command: str) -> None:
    found = shell(folder, command, "{} | head -c0; exit ${{PIPESTATUS[0]}}")
    assert found.returncode in (0, 141)  # it may be done before its reader has gone
    assert found.stderr == b""


@needs_full
def test_a_run_is_whole_whatever_becomes_of_its_output(folder: Path) -> None:
    plain = shell(folder, "run s.pdual --out plain", "{}")
    assert plain.returncode == 0
    ways = {
        "head": ("{} 2>&1 | head -1 >/dev/null; exit ${{PIPESTATUS[0]}}", (0, 141)),
        "full": ("{} >/dev/full 2>/dev/full", (2,)),
        "closed": ("{} -v >&- 2>&-", (0,)),
    }
    for name, (around, codes) in ways.items():
        assert shell(folder, f"run s.pdual --out {name}", around).returncode in codes
        files = [json.loads((folder / place / "metrics.json").read_text()) for place in ("plain", name)]
        assert files[0]["splits"] == files[1]["splits"]
        assert json.loads((folder / name / "run.json").read_text())["status"] == "finished"
