"""Joins whose map is a field: every row sends the members elsewhere."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from pdual.compiler.assemble import assemble
from pdual.compiler.compile import lower
from pdual.dsl.pipeline import read
from pdual.dsl.spans import Source
from pdual.runtime.models.interface import ModelOutput

SPEC = """
problem join "a join by a field"
set side = 0..2
set place = 0..1
data a { to: place[side], x: real[side] in [1, 2] }
model f(x: real[side]) -> real = mlp(hidden = [4])
over r in a {
  minimize f(r.x)
  subject to
    never[j in place]: sum[i in side where r.to[i] == j](r.x[i]) <= 7 + 0 * f(r.x)
    maybe[j in place]: sum[i in side where r.to[i] == j](r.x[i]) <= 3 + 0 * f(r.x)
}
"""


class First(nn.Module):
    """Its first input."""

    def forward(self, inputs: dict[str, Tensor]) -> ModelOutput:
        return ModelOutput({"": inputs["x"][:, 0]}, {})


def test_a_member_may_land_anywhere_and_does_where_the_row_says() -> None:
    spec, found = read(Source("join.pdual", SPEC))
    assert spec is not None, found
    graph, more = lower(spec, {})
    # Up to three values of at most 2 land on a place: 7 is out of reach, 3 is not.
    # Neither is moved by a weight; of one that always holds it is not said.
    assert [(item.code, dict(item.facts)["family"]) for item in more] == [("PD301", "never"), ("PD307", "maybe")]
    part = next(item for item in graph.data[0].parts if item.layout.family == "maybe")
    assert [(round(i.lo, 9), round(i.hi, 9)) for i in part.intervals] == [(-3, 3), (-3, 3)]

    (program,) = assemble(graph, nn.ModuleDict({"f": First()}), torch.float64)
    x = torch.tensor([[1.0, 1.5, 2.0], [1.25, 1.5, 1.75]], dtype=torch.float64)
    rows = program.train({"x": x, "to": torch.tensor([[0, 1, 1], [1, 1, 1]])}, torch.arange(2))
    own = rows.residuals.detach()[:, 2:] * torch.tensor(part.layout.scale, dtype=torch.float64)
    expected = torch.tensor([[1.0 - 3, 3.5 - 3], [-3.0, 4.5 - 3]], dtype=torch.float64)
    torch.testing.assert_close(own, expected, rtol=0, atol=1e-12)
