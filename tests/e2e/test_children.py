"""Commands that start processes leave none behind, however they end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from pdual.children import COMMAND

#: Seconds after which nothing may be left.
PATIENCE = 30.0

SPEC = """problem long "It would go on for hours"
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
solve { outer = OUTER, rho = 20.0, descent = adam(lr = 1e-2, batch = 8, steps = 5) }
"""

#: References of a grid, solved by joblib's workers for as long as it takes.
WORKERS = """
import time
from pdual.packs.power.optima import chunks as power_chunks
power_chunks.solve_chunk = None
def solved(problem, index, loads, parent=None):
    if parent is not None:
        from pdual.packs.power.optima.chunks import _end_with
        _end_with(parent)
    print(index, flush=True)
    time.sleep(600)
power_chunks._task = solved
print(dict(power_chunks._solved(None, {0: None, 1: None}, 2)))
"""


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "long.pdual").write_text(SPEC.replace("OUTER", "1000000"))
    (tmp_path / "short.pdual").write_text(SPEC.replace("OUTER", "2"))
    (tmp_path / "points.csv").write_text("x,y\n" + "".join(f"{n / 40},{1 + (n * 7 % 11) / 11}\n" for n in range(40)))
    return tmp_path


def until(what: Callable[[], bool], patience: float = PATIENCE) -> bool:
    end = time.monotonic() + patience
    while time.monotonic() < end:
        if what():
            return True
        time.sleep(0.05)
    return what()


def left(marked: str) -> list[int]:
    """Processes whose environment has the mark, but for those that are dead already."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("MARKED_BY_TEST") == marked and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
        except (psutil.Error, OSError):
            continue
    return found


@pytest.fixture
def begun(here: Path) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    mark = str(here)
    processes: list[subprocess.Popen[bytes]] = []

    def begin(*command: str) -> subprocess.Popen[bytes]:
        environment = {**os.environ, "MARKED_BY_TEST": mark}
        processes.append(
            subprocess.Popen(command, cwd=here, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        )
        return processes[-1]

    yield begin
    for number in left(mark):
        os.kill(number, signal.SIGKILL)
    for process in processes:
        process.wait(PATIENCE)


def works(folder: Path) -> bool:
    return any(item.stat().st_size for item in folder.rglob("log.jsonl"))


@pytest.mark.parametrize(
    "name", ["SIGTERM", "SIGKILL", *(pytest.param(name, marks=pytest.mark.long) for name in ("SIGHUP", "SIGINT"))]
)
def test_a_sweep_leaves_no_run_behind(here: Path, begun: Callable[..., subprocess.Popen[bytes]], name: str) -> None:
    swept = begun(*COMMAND, "sweep", "long.pdual", "--over", "width=3,4", "--jobs", "2", "--out", "swept", "-q")
    assert until(lambda: works(here / "swept"), 90)
    assert len(left(str(here))) >= 2
    swept.send_signal(getattr(signal, name))
    swept.wait(PATIENCE)
    assert until(lambda: left(str(here)) == [])
    for record in (here / "swept").rglob("run.json"):
        assert b'"signature"' in record.read_bytes()  # whole


@pytest.mark.parametrize("name", ["SIGKILL", pytest.param("SIGTERM", marks=pytest.mark.long)])
def test_re_solves_leave_none_behind(here: Path, begun: Callable[..., subprocess.Popen[bytes]], name: str) -> None:
    subprocess.run([*COMMAND, "run", "short.pdual", "--out", "run", "-q"], cwd=here, check=True, capture_output=True)
    options = [
        "--groups",
        "2",
        "--random",
        "0",
        "--size",
        "4",
        "--seeds",
        "1",
        "--outer",
        "100000",
        "--jobs",
        "2",
        "-q",
    ]
    solved = begun(*COMMAND, "sensitivity", "run", *options)
    assert until(lambda: len(left(str(here))) >= 3, 90)
    solved.send_signal(getattr(signal, name))
    solved.wait(PATIENCE)
    assert until(lambda: left(str(here)) == [])


@pytest.mark.parametrize("name", ["SIGTERM", "SIGKILL"])
def test_workers_end_with_the_process_they_work_for(
    here: Path, begun: Callable[..., subprocess.Popen[bytes]], name: str
) -> None:
    solving = begun(sys.executable, "-c", WORKERS)
    assert until(lambda: len(left(str(here))) >= 3, 60)
    time.sleep(1.0)  # the workers have begun
    solving.send_signal(getattr(signal, name))
    solving.wait(PATIENCE)
    assert until(lambda: left(str(here)) == [])


@pytest.mark.parametrize("name", ["SIGTERM", pytest.param("SIGHUP", marks=pytest.mark.long)])
def test_a_run_that_is_asked_to_end_saves_what_it_reached(
    here: Path, begun: Callable[..., subprocess.Popen[bytes]], name: str
) -> None:
    run = begun(*COMMAND, "run", "long.pdual", "--out", "run", "-q")
    assert until(lambda: works(here / "run"), 60)
    run.send_signal(getattr(signal, name))
    assert run.wait(PATIENCE) == 130
    assert (here / "run" / "metrics.json").is_file()
    assert (here / "run" / "checkpoint" / "digests.json").is_file()
