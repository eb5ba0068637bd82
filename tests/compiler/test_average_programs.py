"""Constraints on averages: what is compiled of them is what the interpreter says, and their ranges hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from pdual.compiler.assemble import assemble, average_plan
from pdual.compiler.averages import held_kind
from pdual.compiler.compile import lower
from pdual.compiler.graph import Graph
from pdual.compiler.interpreter import Environment, EvaluationError, RowValues, average_of
from pdual.dsl.diagnostics import Refusal
from pdual.dsl.pipeline import read
from pdual.dsl.spans import Source
from pdual.runtime.models.interface import ModelOutput
from pdual.runtime.training.averages import means_of

SPEC = """
problem averages "affine in means"
param p = 2.5
param open = inf in [0, inf]
data a {{ x: real in [-2, 2], y: real in [-2, 2] }}
data b {{ x: real in [-2, 2], y: real in [-2, 2] }}
model f(x: real) -> real in [0, 4] = mlp(hidden = [4])
subject to c{scale}: {relation}
over r in a {{ minimize f(r.x) }}
"""


class Square(nn.Module):
    """Its square."""

    def forward(self, inputs: Mapping[str, Tensor]) -> ModelOutput:
        return ModelOutput({"": inputs["x"] ** 2}, {})


def lowered(relation: str, scale: str = "") -> tuple[Graph, list[str]]:
    spec, found = read(Source("averages.pdual", SPEC.format(relation=relation, scale=scale)))
    assert spec is not None, found
    graph, more = lower(spec, {})
    return graph, [item.code for item in more]


#: What is averaged over a row `r`, and which rows count.
bodies = st.sampled_from(["f(r.x)", "r.x * f(r.y)", "f(r.x) - f(r.y)", "r.y", "3", "r.x > 0", "f(r.x)^2 + r.y"])
filters = st.sampled_from(["", " where r.x > 0", " where f(r.y) > r.x", " where r.x > 0 and r.y < 1"])
means = st.builds("mean[r in {}{}]({})".format, st.sampled_from("ab"), filters, bodies)
constants = st.sampled_from(["2", "0.5", "p", "(-3)", "(p - 1)"])


def _affine(inside: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    sums = st.builds("({} {} {})".format, inside, st.sampled_from("+-"), st.one_of(inside, constants))
    scaled = st.builds("({} * {})".format, constants, inside) | st.builds("({} * {})".format, inside, constants)
    return sums | scaled | st.builds("({} / {})".format, inside, constants) | st.builds("(-{})".format, inside)


affine = st.recursive(means, _affine, max_leaves=4)
relations = (
    st.builds("{} <= {}".format, affine, affine | constants)
    | st.builds("{} >= {}".format, affine, constants)
    | st.builds("{} == {}".format, affine, constants)
    | st.builds("-4 <= {} <= p".format, affine)
)
numbers = st.floats(-2, 2, allow_subnormal=False).map(lambda x: round(x, 3))
rows = st.lists(st.fixed_dictionaries({"x": numbers, "y": numbers}), min_size=1, max_size=5)


@settings(deadline=None)
@given(relations, rows, rows)
def test_programs_and_weights_say_what_the_interpreter_says(relation: str, a: Any, b: Any) -> None:
    graph, _ = lowered(relation)
    plan = average_plan(graph)
    (average,) = graph.spec.averages
    programs = {p.data: p for p in assemble(graph, nn.ModuleDict({"f": Square()}), torch.float64)}
    data = {"a": a, "b": b}
    called = {name: [RowValues(row, lambda model, said: said[0] ** 2) for row in held] for name, held in data.items()}
    environment = Environment(graph.spec.param_values, {}, {})
    try:
        meant = {entry.part: entry for entry in average_of(average, environment, called)}
    except EvaluationError:
        return  # a mean over none
    assert plan is not None
    total = plan.offsets.clone()
    for name, weights in plan.weights.items():
        held = data[name]
        values = {key: torch.tensor([row[key] for row in held], dtype=torch.float64) for key in ("x", "y")}
        found = programs[name].evaluate(values, torch.arange(len(held)))
        total += torch.where(weights != 0, weights * means_of(found.averaged, found.kept), 0.0).sum(1)
    for part, own, row in zip(plan.layout.parts, total.tolist(), graph.averages.parts, strict=True):
        residual = meant[part.part].residual
        assert own * part.scale[0] == pytest.approx(residual, abs=1e-9)
        (interval,) = row.intervals
        assert interval.lo - 1e-9 <= residual <= interval.hi + 1e-9
    assert {part.part for part in plan.layout.parts} == set(meant)


def test_a_mean_is_computed_once_and_apart_from_the_same_value_of_other_rows() -> None:
    graph, _ = lowered("mean[r in a](f(r.x)) - mean[q in a where q.x > 0](f(q.x)) + 2 * mean[s in a](f(s.x)) <= 1")
    (part,) = graph.averages.weighted
    assert sorted(part.means.values()) == [-1.0, 3.0]
    assert len(graph.over("a").means) == 2


def test_a_data_set_that_only_an_average_reads_has_a_program() -> None:
    graph, _ = lowered("mean[r in b](f(r.x)) <= 1")
    assert [(data.data, len(data.means), len(data.objective)) for data in graph.data] == [("a", 0, 1), ("b", 1, 0)]


def test_ranges_and_scales_follow_from_those_of_rows() -> None:
    graph, found = lowered("-1 <= mean[r in a](f(r.x)) - mean[r in b](f(r.x)) <= 2")
    lower_side, upper_side = graph.averages.layout.parts
    assert lower_side.range == upper_side.range == pytest.approx((3.0,))
    ends = [(i.lo, i.hi) for part in graph.averages.parts for i in part.intervals]
    assert ends == [pytest.approx((-5.0, 3.0)), pytest.approx((-6.0, 2.0))]
    assert found == []
    graph, _ = lowered("mean[r in a](r.x * f(r.x)) <= 1", scale=" scale 4")
    assert graph.averages.layout.parts[0].scale == pytest.approx(
        (9.0,)
    )  # up to where -8 <= r.x * f(r.x) ends, as on a row


@pytest.mark.parametrize(
    ("relation", "codes"),
    [
        ("mean[r in a](f(r.x)) <= 5", ["PD301"]),
        ("mean[r in a](f(r.x)) <= -1", ["PD302"]),
        ("mean[r in a](log(r.x)) <= 0.5", ["PD307", "PD304"]),
        ("mean[r in a where sqrt(r.x) > 1](f(r.x)) <= 1", ["PD304"]),
    ],
)
def test_what_always_holds_never_holds_or_has_no_value_is_said(relation: str, codes: list[str]) -> None:
    assert lowered(relation)[1] == codes


def test_an_infinite_side_makes_no_row() -> None:
    with pytest.raises(Refusal, match="PD310"):
        lowered("mean[r in a](f(r.x)) <= inf")
    graph, codes = lowered("mean[r in a](f(r.x)) <= open")
    assert graph.averages.parts == ()
    assert codes == ["PD311"]
    assert graph.switched_off == {"c": 1}
    assert average_plan(graph) is None


@pytest.mark.parametrize(
    ("overrides", "kind"),
    [
        ({}, "penalty"),
        ({"*": "pointwise"}, "shared"),
        ({"*": "learned"}, "shared"),
        ({"*": "none"}, "none"),
        ({"c": "shared", "*": "none"}, "shared"),
        ({"other": "none"}, "penalty"),
    ],
)
def test_kinds_in_force(overrides: Mapping[str, str], kind: str) -> None:
    assert held_kind("c", "penalty", overrides) == kind
