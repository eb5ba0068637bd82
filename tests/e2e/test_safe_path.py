"""Files beside a spec that are called as modules are: no command runs one, nor does a process that it starts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pdual.children import COMMAND

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
#: All commands, one after another in one process; `sweep` and `sensitivity` start others.
COMMANDS = [
    ["check", "small.pdual"],
    ["fmt", "small.pdual"],
    ["explain", "small.pdual"],
    ["explain", "small.pdual", "--math"],
    ["bounds", "small.pdual"],
    ["run", "small.pdual", "--out", "run", "-q"],
    ["report", "run", "-q"],
    ["predict", "run", "--data", "points.csv", "-q"],
    ["score", "run", "--data", "points.csv", "-q"],
    ["bounds", "--run", "run"],
    ["verify", "small.pdual", "--examples", "2", "-q"],
    ["compare", "small.pdual", "--duals", "pointwise", "--out", "compared", "-q"],
    [
        "sensitivity",
        "run",
        "--groups",
        "2",
        "--random",
        "0",
        "--size",
        "4",
        "--seeds",
        "1",
        "--outer",
        "1",
        "--jobs",
        "2",
        "-q",
    ],
    ["sweep", "small.pdual", "--over", "width=3", "--out", "swept", "-q"],
]
STANDARD = (
    "sitecustomize",
    "usercustomize",
    "conftest",
    "pdual",
    "torch",
    "numpy",
    "json",
    "random",
    "joblib",
    "loky",
    "casadi",
)
SCRIPT = """
import json, sys
from pdual.cli.main import perform
codes = [perform(command) for command in json.loads(sys.argv[1])]
print("@", json.dumps(codes))
"""
WORKERS = """
import numpy as np
from pathlib import Path
from pdual.packs.power.optima import chunks as power_chunks
from pdual.runtime.data.context import Progress
def solved(problem, index, loads, parent=None):
    import casadi, random, logging, decimal
    return index, 7
power_chunks._task = solved
found = dict(power_chunks._solved(None, {0: None, 1: None}, 2))
print(found)
"""


@pytest.fixture
def here(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "small.pdual").write_text(SPEC)
    lines = [f"{n / 40},{1 + (n * 7 % 11) / 11}\n" for n in range(40)]
    (folder / "points.csv").write_text("x,y\n" + "".join(lines))
    return folder


def hostile(folder: Path, names: set[str]) -> None:
    """A file of each name, which leaves a trace when it is run."""
    for name in names:
        trace = folder.parent / f"ran-{name}"
        (folder / f"{name}.py").write_text(f"open({str(trace)!r}, 'w').close()\nraise SystemExit(77)\n")


def traces(folder: Path) -> list[str]:
    return sorted(item.name for item in folder.parent.glob("ran-*"))


def run(script: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """As the script of the command ``pdual`` is: from a file in another folder."""
    place = folder.parent / "bin" / "pdual"
    place.parent.mkdir(exist_ok=True)
    place.write_text(script)
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONSAFEPATH")}
    command = [sys.executable, str(place), *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment, timeout=240)


def test_no_command_runs_what_lies_beside_a_spec(here: Path) -> None:
    names = {name.split(".")[0] for name in (*sys.modules, *sys.stdlib_module_names)}
    hostile(here, {name for name in names if name.isidentifier()} | set(STANDARD))
    done = run(SCRIPT, here, json.dumps(COMMANDS))
    assert traces(here) == []
    said = next(line for line in done.stdout.splitlines() if line.startswith("@"))
    assert dict(zip(map(" ".join, COMMANDS), json.loads(said[2:]), strict=True)) == {
        " ".join(item): 0 for item in COMMANDS
    }


@pytest.mark.parametrize("guard", ["-P", ""])
def test_a_process_that_is_started_looks_elsewhere(here: Path, guard: str) -> None:
    """With ``-P`` left out, the same folder would be run from: the test sees what it looks for."""
    hostile(here, {"random"})
    command = [part for part in COMMAND if part != "-P" or guard]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    done = subprocess.run(
        [*command, "run", "small.pdual", "--out", "r", "-q"], cwd=here, capture_output=True, env=environment
    )
    assert (done.returncode, traces(here)) == ((0, []) if guard else (77, ["ran-random"]))


def test_workers_that_solve_references_look_elsewhere(here: Path) -> None:
    hostile(here, {"numpy", "casadi", "random", "joblib", "logging", "decimal", "multiprocessing"})
    done = run(WORKERS, here)
    assert (done.stdout.strip(), traces(here)) == ("{0: 7, 1: 7}", []) or done.stdout.strip() == "{1: 7, 0: 7}", (
        done.stderr
    )
    assert traces(here) == []


def test_settings_of_the_solver_that_lie_beside_a_spec_are_not_read(here: Path) -> None:
    """IPOPT reads `ipopt.opt` in the current folder unless it is told not to: tolerances, files to write, libraries to load."""
    (here / "ipopt.opt").write_text("output_file written.txt\nfile_print_level 5\n")
    script = (
        "from pdual.packs.power.optima.optimum import _ipopt, _OPTIONS\n"
        "import casadi\n"
        "from types import SimpleNamespace\n"
        "x = casadi.SX.sym('x')\n"
        "problem = SimpleNamespace(symbols={'x': x, 'f': (x - 1) ** 2})\n"
        "print(round(float(_ipopt(problem, _OPTIONS)(x0=0)['x']), 3))\n"
    )
    done = run(script, here)
    assert done.stdout.strip() == "1.0", done.stderr
    assert not (here / "written.txt").exists()
