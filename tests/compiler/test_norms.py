"""Which terms are sums of squared norms, and that following them without a backward pass changes nothing."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from pdual.compiler.assemble import data_free_terms
from pdual.dsl.spans import Source
from pdual.runtime.data.context import SourceContext
from pdual.runtime.optimisation.optimisers import ScheduledOptimiser
from pdual.understanding import understand

SPEC = """problem p "norms"
param c = 0.5
data rows = csv("rows.csv") {{ x: real }}
model f(x: real) -> real = mlp(hidden = [3])
model g(x: real) -> real = linear()
minimize {objective}
over d in rows {{
  minimize (f(d.x) + g(d.x))^2
}}
solve {{ outer = 1 }}
"""


def term(objective: str) -> Any:
    understood = understand(Source("p.pdual", SPEC.format(objective=objective)), context=SourceContext())
    assert understood.graph is not None, understood.diagnostics
    torch.manual_seed(0)
    models = nn.ModuleDict({"f": nn.Linear(1, 3), "g": nn.Linear(1, 1)}).double()
    (found,) = data_free_terms(understood.graph, models, torch.float64)
    return found, models


@pytest.mark.parametrize(
    ("objective", "norms"),
    [
        ("squared_norm(f)", {"f": 1.0}),
        ("c / 2 * squared_norm(f)", {"f": 0.25}),
        ("squared_norm(f) / 4 - c * squared_norm(g)", {"f": 0.25, "g": -0.5}),
        ("-(squared_norm(f) + squared_norm(f))", {"f": -2.0}),
        ("(squared_norm(f) + squared_norm(g)) * 3 scale 2", {"f": 1.5, "g": 1.5}),
    ],
)
def test_a_sum_of_squared_norms_is_seen_and_has_the_slope_of_a_backward_pass(
    objective: str, norms: dict[str, float]
) -> None:
    found, models = term(objective)
    assert found.norms == pytest.approx(norms)
    value = found.evaluate(models)
    slopes = torch.autograd.grad(value, [weight for name in norms for weight in models[name].parameters()])
    from pdual.dsl.declarations.optimisers import SgdSettings
    from pdual.dsl.declarations.references import OptimiserUse

    optimiser = ScheduledOptimiser(OptimiserUse("sgd", SgdSettings(lr=1.0)), models.parameters(), 1)
    before = [weight.detach().clone() for name in norms for weight in models[name].parameters()]
    for name, weight in found.norms.items():
        optimiser.decay(models[name].parameters(), weight)
    assert float(optimiser.with_decay(torch.zeros((), dtype=torch.float64))) == pytest.approx(float(value.detach()))
    optimiser.advance()
    after = [weight.detach() for name in norms for weight in models[name].parameters()]
    for old, new, slope in zip(before, after, slopes, strict=True):
        torch.testing.assert_close(old - new, slope)


@pytest.mark.parametrize("objective", ["squared_norm(f)^2", "squared_norm(f) + 1", "sqrt(squared_norm(f))"])
def test_anything_else_is_left_to_a_backward_pass(objective: str) -> None:
    found, models = term(objective)
    assert found.norms is None
    assert found.evaluate(models).requires_grad
