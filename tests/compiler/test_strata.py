"""Which terms over groups a part of a group tells without a bias, and which rows their filters keep."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from pdual.compiler.assemble import assemble
from pdual.compiler.compile import lower
from pdual.dsl.diagnostics import Refusal
from pdual.dsl.pipeline import read
from pdual.dsl.spans import Source

SPEC = """
problem p "groups"
set k = 0..1
param alpha = 2.0
data d {{ x: real, w: real[k], task: id, good: bool }}
model f(x: real) -> real = mlp(hidden = [4])
over group t of d by task {{
  let s[p in t] = f(p.x)
  {statement}
}}
over r in d {{
  subject to one: f(r.x) <= 1
}}
solve {{
  descent = adam(lr = 1e-3, batch = 32{members})
}}
"""

X = torch.tensor([-1.0, 0.5, 2.0, -3.0])
GOOD = torch.tensor([True, False, True, False])
ALL, WIDE = torch.ones(4, dtype=torch.bool), torch.tensor([True, False, True, True])


def lowered(statement: str, members: str = ", members = 4"):  # type: ignore[no-untyped-def]
    spec, _ = read(Source("g.pdual", SPEC.format(statement=statement, members=members)))
    assert spec is not None
    return lower(spec, {})[0]


@pytest.mark.parametrize(
    ("statement", "means", "kept"),
    [
        (
            "minimize mean[a in t where a.good, b in t where not b.good](softplus(s[b] - s[a]))",
            ((0, 1),),
            [GOOD, ~GOOD],
        ),
        ("minimize mean[a in t](s[a]^2)", ((0,),), [ALL]),
        ("minimize alpha * mean[a in t](s[a]) - mean[a in t where a.good](s[a]) / 3", ((0,), (1,)), [ALL, GOOD]),
        ("let m = mean[a in t where a.good and a.x > 0](s[a])\n  minimize -m", ((0,),), [GOOD & (X > 0)]),
        ("minimize mean[a in t where abs(a.x) + a.w[1] > 0.7](s[a])", ((0,),), [WIDE]),
        ("minimize mean[a in t](sum[j in k](a.w[j] * s[a]))", ((0,),), [ALL]),
        ("minimize 3", (), []),
    ],
)
def test_means_have_strata(statement: str, means: tuple[tuple[int, ...], ...], kept: list[torch.Tensor]) -> None:
    models = nn.ModuleDict({"f": nn.Identity()})
    (program,) = assemble(lowered(statement), models, torch.float64)
    if not means:
        assert program.strata is None
        return
    assert program.strata is not None
    assert program.strata.means == means
    values = {"x": X.double(), "w": torch.zeros(4, 2, dtype=torch.float64), "good": GOOD, "task": torch.zeros(4).long()}
    assert torch.equal(program.strata.kept(values, torch.arange(4)), torch.stack(kept, 1))


@pytest.mark.parametrize(
    "statement",
    [
        "minimize sum[a in t](s[a])",
        "minimize max[a in t](s[a])",
        "minimize (mean[a in t](s[a]))^2",
        "minimize mean[a in t](max[b in t](s[b] - a.x))",
        "minimize mean[a in t](s[a]) * mean[a in t](a.x)",
        "minimize mean[a in t](s[a]) / count[a in t](a.good)",
        "minimize mean[a in t](s[a]) + mean[a in t where s[a] > 0](a.x)",
        "minimize mean[a in t, b in t where b.x > a.x](s[a] - s[b])",
    ],
)
def test_what_a_part_tells_with_a_bias_is_refused(statement: str) -> None:
    with pytest.raises(Refusal, match="PD296"):
        lowered(statement)
    lowered(statement, members="")


def test_members_are_of_groups() -> None:
    text = 'problem p "rows"\ndata d { x: real }\nmodel f(x: real) -> real = linear()\nover r in d {\n  minimize f(r.x)^2\n}\n'
    spec, _ = read(Source("r.pdual", text + "solve {\n  descent = adam(lr = 1e-3, members = 4)\n}\n"))
    assert spec is not None
    with pytest.raises(Refusal, match="PD297"):
        lower(spec, {})
