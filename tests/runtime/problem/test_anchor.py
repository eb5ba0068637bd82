"""The point and the metric that ``preconditioned`` models start from, against closed forms."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from pdual.compiler.compile import lower
from pdual.dsl.pipeline import read
from pdual.dsl.spans import Source
from pdual.runtime.data.tables import ColumnTable
from pdual.runtime.models.preconditioned import Preconditioned
from pdual.runtime.problem.anchor import feasible, jacobian
from pdual.runtime.problem.prepare import prepare
from pdual.runtime.problem.problem import Problem

SPEC = """
problem stiff "two numbers that a stiff balance ties to the row"
set side = 0..1
data d {{ x: real }}
model f(x: real) -> {output} = preconditioned(mlp(hidden = [8]){settings})
over r in d {{
  let y = f(r.x)
  minimize y[0] + y[1]
  subject to
    balance: 50 * (y[0] - y[1]) == 50 * r.x
    box[j in side]: -1 <= y[j] <= 3
}}
solve {{ outer = 2, rho = 8.0, rho_equal = 2.0, descent = adam(lr = 1e-2, batch = 4) }}
"""


def rows(z: Tensor) -> ColumnTable:
    ids = torch.arange(len(z))
    return ColumnTable({"x": z}, {"train": ids[:-1], "test": ids[-1:]}, "hand")


def prepared(output: str = "real[side]", settings: str = "") -> Problem:
    spec, found = read(Source("stiff.pdual", SPEC.format(output=output, settings=settings)))
    assert spec is not None, found
    graph, _ = lower(spec, {})
    torch.manual_seed(0)
    return prepare(graph, {"d": rows(torch.tensor([0.0, 1.0, 2.0, 3.0, 40.0], dtype=torch.float64))}, torch.float64, {})


def model_of(problem: Problem) -> Preconditioned:
    model = problem.models["f"]
    assert isinstance(model, Preconditioned)
    return model


def test_slopes_of_every_row() -> None:
    def residuals(y: Tensor) -> Tensor:
        return torch.stack([y[:, 0] ** 2, y[:, 0] * y[:, 1], 3 * y[:, 1], y.sum(1)], 1)

    point = torch.tensor([[1.0, 2.0], [3.0, -1.0]], dtype=torch.float64)
    expected = [[[2, 0], [2, 1], [0, 3], [1, 1]], [[6, 0], [-1, 3], [0, 3], [1, 1]]]
    assert jacobian(residuals, point).tolist() == expected


def test_a_point_that_meets_the_constraints() -> None:
    """x^2 + y^2 == 1 and y <= 0.6 and 0.8 <= x, from (2, 2): (0.8, 0.6) alone, where both bounds meet the circle or inside."""

    def residuals(y: Tensor) -> Tensor:
        return torch.stack([y.square().sum(1) - 1, y[:, 1] - 0.6, 0.8 - y[:, 0]], 1)

    start = torch.tensor([[2.0, 2.0], [0.9, 0.1]], dtype=torch.float64)
    equal = torch.tensor([True, False, False])
    found = feasible(residuals, start, torch.tensor([100.0, 10.0, 10.0], dtype=torch.float64), equal)
    missed = torch.where(equal, residuals(found).abs(), residuals(found).clamp(min=0))
    assert float(missed.max()) < 1e-6
    torch.testing.assert_close(found[1], start[1], atol=0.12, rtol=0)  # the nearest way, not any


def test_what_cannot_be_met_is_met_as_well_as_it_can_be() -> None:
    def residuals(y: Tensor) -> Tensor:
        return torch.cat([y - 1, y - 3], 1)

    found = feasible(residuals, torch.zeros(1, 1).double(), torch.tensor([1.0, 3.0]).double(), torch.ones(2).bool())
    assert float(found) == pytest.approx(2.5, abs=1e-6)


def test_the_metric_is_that_of_the_constraints() -> None:
    """Scaled rows: 50 y0 - 50 y1 by rho_equal 2; every side of a box of width 4 by rho 8, twice."""
    model = model_of(prepared())
    balance = 2.0 * 50**2
    metric = torch.tensor([[balance + 1, -balance], [-balance, balance + 1]], dtype=torch.float64)
    values, vectors = torch.linalg.eigh(metric)
    expected = vectors @ torch.diag(values.rsqrt()) @ vectors.T
    torch.testing.assert_close(model.spread.double(), expected, atol=1e-6, rtol=1e-6)


def test_the_anchor_is_the_mean_of_points_that_meet_the_constraints_of_train_rows() -> None:
    """y0 - y1 == x at x = 0, 1, 2, 3 from y = 0 (the test row's 40 is not looked at): the mean difference is 1.5."""
    model = model_of(prepared())
    assert float(model.anchor[0] - model.anchor[1]) == pytest.approx(1.5, abs=1e-5)
    some = model_of(prepared(settings=", rows = 2"))
    assert float(some.anchor[0] - some.anchor[1]) == pytest.approx(0.5, abs=1e-5)


def test_inputs_are_shown_in_their_own_spread() -> None:
    model = model_of(prepared())
    shown = model.standardised({"x": torch.tensor([0.0, 1.0, 2.0, 3.0], dtype=torch.float64)})["x"]
    assert float(shown.mean()) == pytest.approx(0, abs=1e-12)
    assert float(shown.std(correction=0)) == pytest.approx(1, abs=1e-12)


def test_a_balance_learns_at_the_rate_of_everything_else() -> None:
    """The slope of the scaled balance in what the network says is at most 1 in the norm of rho."""
    problem = prepared()
    model = model_of(problem)
    slopes = torch.tensor([50.0, -50.0], dtype=torch.float64) * 2.0**0.5 @ model.spread.double()
    assert float(slopes.norm()) == pytest.approx(1.0, abs=1e-3)


def test_everything_is_part_of_the_state() -> None:
    model, other = model_of(prepared()), model_of(prepared(settings=", rows = 1"))
    other.load_state_dict(model.state_dict())
    x = {"x": torch.tensor([0.3, 2.5], dtype=torch.float64)}
    torch.testing.assert_close(other(x).outputs[""], model(x).outputs[""])


def test_a_start_for_each_output() -> None:
    from pdual.dsl.declarations.architecture_preconditioned import PreconditionedSettings
    from pdual.dsl.declarations.references import ArchitectureUse
    from pdual.runtime.models.values import Slot

    class Zero(nn.Module):
        def forward(self, inputs: Any) -> Any:
            from pdual.runtime.models.interface import ModelOutput

            n = len(inputs["x"])
            return ModelOutput({"v.re": torch.zeros(n, 2), "v.im": torch.zeros(n, 2), "s": torch.zeros(n)}, {})

    slots = (Slot(("v.re", "v.im"), (2,), 4, None, None), Slot(("s",), (), 1, None, None))
    settings = PreconditionedSettings(proposer=ArchitectureUse("mlp", PreconditionedSettings), start=(1.0, 0.25))  # type: ignore[arg-type]
    found = Preconditioned(Zero(), (), slots, settings)({"x": torch.zeros(3)}).outputs
    assert found["v.re"].tolist() == [[1.0, 1.0]] * 3
    assert found["v.im"].tolist() == [[0.0, 0.0]] * 3
    assert found["s"].tolist() == [0.25] * 3
