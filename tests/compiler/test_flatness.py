"""What no weight can move is said, and nothing else: against slopes that autograd finds on a trained network."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import given, settings

from pdual.compiler.assemble import assemble
from pdual.compiler.compile import lower
from pdual.dsl.pipeline import read
from pdual.dsl.printer import render_all
from pdual.dsl.spans import Source
from pdual.runtime.problem.prepare import build_models

SPEC = """problem p "a test"
set k = 0..2
data d {{ x: real  y: real  z: real[k]  on: bool  task: id }}
model f(x: real) -> real = linear()
model g(x: real) -> real in [0, 1] = linear()
model m(z: real[k]) -> real[k] = mlp(hidden = [3])
model h = frozen(f)
model top() -> real = linear()
def step(a) = 1 if a > 0 else 0
over r in d {{
  minimize f(r.x)^2 + g(r.x) + m(r.z)[0] + top()^2
  {row}
}}
over group t of d by task {{
  metric most = max[r in t](r.x)
  {group}
}}
{average}
"""

#: Row values that no weight moves, and why.
FLAT = {
    "1 if f(r.x) > 0 else 0": "a truth value jumps, and stands still in between",
    "1 if r.on and f(r.x) >= g(r.x) else 0.1": "a truth value jumps, and stands still in between",
    "r.z[argmax(m(r.z))]": "a whole number jumps, and stands still in between",
    "count[i in k where m(r.z)[i] > 0](i)": "a truth value jumps, and stands still in between",
    "sum[i in k where m(r.z)[i] > 0](r.z[i])": "a truth value jumps, and stands still in between",
    "r.x * r.y + 1": "it reads no model",
    "h(r.x)": "`h` is frozen",
    "relu(g(r.x) - 2) + r.y": "its slope is 0 within the declared ranges",
    "max(g(r.x), 3) + r.x": "its slope is 0 within the declared ranges",
    "step(top()) + r.x": "a truth value jumps, and stands still in between",
}
#: Row values that some weight moves somewhere.
MOVED = [
    "f(r.x)",
    "relu(f(r.x))",
    "abs(f(r.x)) - r.x",
    "max(f(r.x), g(r.x))",
    "f(r.x) if f(r.x) > 0 else 0",
    "f(r.x) if r.on else 0",
    "step(f(r.x)) + 0.1 * g(r.x)",
    "sigmoid(10 * f(r.x))",
    "m(r.z)[argmax(m(r.z))]",
    "sum[i in k where m(r.z)[i] > 0](m(r.z)[i])",
    "max[i in k](m(r.z)[i])",
    "h(f(r.x))",
    "top() + r.x",
    "relu(g(r.x) - 1)",
    "min(g(r.x), 1)",
    "step(f(r.x)) * g(r.x)",
]


def said(row: str = "", group: str = "", average: str = "") -> list[tuple[str, str | None, str]]:
    source = Source("p.pdual", SPEC.format(row=row, group=group, average=average))
    spec, found = read(source)
    assert spec is not None, render_all(found, source)
    _, more = lower(spec, {})
    return [(item.code, item.fact.get("family"), item.fact["why"]) for item in more if item.code in ("PD307", "PD308")]


@pytest.mark.parametrize("value", FLAT)
def test_what_no_weight_can_move_is_said_of_rows_groups_averages_and_the_objective(value: str) -> None:
    why = FLAT[value]
    assert said(row=f"subject to c: ({value}) <= 0.3") == [("PD307", "c", why)]
    assert said(row=f"subject to c: -1.5 <= ({value}) <= 0.3") == [("PD307", "c", why)]
    assert said(row=f"subject to c: ({value}) == r.y") == [("PD307", "c", why)]
    assert said(row=f"minimize ({value})") == [("PD308", None, why)]
    assert said(group=f"subject to c: mean[r in t]({value}) <= 0.3") == [("PD307", "c", why)]
    assert said(average=f"subject to c: mean[r in d]({value}) <= 0.3") == [("PD307", "c", why)]


@pytest.mark.parametrize("value", MOVED)
def test_nothing_is_said_where_some_weight_moves_it(value: str) -> None:
    assert said(row=f"minimize ({value})\n  subject to c: ({value}) <= 0.3") == []
    assert said(group=f"subject to c: mean[r in t]({value}) <= 0.3") == []
    assert said(average=f"subject to c: mean[r in d]({value}) <= 0.3") == []
    assert said(average=f"subject to c: mean[r in d where f(r.x) > 0]({value}) <= 0.3") == []


def test_one_value_that_moves_is_enough() -> None:
    assert said(row="subject to c: step(f(r.x)) <= g(r.x)") == []
    assert said(row="subject to c: step(f(r.x)) <= g(r.x) <= 0.9") == []
    assert said(average="subject to c: mean[r in d](step(f(r.x))) - mean[q in d](f(q.x)) <= 0.1") == []


def test_what_an_average_is_over_moves_nothing() -> None:
    found = said(average="subject to c: mean[r in d where f(r.x) > 0](r.y) <= 0.3")
    assert found == [("PD307", "c", "a truth value jumps, and stands still in between")]


def test_a_term_that_is_switched_off_or_a_number_is_meant_so() -> None:
    assert said(row="minimize 0 * f(r.x)\n  minimize 0") == []


def test_what_always_or_never_holds_is_not_said_twice() -> None:
    assert said(row="subject to c: relu(g(r.x) - 2) <= 1") == []


PIECES = ["f(r.x)", "g(r.x)", "m(r.z)[1]", "h(r.x)", "top()", "r.x", "0.5"]


def deeper(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    two = st.tuples(inner, inner)
    return st.one_of(
        st.tuples(st.sampled_from(["relu", "abs", "sigmoid", "step", "tanh"]), inner).map(lambda p: f"{p[0]}({p[1]})"),
        st.tuples(st.sampled_from(["+", "-", "*"]), two).map(lambda p: f"({p[1][0]} {p[0]} {p[1][1]})"),
        st.tuples(st.sampled_from(["max", "min"]), two).map(lambda p: f"{p[0]}({p[1][0]}, {p[1][1]})"),
        st.tuples(inner, two).map(lambda p: f"({p[1][0]} if {p[0]} > 0.1 else {p[1][1]})"),
    )


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.recursive(st.sampled_from(PIECES), deeper, max_leaves=5))
def test_a_slope_that_autograd_finds_is_never_denied(value: str) -> None:
    spec, _ = read(Source("p.pdual", SPEC.format(row=f"subject to c: ({value}) <= 0.3", group="", average="")))
    assert spec is not None
    graph, found = lower(spec, {})
    torch.manual_seed(0)
    models = build_models(graph, {}, {}).double()
    for weight in models.parameters():
        torch.nn.init.normal_(weight.data)
    program = next(item for item in assemble(graph, models, torch.float64) if item.groups_by is None)
    if not program.layout.columns:
        return
    source = torch.Generator().manual_seed(1)
    numbers = torch.randn(64, 5, dtype=torch.float64, generator=source)
    values = {"x": numbers[:, 0], "y": numbers[:, 1], "z": numbers[:, 2:], "on": numbers[:, 0] > 0}
    residuals = program.train(values, torch.arange(64)).residuals
    weights = [weight for weight in models.parameters() if weight.requires_grad]
    slopes = (
        torch.autograd.grad(residuals.square().sum() + residuals.sum(), weights, allow_unused=True)
        if residuals.requires_grad
        else []
    )
    moved = any(slope is not None and bool(slope.any()) for slope in slopes)
    denied = [item for item in found if item.code == "PD307"]
    assert not (moved and denied), value
