"""Objectives over groups of rows: the compiled program against the scalar interpreter, group by group."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from test_interpreter import environment_of
from torch import Tensor, nn

from pdual.compiler.assemble import assemble
from pdual.compiler.compile import lower
from pdual.compiler.interpreter import EvaluationError, metric_of, objective_of, rows_of
from pdual.compiler.interpreter_scope import GroupValues, RowValues
from pdual.compiler.program import MEMBERS, PRESENT, ROWS, Evaluation
from pdual.dsl.diagnostics import Refusal
from pdual.dsl.pipeline import read
from pdual.dsl.spans import Source
from pdual.runtime.data.sampling import members_of
from pdual.runtime.models.interface import ModelOutput

SPEC = """
problem p "groups"
set k = 0..1
data d {{ x: real, w: real[k], task: id, good: bool }}
model f(x: real, w: real[k]) -> real = mlp(hidden = [4])
over group t of d by task {{
  let s[p in t] = f(p.x, p.w)
  let u[p in t] = s[p] * p.x
  {statement}
}}
over r in d {{
  let s = f(r.x, r.w)
  minimize s^2
  subject to one: s <= 1
}}
"""

STATEMENTS = [
    "minimize mean[a in t where a.good, b in t where not b.good](softplus(s[b] - s[a]))",
    "minimize mean[a in t](s[a])",
    "minimize sum[a in t](a.x * u[a]) / count[a in t](a.good)",
    "minimize max[a in t](s[a]) - min[a in t where a.good](a.x)",
    "minimize sum[a in t, b in t](abs(a.x - b.x)) scale 2",
    "minimize mean[a in t](max[b in t](s[b] - a.x))",
    "minimize sum[a in t](sum[j in k](a.w[j] * s[a]))",
    "minimize mean[a in t, b in t, c in t](s[a] * b.x - c.x)",
    "minimize (mean[a in t](s[a]))^2",
    "minimize 3",
]


class Model(nn.Module):
    """3 x + w0 - 2 w1, and how many rows it was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[int] = []

    def forward(self, inputs: dict[str, Tensor]) -> ModelOutput:
        self.asked.append(len(inputs["x"]))
        return ModelOutput({"": 3 * inputs["x"] + inputs["w"][:, 0] - 2 * inputs["w"][:, 1]}, {})


def scored(model: str, arguments: tuple[Any, ...]) -> float:
    x, w = arguments
    found: float = 3 * x + w[0] - 2 * w[1]
    return found


def lowered(statement: str) -> Any:
    spec, found = read(Source("p.pdual", SPEC.format(statement=statement)))
    assert spec is not None, found
    graph, _ = lower(spec, {})
    return graph


ROW = st.tuples(st.sampled_from([-1.0, 0.0, 0.5, 2.0]), st.sampled_from([-1.0, 0.25]), st.booleans())


@pytest.mark.parametrize("statement", STATEMENTS)
@settings(max_examples=12, deadline=None)
@given(groups=st.lists(st.lists(ROW, min_size=1, max_size=4), min_size=1, max_size=3))
def test_a_group_means_what_the_interpreter_says(statement: str, groups: Sequence[Sequence[Any]]) -> None:
    graph, model = lowered(statement), Model()
    (program,) = assemble(graph, nn.ModuleDict({"f": model}), torch.float64)
    rows = [row for group in groups for row in group]
    ids = torch.arange(len(rows))
    members, present = members_of([len(group) for group in groups], ids.device)
    values = {
        "x": torch.tensor([row[0] for row in rows], dtype=torch.float64),
        "w": torch.tensor([[row[1], row[0]] for row in rows], dtype=torch.float64),
        "task": torch.zeros(len(rows), dtype=torch.long),
        "good": torch.tensor([row[2] for row in rows]),
        MEMBERS: members,
        PRESENT: present,
    }
    found = Evaluation(*program.train(values, ids))
    assert model.asked == [len(rows)]  # one call serves the rows and their groups
    assert found.group_objective is not None
    assert found.objective is not None
    block = next(block for block in graph.spec.blocks if block.group_by)
    for position, group in enumerate(groups):
        units = [RowValues({"x": x, "w": [w, x], "task": 0, "good": good}, scored) for x, w, good in group]
        try:
            expected = objective_of(block, environment_of(graph.spec), GroupValues(units, scored))
        except EvaluationError:
            assert not math.isfinite(float(found.group_objective[position]))
            continue
        scale = graph.data[0].groups[0].objective[0].scale
        assert float(found.group_objective[position]) * scale == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_gradients_reach_the_model_through_both_indices() -> None:
    statement = STATEMENTS[0]
    graph = lowered(statement)
    weight = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)

    class Weighted(nn.Module):
        def forward(self, inputs: dict[str, Tensor]) -> ModelOutput:
            return ModelOutput({"": weight * inputs["x"]}, {})

    (program,) = assemble(graph, nn.ModuleDict({"f": Weighted()}), torch.float64)
    x = torch.tensor([1.0, -1.0, 3.0], dtype=torch.float64)
    members, present = members_of([3], x.device)
    values = {
        "x": x,
        "w": torch.zeros(3, 2),
        "good": torch.tensor([True, False, False]),
        MEMBERS: members,
        PRESENT: present,
    }
    found = Evaluation(*program.train(values, torch.arange(3)))
    assert found.group_objective is not None
    (slope,) = torch.autograd.grad(found.group_objective.sum(), weight)
    by_hand = sum(torch.sigmoid(0.5 * (b - 1.0)) * (b - 1.0) for b in (torch.tensor(-1.0), torch.tensor(3.0))) / 2
    assert float(slope) == pytest.approx(float(by_hand), rel=1e-6)


@pytest.mark.parametrize(
    "statement",
    [
        "minimize mean[a in t, b in t](f(a.x, b.w))",
        "minimize mean[a in t](f(a.x - mean[b in t](b.x), a.w))",
    ],
)
def test_a_model_is_called_on_one_row_of_a_group_at_a_time(statement: str) -> None:
    with pytest.raises(Refusal, match="PD291"):
        lowered(statement)


ASKED = """
  subject to
    two: -3 <= mean[a in t](s[a]) <= 1
    each[j in k]: max[a in t](a.w[j] * s[a]) - sum[a in t where a.good](u[a]) <= 2
    some[j in k where count[a in t where a.good](a.x) > 1]: min[a in t](s[a] * a.w[j]) >= 0
  dual two, each, some = pointwise(cap = 5)
  metric most = max[a in t](abs(s[a]))
  metric all = count[a in t where a.good](a.x) == count[a in t](a.x)
"""


@settings(max_examples=25, deadline=None)
@given(groups=st.lists(st.lists(ROW, min_size=1, max_size=4), min_size=1, max_size=3))
def test_constraints_and_metrics_of_a_group_mean_what_the_interpreter_says(groups: Sequence[Sequence[Any]]) -> None:
    graph, model = lowered(ASKED), Model()
    of_rows, program = assemble(graph, nn.ModuleDict({"f": model}), torch.float64)
    assert (of_rows.data, program.data, program.of, program.groups_by) == ("d", "d by task", "d", "task")
    rows = [row for group in groups for row in group]
    members, present = members_of([len(group) for group in groups], torch.device("cpu"))
    values = {
        "x": torch.tensor([row[0] for row in rows], dtype=torch.float64),
        "w": torch.tensor([[row[1], row[0]] for row in rows], dtype=torch.float64),
        "good": torch.tensor([row[2] for row in rows]),
        MEMBERS: members,
        PRESENT: present,
        ROWS: torch.arange(len(rows)),
    }
    found = Evaluation(*program.evaluate(values, torch.arange(len(groups))))
    assert model.asked == [len(rows)]
    assert found.mask is not None
    block = next(block for block in graph.spec.blocks if block.group_by)
    environment = environment_of(graph.spec)
    for position, group in enumerate(groups):
        units = [RowValues({"x": x, "w": [w, x], "task": 0, "good": good}, scored) for x, w, good in group]
        whole = GroupValues(units, scored)
        entries = {
            (family.name, entry.part, entry.members): entry
            for family in block.families
            for entry in rows_of(family, environment, whole)
        }
        column = 0
        for part in program.layout.parts:
            for place, scale in zip(part.members, part.scale, strict=True):
                entry = entries[part.family, part.part, place]
                assert bool(found.mask[position, column]) != entry.masked
                expected = 0.0 if entry.masked else entry.residual
                assert float(found.residuals[position, column]) * scale == pytest.approx(expected, abs=1e-12)
                column += 1
        for metric in block.metrics:
            value = float(found.metrics[metric.name][position])
            assert value == pytest.approx(metric_of(metric, environment, whole), abs=1e-12)


def test_two_ways_to_group_one_data_set_do_not_go_together() -> None:
    text = SPEC.format(statement=STATEMENTS[1]).replace("task: id", "task: id, other: id")
    text += "over group o of d by other { minimize mean[a in o](a.x) }"
    spec, _ = read(Source("p.pdual", text))
    assert spec is not None
    graph, _ = lower(spec, {})
    with pytest.raises(Refusal, match="PD295"):
        assemble(graph, nn.ModuleDict({"f": Model()}), torch.float64)


@pytest.mark.parametrize(("field", "labels"), [("kind", ("low", "high")), ("task", None), ("good", None)])
def test_what_a_group_is_called_by(field: str, labels: tuple[str, ...] | None) -> None:
    text = 'problem p "x"\nset k = { low, high }\ndata d { x: real, kind: k, task: id, good: bool }\n'
    text += f"over group g of d by {field} {{ minimize max[r in g](r.x)\n metric least = min[r in g](r.x) }}\n"
    spec, found = read(Source("p.pdual", text))
    assert spec is not None, found
    graph, _ = lower(spec, {})
    assert [data.data for data in graph.data] == ["d", f"d by {field}"]
    assert graph.data[1].grouping is not None
    assert (graph.data[1].of, graph.data[1].grouping.labels) == ("d", labels)
