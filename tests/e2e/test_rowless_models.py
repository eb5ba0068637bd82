"""Values that are the same on every row, from the command line and from Python: what is said of them, and what is written."""

from __future__ import annotations

import csv
import io
from math import sin
from pathlib import Path
from typing import Any

import pytest
import torch
from running import say
from torch import nn

import pdual

ROWS = [sin(1.7 * n) * 3 for n in range(52)]
HEAD = 'problem p "a test"\ndata rows = csv("rows.csv", split = [1, 0, 0]) { x: real }\n'
BODY = {
    "metric": """model c(one: real) -> real = linear()
over r in rows {
  minimize (c(ONE) - 3)^2
  metric value = c(ONE)
  metric field = r.x
}
solve { outer = 20 descent = adam(lr = 5e-2, batch = 16, epochs = 5) }
""",
    "preconditioned": """model c(one: real) -> real = preconditioned(mlp(hidden = [4]))
over r in rows {
  minimize (c(ONE) - 3)^2 + 0 * r.x
  subject to low: c(ONE) <= 2
  dual low = pointwise(cap = 100)
  metric value = c(ONE)
}
solve { outer = 20 descent = adam(lr = 1e-2, batch = 16, epochs = 5) }
""",
    "average": """model c(one: real) -> real = linear()
over r in rows { minimize c(ONE)^2 }
subject to up: mean[r in rows](c(ONE) + 0 * r.x) >= 2
solve { outer = 4 descent = adam(lr = 5e-2, batch = 16, epochs = 5) }
""",
    "constraint": """model c(one: real) -> real = linear()
over r in rows {
  let top = c(ONE)
  minimize top
  subject to above: top >= sin(r.x)
  metric value = top
}
solve { outer = 4 rho = 10.0 descent = adam(lr = 2e-2, batch = 16, epochs = 5, schedule = cosine()) }
""",
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "rows.csv").write_text("x\n" + "".join(f"{x:.6f}\n" for x in ROWS))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", BODY)
def test_a_constant_call_is_that_with_the_constant_from_the_row(here: Path, name: str) -> None:
    found = []
    for one in ("1", "0 * r.x + 1"):
        (here / "spec.pdual").write_text(HEAD + BODY[name].replace("ONE", one))
        run = pdual.load("spec.pdual").solve(out=here / f"run {len(found)}")
        found.append(run.metrics.model_dump(include={"splits"})["splits"]["train"])
    one, other = map(numbers, found)
    assert len(one) > 3
    assert one == pytest.approx(other, rel=1e-4, abs=1e-6, nan_ok=True)
    if name == "metric":
        assert found[0]["metrics"]["value"]["mean"] == pytest.approx(3, abs=1e-3)


def numbers(found: Any) -> list[float]:
    """All numbers of a document, in order."""
    if isinstance(found, dict | list | tuple):
        items = found.values() if isinstance(found, dict) else found
        return [number for item in items for number in numbers(item)]
    return [float(found)] if isinstance(found, int | float) else []


@pytest.mark.parametrize("use", ["linear()", "mlp(hidden = [4])", "free()"])
def test_a_model_without_inputs_is_one_number_for_all_rows(here: Path, use: str) -> None:
    (here / "spec.pdual").write_text(
        HEAD + f"model top() -> real = {use}\n" + "over r in rows { minimize (top() - r.x)^2  metric value = top() }\n"
        "solve { outer = 6 descent = adam(lr = 5e-2, batch = 52, epochs = 60) }\n"
    )
    run = pdual.load("spec.pdual").solve(out=here / "run")
    value = run.metrics.splits["train"].metrics["value"]
    assert value.mean == pytest.approx(sum(ROWS) / len(ROWS), abs=2e-2)
    assert value.std == 0
    (said,) = run.predict("top", {}).values()
    assert said.tolist() == pytest.approx([value.mean])


WITHOUT = """model w() -> real[2] = mlp(hidden = [3], activation = tanh)
model u() -> { low: real in [0, 1], high: real } = free(start = 0.5)
model f(x: real) -> real = linear()
over r in rows {
  minimize (w()[1] - 1)^2 + (u().low - 0.25)^2 + (f(r.x) - r.x)^2 + (f(1) - 2)^2
  subject to
    one[i in [0, 1]]: w()[i] <= 0.5
    two: u().high >= r.x / 9
  dual one = learned(mlp(hidden = [4]), on = features(w()), cap = 10)
  dual two = learned(mlp(hidden = [4]), on = w(), cap = 10)
}
solve { outer = 2 descent = adam(lr = 5e-2, batch = 16, epochs = 2) }
"""


def test_they_are_predicted_scored_exported_verified_and_reported(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = WITHOUT.replace("one[i in [0, 1]]: w()[i]", "one: w()[0]")
    (here / "spec.pdual").write_text(HEAD + text)
    assert say(capsys, "run", "spec.pdual", "--out", "run", "-q").code == 0
    rows = list(csv.DictReader(io.StringIO(say(capsys, "predict", "run", "--data", "rows.csv", "-q").out)))
    assert len(rows) == len(ROWS)
    assert {"f", "f (2)", "w.0", "w.1", "u.low", "u.high"} <= rows[0].keys()
    for name in ("f (2)", "w.0", "u.low"):
        assert len({row[name] for row in rows}) == 1
    assert len({row["f"] for row in rows}) > 40
    assert len(say(capsys, "score", "run", "--data", "rows.csv", "-q").out.splitlines()) == 1 + len(ROWS)
    assert say(capsys, "report", "run", "-q").code == 0
    assert say(capsys, "verify", "spec.pdual", "--examples", "6", "-q").code == 0
    assert say(capsys, "verify", "--run", "run", "--examples", "6", "-q").code == 0
    assert "R      none" in say(capsys, "bounds", "--run", "run").out  # of rows that move together no rate is claimed


def test_a_program_without_inputs_gives_one_row(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    onnx = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: pip install 'pdual[export]'")
    pytest.importorskip("onnxscript", reason="onnxscript is not installed: pip install 'pdual[export]'")
    (here / "spec.pdual").write_text(
        HEAD + "model w() -> real[2] = linear()\nover r in rows { minimize (w()[0] - r.x)^2 }\n"
    )
    run = pdual.load("spec.pdual").solve(out=here / "run")
    assert say(capsys, "export", "run").err == ""
    (found,) = onnx.InferenceSession("run/export/w.onnx").run(None, {})
    assert found.shape == (1, 2)
    assert found[0].tolist() == pytest.approx(run.predict("w", {})[""][0].tolist())
    loaded = torch.export.load("run/export/w.pt2").module()()[0]
    assert loaded[0].tolist() == pytest.approx(found[0].tolist())


TABLE = (
    HEAD.replace("[1, 0, 0]", "[0.6, 0.2, 0.2]")
    + """model u(x: real) -> real = free()
over r in rows {
  minimize (u(r.x) - r.x)^2
  subject to most: u(r.x) >= -r.x
}
solve { outer = 2 descent = adam(lr = 5e-2, batch = 64, epochs = 2) }
"""
)


def test_a_table_of_rows_says_that_others_are_its_start(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    start = "`u` holds a value of every train row: on other splits it says its start, which nothing trained"
    (here / "spec.pdual").write_text(TABLE)
    assert start in say(capsys, "run", "spec.pdual", "--out", "run").out
    told = say(capsys, "predict", "run", "--data", "rows.csv")
    assert told.code == 2
    assert "error[PD732]: model `u` holds a vector for every train row, and none for a new one" in told.err
    (here / "spec.pdual").write_text(TABLE.replace("[0.6, 0.2, 0.2]", "[1, 0, 0]"))
    run = pdual.load("spec.pdual").solve(out=here / "other")
    assert run.outcome.verdict.at_start == ()
    with pytest.raises(pdual.ProblemError, match="PD732"):
        run.predict("u", {"x": torch.zeros(2)})
    (here / "spec.pdual").write_text(TABLE.replace("u(x: real)", "u()").replace("u(r.x)", "u()"))
    assert start not in say(capsys, "run", "spec.pdual", "--out", "global").out


class Number(nn.Module):
    """Numbers of this shape, and no input."""

    def __init__(self, *shape: int) -> None:
        super().__init__()
        self.value = nn.Parameter(torch.zeros(shape))

    def forward(self) -> torch.Tensor:
        return self.value


@pytest.mark.parametrize("shape", [(), (1,)])
def test_a_module_without_inputs_may_leave_out_the_batch(here: Path, shape: tuple[int, ...]) -> None:
    (here / "spec.pdual").write_text(
        HEAD + "model top() -> real\nmodel vec() -> real[2]\nmodel c(one: real) -> real\n"
        "over r in rows { minimize (top() - 2)^2 + (vec()[1] - 1)^2 + (c(1) - 3)^2 + (f(1, r.x) - r.x)^2  metric value = c(1) }\n"
        "model f(one: real, x: real) -> real = linear()\n"
        "solve { outer = 4 descent = adam(lr = 5e-2, batch = 16, epochs = 40) }\n"
    )
    given = {"top": Number(*shape), "vec": Number(2), "c": nn.Linear(1, 1)}
    run = pdual.load("spec.pdual", models=given).solve(out=here / "run")
    assert run.metrics.splits["train"].metrics["value"].mean == pytest.approx(3, abs=1e-2)
    assert run.predict("top", {})[""].tolist() == pytest.approx([2], abs=1e-2)
    assert run.predict("vec", {})[""].tolist()[0] == pytest.approx([0, 1], abs=1e-2)
