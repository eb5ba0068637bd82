"""Every option of every command with values that it cannot take: a diagnostic, or the command's work; nothing is surprised."""

from __future__ import annotations

import os
import random
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from pdual.cli.main import app, perform

#: Commands with one wrong value; `PDUAL_EXAMPLES` asks for more of them.
EXAMPLES = int(os.environ.get("PDUAL_EXAMPLES", "100")) // 5
PATIENCE = 20.0

SPEC = (
    (Path(__file__).with_name("test_run_folders.py").read_text(encoding="utf-8")).split('SPEC = """')[1].split('"""')[0]
)

#: What makes each command short.
BASE: dict[str, list[str]] = {
    "check": ["small.pdual"],
    "fmt": ["small.pdual"],
    "explain": ["small.pdual"],
    "run": ["small.pdual", "-q"],
    "compare": ["small.pdual", "--duals", "pointwise", "-q"],
    "report": ["run", "-q"],
    "predict": ["run", "--data", "points.csv", "-q"],
    "score": ["run", "--data", "points.csv", "-q"],
    "export": ["run"],
    "sensitivity": ["run", "--groups", "2", "--random", "0", "--size", "2", "--seeds", "1", "--outer", "1", "-q"],
    "bounds": ["small.pdual"],
    "verify": ["small.pdual", "--examples", "1", "--claims", "range", "-q"],
    "sweep": ["small.pdual", "--over", "nothing=1", "-q"],
}
SURPRISE = re.compile("PD999|Traceback")
VALUES = (
    "",
    " ",
    "-1",
    "0",
    "1.5",
    "nan",
    "inf",
    "-inf",
    "1e400",
    "9" * 30,
    str(2**63),
    str(2**64),
    "9" * 5000,
    "0x10",
    "1_000",
    "٣",
    "=",
    "x=",
    "=x",
    "x",
    "x=1",
    "width=[1, 2",
    "width=nan",
    "width=" + "9" * 400,
    "width='\u202e'",
    "x=" + "y" * 300,
    "y" * 300,
    "a/" * 3000,
    "a\0b",
    "x=a\0b",
    "\udcff",
    "x=\udcff",
    "caf\u00e9",
    "..",
    "/",
    "/dev/null",
    "small.pdual/below",
    "points.csv",
    "--json",
    ",",
    ",,a",
    "f=x",
    "points=",
    "points=/dev/null",
    "points=run",
    "points=\0",
)


def options() -> Iterator[tuple[str, str]]:
    """Every option that takes a value, by command."""
    group = typer.main.get_command(app)
    for name in BASE:
        for parameter in group.commands[name].params:  # type: ignore[attr-defined]
            if parameter.param_type_name == "option" and not parameter.is_flag and not parameter.hidden:
                yield name, max(parameter.opts, key=len)
        yield name, ""  # the argument itself


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "small.pdual").write_text(
        SPEC.replace("data points", "param width = 2\ndata points", 1).replace("hidden = [2]", "hidden = [width]", 1)
    )
    (tmp_path / "points.csv").write_text("x,y\n" + "".join(f"{n / 16},{1 + (n * 7 % 11) / 11}\n" for n in range(16)))
    monkeypatch.chdir(tmp_path)
    assert perform(["run", "small.pdual", "--out", "run", "-q"]) == 0
    return tmp_path


def test_every_option_is_there() -> None:
    group = typer.main.get_command(app)
    assert {*BASE, "lsp"} == set(group.commands)  # type: ignore[attr-defined]


def test_no_value_of_an_option_surprises(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # A thousand runs are asked for and made: no value to be surprised by.
    every = [
        (command, option, value)
        for command, option in options()
        for value in VALUES
        if (option, value) != ("--seeds", "1_000")
    ]
    # Heavy programs are asked with a few only.
    draw = random.Random(0)
    draw.shuffle(every)
    kept = {name: (here / name).read_bytes() for name in ("small.pdual", "points.csv")}
    for command, option, value in every[:EXAMPLES]:
        arguments = [command, *BASE[command]]
        if option:
            arguments += [option, value]
        else:
            arguments[1] = value
        capsys.readouterr()
        began = time.process_time()
        code = perform(arguments)
        spent = time.process_time() - began
        said = "".join(capsys.readouterr())
        assert not SURPRISE.search(said), (arguments, said)
        assert code in (0, 1, 2, 3, 4), (arguments, code)
        assert spent < PATIENCE, (arguments, spent)
        for name, content in kept.items():
            if (command, name) != ("fmt", "small.pdual"):
                assert (here / name).read_bytes() == content, arguments
            (here / name).write_bytes(content)
        for item in here.iterdir():
            if item.name not in (*kept, "run"):
                shutil.rmtree(item) if item.is_dir() else item.unlink()
