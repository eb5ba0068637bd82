"""What the checker lets through and the compiler refuses or warns of, each beside what it accepts."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
import torch

from pdual.compiler.assemble import assemble
from pdual.compiler.compile import lower
from pdual.dsl.declarations.known import Known
from pdual.dsl.diagnostics import Diagnostic, Refusal
from pdual.dsl.pipeline import read
from pdual.dsl.printer import render_all
from pdual.dsl.spans import Source

NUMBERS = """problem p "a test"
set kind = 0..2
data d {
  x: real
  z: real[kind]
}
model f(x: real) -> real = mlp([8])
model g(z: real[kind]) -> real[kind] = mlp([8])
model h(x: real) -> real = mlp([8])
over r in d {
  let y = f(r.x)
  let w = g(r.z)
  minimize y + sum[k in kind](w[k])
  subject to low: y >= 0
  subject to same: h(r.x) == 0
"""
TEXTS = """problem p "a test"
data d {
  question, answer: text
}
model lm(question: text, answer: text) -> real[token] = causal_lm("tiny")
over r in d {
  let a = lm(r.question, r.answer)
  minimize mean[t in token](a[t])
"""
GRID = """problem p "a test"
given grid = power.case("case30") {
  set bus, branch
  source, target: bus[branch]
}
data d = power.demands(grid) {
  load: complex[bus]
}
model f(load: complex[bus]) -> real[bus] = gnn(edges = [source, target])
over r in d {
  let v = f(r.load)
  minimize sum[i in bus](v[i])
  subject to each[i in bus]: v[i] <= 1
"""
TWO_BUSES = {"grid": Known({"bus": ("1", "2"), "branch": ("1->2",)}, {"source": [0], "target": [1]})}
GROUPS = """problem p "a test"
data d {
  x: real
  task: id
}
model f(x: real) -> real = mlp([8])
"""


def lowered(
    text: str, overrides: Mapping[str, str] | None = None, knowns: Mapping[str, Known] | None = None
) -> tuple[Diagnostic, ...]:
    """What lowering says about a spec that checks."""
    source = Source("p.pdual", text)
    spec, found = read(source)
    assert spec is not None, render_all(found, source)
    try:
        return lower(spec, knowns or {}, overrides)[1]
    except Refusal as refusal:
        return refusal.diagnostics


def told(text: str, overrides: Mapping[str, str] | None = None, knowns: Mapping[str, Known] | None = None) -> list[str]:
    """The statement of each diagnostic, and its help."""
    printed = render_all(lowered(text, overrides, knowns), Source("p.pdual", text))
    return [line.strip() for line in printed.splitlines() if "[PD" in line or "help:" in line]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            NUMBERS.replace("let w = g(r.z)", "let w[k in kind] = f(r.z[k])") + "}",
            [
                "error[PD291]: model `f` is called once for every index, which this version cannot do",
                "= help: call it on the whole array",
            ],
        ),
        (
            TEXTS + "  subject to low[t in token]: a[t] >= -1\n}",
            [
                "error[PD292]: constraint `low` ranges over an axis of another length in every row, "
                "which this version cannot do",
                "= help: reduce over it: `max[k in ...](...) <= ...`",
            ],
        ),
        (
            NUMBERS + "  dual low = h(r.x)\n}",
            [
                "error[PD430]: a multiplier of the inequality `low` should be at least 0, found a range of [-inf, inf]",
                "= help: wrap it in `relu(...)` or `softplus(...)`, or write `G * sigmoid(...)`",
            ],
        ),
        (
            NUMBERS + "  dual low = 3 * tanh(h(r.x))\n}",
            [
                "error[PD430]: a multiplier of the inequality `low` should be at least 0, found a range of [-3, 3]",
                "= help: wrap it in `relu(...)` or `softplus(...)`, or write `G * sigmoid(...)`",
            ],
        ),
        (
            NUMBERS + "  dual low = softplus(h(r.x))\n}",
            [
                "warning[PD431]: the multiplier of `low` should have a bound, found a range of [0, inf]",
                "= help: write `G * sigmoid(...)`",
            ],
        ),
        (
            NUMBERS + "  dual same = h(r.x)\n}",
            [
                "warning[PD431]: the multiplier of `same` should have a bound, found a range of [-inf, inf]",
                "= help: write `G * tanh(...)`",
            ],
        ),
        (
            NUMBERS + "  dual same = -softplus(h(r.x))\n}",
            [
                "warning[PD431]: the multiplier of `same` should have a bound, found a range of [-inf, 0]",
                "= help: write `G * tanh(...)`",
            ],
        ),
    ],
    ids=["PD291", "PD292", "PD430", "PD430_bounded", "PD431", "PD431_equality", "PD431_below"],
)
def test_refused(text: str, expected: list[str]) -> None:
    assert told(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        NUMBERS + "}",
        NUMBERS + "  dual low = 10 * sigmoid(h(r.x))\n}",
        NUMBERS + "  dual same = 10 * tanh(h(r.x))\n}",
        TEXTS + "  subject to low: mean[t in token](a[t]) >= -1\n}",
    ],
    ids=["whole_array", "sigmoid", "tanh", "reduced"],
)
def test_accepted(text: str) -> None:
    assert told(text) == []


TWO_SETS = """problem p "a test"
data d { x: real in [0, 1] }
data e { x: real in [0, 1] }
model f(x: real) -> real = mlp([8])
model q(x: real) -> real = mlp([8])
model other(x: real) -> real = mlp([8])
model was = frozen(f)
over r in d {
  minimize f(r.x)
  subject to low: f(r.x) >= 0
  dual low = 10 * sigmoid(q(r.x))
}
over r in e {
  subject to
    high: f(r.x) <= 1
    low_too: f(r.x) >= -1
  dual high = 10 * sigmoid(HELD(r.x) + was(r.x))
  dual low_too = 10 * sigmoid(HELD(r.x))
}
"""


@pytest.mark.parametrize(
    ("held", "dual", "codes"), [("q", {}, {"PD415"}), ("other", {}, set()), ("q", {"*": "pointwise"}, set())]
)
def test_a_model_holds_multipliers_of_one_data_set(held: str, dual: dict[str, str], codes: set[str]) -> None:
    spec, found = read(Source("t.pdual", TWO_SETS.replace("HELD", held)))
    assert spec is not None, found
    assert {item.code for item in lower(spec, {}, dual)[1]} == codes


@pytest.mark.parametrize(
    ("formula", "dual", "codes"),
    [
        ("5", {}, {"PD417"}),
        ("10 * sigmoid(r.x)", {}, {"PD417"}),
        ("10 * sigmoid(was(r.x))", {}, {"PD417"}),
        ("10 * sigmoid(other(r.x))", {}, set()),
        ("10 * sigmoid(other(r.x) + was(r.x))", {}, set()),
        ("5", {"low_too": "pointwise"}, set()),
        ("5", {"low": "pointwise"}, {"PD417"}),
    ],
)
def test_a_formula_has_weights_to_fit(formula: str, dual: dict[str, str], codes: set[str]) -> None:
    text = TWO_SETS.replace("HELD", "other").replace("10 * sigmoid(other(r.x))\n}", f"{formula}\n}}")
    spec, found = read(Source("t.pdual", text))
    assert spec is not None, found
    assert {item.code for item in lower(spec, {}, dual)[1]} == codes


HELD_BY_ROW = """problem p "a test"
data d { x: real  task: id }
model u(INPUT) -> real = free()
over group t of d by task { minimize (VALUE - 1)^2 }
"""


@pytest.mark.parametrize(
    ("inputs", "value", "refused"),
    [
        ("x: real", "u(1)", True),
        ("x: real", "u(mean[r in t](r.x))", True),
        ("x: real", "mean[r in t](r.x * u(2))", True),
        ("x: real", "mean[r in t](u(r.x))", False),
        ("", "u()", False),
        ("", "mean[r in t](r.x * u())", False),
    ],
)
def test_a_table_of_rows_is_asked_about_a_row(inputs: str, value: str, refused: bool) -> None:
    expected = "error[PD277]: model `u` holds a value of every row, and is asked here about a group of rows"
    assert told(HELD_BY_ROW.replace("INPUT", inputs).replace("VALUE", value))[:1] == ([expected] if refused else [])


def test_learned_from_outside_needs_something_to_read() -> None:
    held = NUMBERS + "  dual default = pointwise(cap = 10)\n}"
    assert told(held, {"*": "learned"}) == [
        "error[PD440]: `learned` multipliers need something to read, and this `dual` does not say what",
        "= help: write `learned(mlp(hidden = [128]), on = features(MODEL), cap = G)`",
    ]
    learned = NUMBERS + "  dual default = learned(mlp([4]), on = features(y), cap = 10)\n}"
    assert told(learned, {"*": "learned"}) == []
    assert told(learned, {"*": "pointwise"}) == []


def test_features_per_member_need_an_index_over_their_sets() -> None:
    total = "  subject to total: sum[i in bus](v[i]) <= 1\n"
    duals = "  dual each{} = learned(mlp([4]), on = features(v), cap = 10)\n}}"
    assert told(GRID + total + duals.format(", total"), knowns=TWO_BUSES) == [
        "error[PD441]: `total` has no index over `branch` or `bus`, which the features are given for",
        "= help: hold it another way: `dual total = pointwise(cap = G)`",
    ]
    assert told(GRID + total + duals.format(""), knowns=TWO_BUSES) == []


@pytest.mark.parametrize("measured", [True, False])
def test_a_metric_over_groups_has_a_program_of_its_own(measured: bool) -> None:
    metric = "metric middle = mean[a in t](f(a.x))" if measured else ""
    text = GROUPS + f"over group t of d by task {{\n  minimize mean[a in t](f(a.x))\n  {metric}\n}}"
    spec, _ = read(Source("p.pdual", text))
    assert spec is not None
    graph, found = lower(spec, {})
    assert not found
    models = torch.nn.ModuleDict({"f": torch.nn.Identity()})
    programs = assemble(graph, models, torch.float64)
    assert [program.metrics for program in programs] == [(), ("middle",)][: 1 + measured]
