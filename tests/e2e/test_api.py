from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

import pdual
from pdual.runtime.models.interface import ModelOutput

SPEC = """problem small "A line through points"
param slack = 9.0
data points = csv("points.csv", split = [0.5, 0, 0.5]) { x: real, y: real }
model f(x: real) -> realARCHITECTURE
over p in points {
  let guess = f(p.x)
  minimize (guess - p.y)^2
  subject to near: guess <= p.y + slack
}
solve { outer = 2, descent = adam(lr = 1e-2, batch = 4, steps = 3) }
"""


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    (tmp_path / "points.csv").write_text("x,y\n" + "".join(f"{n},{n / 2}\n" for n in range(8)))
    (tmp_path / "small.pdual").write_text(SPEC.replace("ARCHITECTURE", " = linear()"))
    (tmp_path / "open.pdual").write_text(SPEC.replace("ARCHITECTURE", ""))
    return tmp_path / "small.pdual"


def test_load_solve_ask(spec: Path, tmp_path: Path):
    problem = pdual.load(spec, params={"slack": 8})
    assert repr(problem) == "<Problem small: 1 multipliers a row of points>"
    assert "near  guess - (p.y + slack) <= 0" in problem.explain()
    run = problem.solve(out=tmp_path / "out", seed=3)
    assert run.feasible
    assert run.folder == tmp_path / "out"
    assert run.metrics.splits["test"].rows == 4
    assert {name: tuple(value.shape) for name, value in run.multipliers("train").items()} == {"near": (4, 1)}
    assert torch.isnan(run.multipliers("test")["near"]).all()
    assert "run folder" in run._repr_html_()


def test_what_is_odd_about_a_spec_is_a_warning(spec: Path) -> None:
    spec.write_text(SPEC.replace("ARCHITECTURE", " = linear()").replace("slack = 9.0", "slack = 9.0\nparam idle = 1"))
    with pytest.warns(pdual.ProblemWarning) as found:
        pdual.load(spec)
    (told,) = found
    assert "warning[PD" in str(told.message)
    assert "param idle = 1" in str(told.message)
    assert told.filename == __file__


def test_predictions_are_those_of_the_trained_model(spec: Path, tmp_path: Path):
    run = pdual.load(spec).solve(out=tmp_path / "out")
    x = torch.tensor([0.0, 1.0, 2.0])
    (found,) = run.predict("f", {"x": x}).values()
    # A line: equal steps in x are equal steps in the prediction.
    assert found.shape == (3,)
    torch.testing.assert_close(found[2] - found[1], found[1] - found[0])


def test_a_model_may_come_from_python(spec: Path, tmp_path: Path):
    class Double(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.factor = nn.Parameter(torch.tensor(2.0))

        def forward(self, inputs: dict[str, torch.Tensor]) -> ModelOutput:
            return ModelOutput({"": self.factor * inputs["x"]}, {})

    run = pdual.load(spec.with_name("open.pdual"), models={"f": Double()}).solve(out=tmp_path / "out")
    assert run.metrics.status == "finished"


def test_mistakes_read_as_on_the_command_line(spec: Path):
    with pytest.raises(pdual.ProblemError, match=r"error\[PD701\]: there is no spec") as missing:
        pdual.load(spec.with_name("smal.pdual"))
    assert missing.value.diagnostics[0].code == "PD701"
    with pytest.raises(pdual.ProblemError, match=r"(?s)error\[PD705\].*did you mean `pointwise`"):
        pdual.load(spec, dual="pointwize")
    with pytest.raises(pdual.ProblemError, match=r"error\[PD710\]: `g` is given from Python"):
        pdual.load(spec, models={"g": nn.Linear(1, 1)})
    with pytest.raises(AttributeError, match="no attribute 'lode'"):
        _ = pdual.lode


def test_there_is_a_neighbour_that_is_fine(spec: Path):
    assert pdual.load(spec, dual="pointwise").graph.data[0].duals[0].kind == "pointwise"
