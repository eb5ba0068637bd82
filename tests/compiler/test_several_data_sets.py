"""Specs with several data sets: nothing that is remembered of one may speak for the other."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from pdual.compiler.assemble import assemble, data_free_terms
from pdual.compiler.compile import lower
from pdual.dsl.pipeline import read
from pdual.dsl.spans import Source
from pdual.runtime.models.interface import ModelOutput

TWO = """
problem two "two data sets with a field of one name"
set side = 0..1
data a {{ x: real in [0, 1] }}
data b {{ x: real in [5, 6] }}
model f(x: real) -> real = mlp(hidden = [4])
over r in a {{
  minimize f(r.x)
  subject to one[j in side]: r.x * (2 if j == 0 else 3) <= 3 + 0 * f(r.x)
}}
over r in b {{
  minimize 2 * f(r.x)
  subject to two[j in side]: r.x * (4 if j == 0 else 5) <= {bound} + 0 * f(r.x)
}}
minimize squared_norm(f) / 2 scale 4
minimize squared_norm(f) scale 10
"""


class Square(nn.Module):
    """Its square, with one weight for the norm."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.tensor(3.0, dtype=torch.float64))

    def forward(self, inputs: dict[str, Tensor]) -> ModelOutput:
        return ModelOutput({"": inputs["x"] ** 2}, {})


def lowered(bound: float) -> tuple[Any, list[str]]:
    spec, found = read(Source("two.pdual", TWO.format(bound=bound)))
    assert spec is not None, found
    graph, more = lower(spec, {})
    return graph, [item.code for item in more]


@pytest.mark.parametrize(
    ("bound", "codes"),
    [(22, ["PD301", "PD302", "PD307"]), (26, ["PD301", "PD301", "PD307", "PD307"]), (31, ["PD301", "PD301", "PD307"])],
)
def test_ranges_are_those_of_the_data_set_at_hand(bound: float, codes: list[str]) -> None:
    """a: 2 x and 3 x are at most 3; b: 4 x is in [20, 24] and 5 x in [25, 30]."""
    graph, found = lowered(bound)
    assert sorted(found) == codes
    one, two = (data.parts[0].intervals for data in graph.data)
    assert [(round(i.lo, 9), round(i.hi, 9)) for i in one] == [(-3, -1), (-3, 0)]
    assert [(round(i.lo, 9), round(i.hi, 9)) for i in two] == [(20 - bound, 24 - bound), (25 - bound, 30 - bound)]


def test_constants_and_values_are_those_of_the_data_set_at_hand() -> None:
    graph, _ = lowered(31)
    models = nn.ModuleDict({"f": Square()})
    first, second = assemble(graph, models, torch.float64)
    x = torch.tensor([0.5, 1.0], dtype=torch.float64)
    ids = torch.arange(2)
    ones, twos = first.train({"x": x}, ids), second.train({"x": x}, ids)
    scales = [data.parts[0].layout.scale for data in graph.data]
    assert scales == [
        pytest.approx((3.0, 3.0)),
        pytest.approx((11.0, 6.0)),
    ]  # from the bound to where the quantity's own range ends
    for found, scale, expected in (
        (ones, scales[0], [[-2.0, -1.5], [-1.0, 0.0]]),
        (twos, scales[1], [[-29.0, -28.5], [-27.0, -26.0]]),
    ):
        own = found.residuals.detach() * torch.tensor(scale, dtype=torch.float64)
        torch.testing.assert_close(own, torch.tensor(expected, dtype=torch.float64), rtol=0, atol=1e-12)
    assert ones.objective is not None
    assert twos.objective is not None
    assert ones.objective.tolist() == [0.25, 1.0]
    assert twos.objective.tolist() == [0.5, 2.0]


def test_every_term_without_data_is_divided_by_its_own_scale() -> None:
    graph, _ = lowered(31)
    models = nn.ModuleDict({"f": Square()})
    terms = data_free_terms(graph, models, torch.float64)
    assert [float(term.evaluate(models).detach()) for term in terms] == [9 / 8, 0.9]
    assert graph.objective_scale == 1.0  # of 1, 4 and 10: no common one
