"""Runs of programs whose values lost their row are those of the same programs with ``+ 0 * r.x``: steps, multipliers, metrics, averages, groups."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from examples import EXAMPLES
from hypothesis import given, settings
from hypothesis import strategies as st
from small_averages import solved
from torch import Tensor

from pdual.compiler.compile import lower
from pdual.dsl.pipeline import read
from pdual.dsl.printer import render_all
from pdual.dsl.spans import Source
from pdual.runtime.data.context import SourceContext
from pdual.runtime.problem.prepare import load_tables, prepare
from pdual.runtime.problem.problem import Problem
from pdual.runtime.training.run import Run

ROWS = 13

#: ``@1`` is a number of no row, ``@@1`` one of no group, ``TOP`` a model without inputs; either is written in two ways.
SPEC = """problem rowless "values that lost their row"
set k = 0..1
data d = csv("d.csv", split = [0.8, 0.2, 0]) {{ x: real, y: real, on: bool, task: id }}
model f(x: real) -> real = mlp(hidden = [3], activation = tanh)
model c(one: real) -> real = linear()
model p(a: real, b: real) -> {{ s: real, t: real }} = linear()
model top({zero}) -> real = linear()
over r in d {{
  let v = {e0}
  minimize (v - r.y)^2 + 0.1 * ({e1})^2
  subject to
    one: {e2} <= 0.4
    two[i in k where i == 0 or r.on]: ({e3}) * (1 if i == 0 else 2) <= 0.3
    three: {e4} == 0.1
  dual one = pointwise(cap = 5)
  dual two = learned(mlp(hidden = [2]), on = {e5}, cap = 5)
  dual three = shared(cap = 5)
  metric a = {e6}
  metric b = {e7} > 0.1
}}
over group t of d by task {{
  minimize mean[r in t where r.on or r.x > -9]({e8}) + 0.1 * c(@@1)^2 + 0.1 * TOPT^2
  subject to
    four: max[r in t]({e9}) - c(@@0.5) <= 0.2
    five: c(@@-1) <= 0.1
  metric most = min[r in t]({e10}) + TOPT
  metric plain = c(@@2)
}}
subject to
  six: mean[r in d where r.on]({e11}) - mean[r in d]({e12}) <= 0.1
solve {{ outer = 2 rho = 2 descent = sgd(lr = 0.02, batch = 5, epochs = 2) }}
"""
NUMBERS = 13
LEAVES = [
    "c(@1)",
    "TOP",
    "f(r.x)",
    "c(@-0.5)",
    "f(@0.7)",
    "p(r.x, @1).t",
    "p(@1, @2).s",
    "r.y",
    "@0.3",
    "c(TOP)",
    "c(f(@1))",
]


def deeper(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    two = st.tuples(inner, inner)
    return st.one_of(
        st.tuples(st.sampled_from(["relu", "abs", "sigmoid", "tanh"]), inner).map(lambda p: f"{p[0]}({p[1]})"),
        st.tuples(st.sampled_from(["+", "-", "*"]), two).map(lambda p: f"({p[1][0]} {p[0]} {p[1][1]})"),
        two.map(lambda p: f"max({p[0]}, {p[1]})"),
        two.map(lambda p: f"({p[0]} if r.on else {p[1]})"),
        st.tuples(inner, two).map(lambda p: f"({p[1][0]} if {p[0]} > 0.17 else {p[1][1]})"),
        inner.map(lambda p: p if "[j" in p else f"sum[j in k where j == 1 or c(@1) > 0.1]({p})"),
    )


EXPRESSIONS = st.recursive(st.sampled_from(LEAVES), deeper, max_leaves=3)


def texts(expressions: list[str]) -> tuple[str, str]:
    """The program without rows in those values, and the same with ``0 * r.x``."""
    places = {f"e{n}": item for n, item in enumerate(expressions)}
    plain = SPEC.format(zero="", **places).replace("TOPT", "top()").replace("TOP", "top()")
    right = SPEC.format(zero="zero: real", **places)
    right = right.replace("TOPT", "top(0 * mean[r in t](r.x))").replace("TOP", "top(0 * r.x)")
    plain = re.sub(r"@@?(-?[\d.]+)", r"\1", plain)
    right = re.sub(r"@@(-?[\d.]+)", r"(0 * mean[r in t](r.x) + \1)", right)
    return plain, re.sub(r"@(-?[\d.]+)", r"(0 * r.x + \1)", right)


def prepared(folder: Path, text: str) -> Problem:
    spec, found = read(Source("rowless.pdual", text))
    assert spec is not None, render_all(found, Source("rowless.pdual", text))
    graph, _ = lower(spec, {})
    torch.manual_seed(0)
    tables = load_tables(spec, {}, SourceContext(folder=folder))
    problem = prepare(
        graph, {name: table.to(torch.device("cpu"), torch.float64) for name, table in tables.items()}, torch.float64, {}
    )
    for name, weight in problem.models.named_parameters():
        if weight.numel():
            source = torch.Generator().manual_seed(sum(map(ord, name)))
            weight.data.copy_(torch.randn(weight.shape, generator=source, dtype=torch.float64) / 2)
    return problem


def state(run: Run) -> dict[str, Tensor]:
    """Everything that a run says of its rows and groups, and the weights that see values."""
    found: dict[str, Tensor] = {}
    for name, weight in run.problem.models.named_parameters():
        if not name.startswith("top") or name.endswith("bias"):
            found[name] = weight.detach()
    for training_set in run.training_sets:
        for split in ("train", "val"):
            item = training_set.evaluate(split)
            numbers: dict[str, Any] = {
                "objective": item.objective, "residuals": item.residuals, "mask": item.mask, "grouped": item.group_objective,
                "multipliers": item.multipliers, "averaged": item.averaged, "kept": item.kept, **item.metrics,
            }  # fmt: skip
            found |= {
                f"{training_set.name} {split} {key}": value for key, value in numbers.items() if value is not None
            }
    assert run.averages is not None
    found["averages"] = run.averages.level
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = random.Random(3)
    lines = [
        f"{source.gauss(0, 1):.4f},{source.gauss(0, 1):.4f},{str(source.random() < 0.6).lower()},{n * n % 5}"
        for n in range(ROWS)
    ]
    place = tmp_path_factory.mktemp("rowless")
    (place / "d.csv").write_text("x,y,on,task\n" + "\n".join(lines) + "\n")
    return place


def check(folder: Path, expressions: list[str]) -> None:
    plain, right = texts(expressions)
    one, other = (state(solved(prepared(folder, text))) for text in (plain, right))
    assert one.keys() == other.keys()
    for name, value in one.items():
        assert value.shape == other[name].shape, name
        torch.testing.assert_close(
            value, other[name], rtol=1e-7, atol=1e-9, equal_nan=True, msg=lambda m, name=name: f"{name}: {m}\n{plain}"
        )


@pytest.mark.parametrize("value", LEAVES)
def test_a_value_of_no_row_is_that_of_every_row(folder: Path, value: str) -> None:
    check(folder, [value] * NUMBERS)


@settings(max_examples=max(2, EXAMPLES // 100), deadline=None, derandomize=True)
@given(st.lists(EXPRESSIONS, min_size=NUMBERS, max_size=NUMBERS))
def test_programs_whose_values_lost_their_row(folder: Path, expressions: list[str]) -> None:
    check(folder, expressions)
