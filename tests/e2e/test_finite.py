"""A number that is not finite, through the commands: refused where it stands, in a row told with its numbers, switched off only where it is declared."""

from __future__ import annotations

from pathlib import Path

import pytest
from running import say

SPEC = """problem p "a test"
param open = inf in [0, inf]
data d = csv("d.csv", split = [0.6, 0.2, 0.2]) {{ x: real, y: real }}
model f(x: real) -> real = linear()
over r in d {{
  minimize (f(r.x) - r.x)^2 + 0 * r.y
  subject to
    close: {bound}
  dual close = pointwise(cap = 10)
}}
solve {{ outer = 2, descent = adam(lr = 3e-3, batch = 8, epochs = 2) }}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rows = [f"{number / 50},{0 if number % 7 == 3 else 1}" for number in range(50)]
    (tmp_path / "d.csv").write_text("\n".join(["x,y", *rows, ""]), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(folder: Path, bound: str) -> str:
    (folder / "p.pdual").write_text(SPEC.format(bound=bound), encoding="utf-8")
    return "p.pdual"


@pytest.mark.parametrize(("bound", "found"), [("1 / r.y", "infinite"), ("exp(1e9 * (1 - r.y))", "infinite")])
def test_a_row_without_a_bound_stops_the_run(
    bound: str, found: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = say(capsys, "run", written(folder, f"f(r.x) <= {bound}"), "-q", "--out", "run")
    assert said.code == 1
    assert "error[PD312]: `close[" in said.err
    assert f"is {found}" in said.err
    assert "`y = 0`" in said.err
    assert "feasible" not in said.out


def test_a_row_inside_does_not(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = say(capsys, "run", written(folder, "f(r.x) <= 1 / max(r.y, 0.01)"), "-q", "--out", "run")
    assert said.code == 0, said.err


def test_what_is_switched_off_is_counted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = written(folder, "-9 <= f(r.x) <= open")
    assert "close.upper  0        1 infinite" in say(capsys, "explain", spec).out
    said = say(capsys, "run", spec, "-q", "--out", "run")
    assert "switched off by an infinite bound, and not counted: close.upper 1" in said.out
    (folder / "json").mkdir()
    again = say(capsys, "run", spec, "-q", "--json", "--out", "json/run")
    assert again.json["verdict"]["switched_off"] == {"close.upper": 1}


def test_a_constraint_that_is_gone_is_a_warning_and_no_feasible_run(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = written(folder, "f(r.x) <= open")
    said = say(capsys, "check", spec)
    assert (said.code, "warning[PD311]" in said.out) == (0, True)
    run = say(capsys, "run", spec, "-q", "--out", "run")
    assert "no constraints: there was nothing to be met" in run.out
    assert not run.out.startswith("feasible")


def test_set_can_make_a_bound_infinite(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = written(folder, "f(r.x) <= 1 / open")
    assert say(capsys, "check", spec).code == 0
    said = say(capsys, "check", spec, "--set", "open=0")
    assert said.code == 1
    assert "error[PD310]" in said.out
    assert "with `open = 0`" in said.out


@pytest.mark.parametrize("bound", ["f(1) + 1/0 <= r.x", "r.x <= f(1) * (1/0)", "f(f(1)) <= exp(1e9)"])
def test_a_number_beside_a_call_that_no_row_changes_is_refused_too(
    bound: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Such a call is no constant: what it is added to, and multiplied by, is looked at."""
    said = say(capsys, "check", written(folder, bound))
    assert said.code == 1
    assert "error[PD310]" in said.out
