"""What does not fit into memory is told with the bytes asked for and those that are free, before any of it is taken."""

from __future__ import annotations

from pathlib import Path

import pytest

import pdual
from pdual.cli.main import perform
from pdual.dsl.diagnostics import Refusal
from pdual.runtime.system import memory
from pdual.runtime.system.memory import amount, available, check_room, told_room

SPEC = """problem large "Much of everything"
data points = csv("points.csv", split = [0.5, 0.25, 0.25]) {{ x: real, y: real }}
model f(x: real) -> real = {model}
over p in points {{
  let guess = f(p.x)
  minimize guess^2
  subject to
    ceiling: guess <= p.y
  dual ceiling = {dual}
}}
solve {{ outer = 1, rho = 1.0, descent = adam(lr = 1e-2, batch = 8, steps = 1), ascent = adam(lr = 1e-1, batch = 8, steps = 1) }}
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "points.csv").write_text("x,y\n" + "".join(f"{n},1\n" for n in range(16)))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("model", "dual", "there", "what"),
    [
        ("mlp(hidden = [1000000000])", "shared(cap = 1)", None, "`mlp` with 3,000,000,001 parameters takes 48 GB"),
        ("linear()", "learned(mlp([1000000000]), on = p.x, cap = 1)", None, "parameters takes 48 GB"),
        (
            "mlp(hidden = [8])",
            "shared(cap = 1)",
            300,
            "`mlp` with 25 parameters takes 400 bytes, and 300 bytes are free",
        ),
        ("free()", "shared(cap = 1)", 100, "`free` with 16 parameters takes 256 bytes"),
        ("linear()", "pointwise(cap = 1)", 60, "a multiplier for every entry of every train row takes 64 bytes"),
        ("linear()", "shared(cap = 1)", 100, "a batch of 8 rows of `points` takes 128 bytes"),
    ],
)
def test_what_is_too_large_is_told(
    here: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    model: str,
    dual: str,
    there: int | None,
    what: str,
) -> None:
    (here / "large.pdual").write_text(SPEC.format(model=model, dual=dual))
    monkeypatch.setattr(memory, "available", lambda: 30 * 10**9 if there is None else there)
    assert perform(["run", "large.pdual", "--out", "run", "-q"]) == 4
    said = capsys.readouterr().err
    assert "error[PD662]" in said
    assert what in said
    assert "numbers, with what training keeps of each" in said


def test_what_fits_is_not(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "large.pdual").write_text(SPEC.format(model="mlp(hidden = [8])", dual="pointwise(cap = 1)"))
    monkeypatch.setattr(memory, "available", lambda: 1000)
    assert pdual.load("large.pdual", data={"points": "points.csv"}).solve(out="run").metrics.status == "finished"


@pytest.mark.parametrize(
    ("error", "asked"),
    [
        (MemoryError(), "more memory"),
        (MemoryError("Unable to allocate 8.00 TiB for an array with shape (1,)"), "8.00 TiB"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 4000000000 bytes."), "4 GB"),
        (RuntimeError("CUDA out of memory. Tried to allocate 2.50 GiB"), "2.50 GiB"),
    ],
)
def test_what_the_system_refuses_is_told(error: BaseException, asked: str) -> None:
    with pytest.raises(Refusal) as refused, told_room():
        raise error
    (item,) = refused.value.diagnostics
    assert (item.code, item.fact["asked"]) == ("PD662", asked)


def test_other_errors_are_left_alone() -> None:
    with pytest.raises(RuntimeError, match="shape"), told_room():
        raise RuntimeError("a shape")


def test_there_is_some() -> None:
    assert available() > 2**20
    check_room("little", 10, 4)
    assert [amount(count) for count in (0, 999, 1000, 48_000_000_000, 10**30)] == [
        "0 bytes",
        "999 bytes",
        "1 kB",
        "48 GB",
        "1e+12 EB",
    ]


def test_a_name_that_the_system_refuses(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["check", "x" * 300], ["run", "small.pdual", "--out", "y" * 300], ["report", "z" * 300]):
        perform(command)
        said = capsys.readouterr()
        assert "PD999" not in said.out + said.err
    assert perform(["check", "x" * 300]) != 0
    said = "".join(capsys.readouterr())
    assert "error[PD703]: `xxxx" in said
    assert "cannot be read: file name too long" in said


@pytest.mark.parametrize(
    "option", [["--seed", str(2**64)], ["--threads", "100000000"], ["--threads", "0"], ["--seed", "-1"]]
)
def test_numbers_that_no_machine_takes(capsys: pytest.CaptureFixture[str], option: list[str]) -> None:
    assert perform(["run", "opf30", *option]) == 2
    assert f"{option[0]}" in capsys.readouterr().err


def test_a_folder_whose_name_the_system_refuses(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "fine.pdual").write_text(SPEC.format(model="mlp(hidden = [8])", dual="pointwise(cap = 1)"))
    assert perform(["run", "fine.pdual", "-q", "--out", "y" * 300]) != 0
    said = "".join(capsys.readouterr())
    assert f"error[PD717]: the system does nothing with `{'y' * 200}...`: file name too long" in said
