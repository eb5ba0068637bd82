"""The reference interpreter against values worked out by hand, and the shipped specs against closed forms."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Mapping, Sequence
from math import inf
from pathlib import Path
from typing import Any

import pytest

import pdual.specs
from pdual.compiler.interpreter import (
    Environment,
    EvaluationError,
    GroupValues,
    RowEntry,
    RowValues,
    average_of,
    evaluate,
    is_constant,
    metric_of,
    objective_of,
    rows_of,
)
from pdual.dsl.declarations.known import Known
from pdual.dsl.pipeline import read
from pdual.dsl.spans import Source
from pdual.dsl.typed import FormulaDual, TypedBlock, TypedFamily, TypedMetric, TypedSpec

SHIPPED = Path(pdual.specs.__file__).parent


def spec_of(text: str, overrides: Mapping[str, float | int | str] | None = None) -> TypedSpec:
    spec, found = read(Source("test.pdual", text), overrides)
    assert spec is not None, found
    return spec


def shipped(name: str) -> TypedSpec:
    return spec_of((SHIPPED / f"{name}.pdual").read_text())


def environment_of(spec: TypedSpec, known: Known | None = None) -> Environment:
    knowns = {} if known is None else {spec.givens[0].name: known}
    sets = {item.name: item.labels for item in spec.sets if item.labels is not None}
    return Environment(spec.param_values, knowns, {**sets, **(known.sets if known else {})})


def family(spec: TypedSpec, name: str) -> TypedFamily:
    return next(item for block in spec.blocks for item in block.families if item.name == name)


def metric(spec: TypedSpec, name: str) -> TypedMetric:
    return next(item for block in spec.blocks for item in block.metrics if item.name == name)


def summary(entries: Sequence[RowEntry]) -> dict[str, dict[tuple[int, ...], float | None]]:
    """Residuals by part and members, in order; None where masked."""
    found: dict[str, dict[tuple[int, ...], float | None]] = {}
    for entry in entries:
        found.setdefault(entry.part, {})[entry.members] = None if entry.masked else entry.residual
    return found


# --- a spec over two small sets ----------------------------------------------------------------------------

SMALL = """
problem small "Values worked out by hand"
param level = 2
set a = 0..2
set b = 0..1
set side = {left, right}
data rows {
  x: real[a]
  home: b[a]
  w: real[a, b]
  price: real[side]
  z: complex[b]
  label: a
  on: bool
  s: real
}
model f(x: real[a]) -> { p: real[a], q: complex[b] }
model words(s: real) -> { logprob: real[token] }
"""


def small(statements: str) -> TypedSpec:
    return spec_of(f"{SMALL}\nover r in rows {{\n{statements}\n}}\nsolve {{ outer = 1 }}\n")


def row(**changes: Any) -> RowValues:
    fields = {
        "x": [1.0, -2.0, 4.0],
        "home": [1, 0, 1],
        "w": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]],
        "price": [8.0, 9.0],
        "z": [1 + 2j, -3 + 0.5j],
        "label": 1,
        "on": True,
        "s": 0.5,
    }
    return RowValues({**fields, **changes}, models)


def models(model: str, arguments: tuple[Any, ...]) -> Any:
    if model == "f":
        (x,) = arguments
        return {"p": [2 * value for value in x], "q": [complex(x[0], x[1]), complex(x[2], 0)]}
    return {"logprob": [-1.0, -2.0, -6.0]}


def number(expression: str, values: RowValues | None = None) -> float:
    spec = small(f"metric value = {expression}")
    return metric_of(metric(spec, "value"), environment_of(spec), row() if values is None else values)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("sum[i in a](r.x[i])", 3.0),
        ("mean[i in a](r.x[i])", 1.0),
        ("max[i in a](r.x[i])", 4.0),
        ("min[i in a](r.x[i])", -2.0),
        ("count[i in a where r.x[i] > 0](true)", 2.0),
        ("mean[i in a](r.x[i] > 0)", 2 / 3),
        # A join, and one that finds nothing.
        ("sum[i in a where r.home[i] == 1](r.x[i])", 5.0),
        ("sum[i in a where r.home[i] == 0 and r.x[i] > 0](r.x[i])", 0.0),
        ("max[j in b](sum[i in a where r.home[i] == j](r.x[i]))", 5.0),
        # Two indices: 1 * -2 + 1 * 4 + -2 * 4, both ways round.
        ("sum[i in a, j in a where j != i](r.x[i] * r.x[j])", -12.0),
        ("mean[i in a where i != r.label, j in b](r.w[i, j])", 3.5),
        # Through maps: w[0, 1] + w[1, 0] + w[2, 1].
        ("sum[i in a](r.w[i, r.home[i]])", 11.0),
        ("r.w[r.label, r.home[r.label]]", 3.0),
        ("r.x[argmax(r.x)]", 4.0),
        ("r.price[right] - r.x[2]", 5.0),
        ("sum[j in b](r.w[argmax(r.x), j])", 11.0),
        ("top_mean(r.x, 0.5)", 2.5),
        ("bottom_mean(r.x, 0.1)", -2.0),
        ("abs(r.z[0] * conj(r.z[0]))", 5.0),
        ("im(sum[j in b](r.z[j]))", 2.5),
        ("re(r.z[0] * r.z[1])", -4.0),
        ("level ^ 3 + level^2", 12.0),
        ("1 if r.on else log(-1)", 1.0),
        ("r.s if r.x[0] > 0 and r.home[0] == 1 else -r.s", 0.5),
        ("sum[j in b](im(f(r.x).q[j]))", -2.0),
        ("f(r.x).p[r.label]", -4.0),
        ("mean[k in token](words(r.s).logprob[k])", -3.0),
        ("sum[k in token where words(r.s).logprob[k] < -1.5](1 / words(r.s).logprob[k])", -2 / 3),
        ("max[k in token, i in a](words(r.s).logprob[k] * r.x[i])", 12.0),
        ("top_mean(words(r.s).logprob, 0.5)", -1.5),
    ],
)
def test_values_by_hand(expression: str, expected: float) -> None:
    assert number(expression) == pytest.approx(expected, rel=1e-14)


def test_a_truth_value_is_a_metric_of_zero_or_one() -> None:
    assert number("r.x[0] > 0") == 1.0
    assert number("argmax(r.x) == r.label") == 0.0
    assert number("argmax(r.x) == r.label", row(label=2)) == 1.0


def test_the_first_of_equals_is_the_argmax() -> None:
    assert number("r.w[argmax(r.x), 0]", row(x=[1.0, 7.0, 7.0])) == 3.0


def test_indices_of_a_let_go_by_position_not_by_name() -> None:
    spec = small(
        """
        let d[i in a, j in a] = r.x[i] - 10 * r.x[j]
        let e[j in a] = d[j, r.label] + sum[i in a](d[i, j])
        metric swapped = sum[i in a where i == 0, j in a where j == 2](d[j, i])
        metric chained = e[0]
        """
    )
    found = [metric_of(item, environment_of(spec), row()) for item in spec.blocks[0].metrics]
    # 4 - 10 * 1; then (1 + 20) + (3 - 30 * 1).
    assert found == [-6.0, -6.0]


def test_a_let_without_indices_is_a_whole_array() -> None:
    spec = small(
        """
        let p = f(r.x).p
        let doubled[i in a] = 2 * p[i]
        metric tail = top_mean(doubled, 0.1)
        metric entry = f(doubled).p[2]
        """
    )
    assert [metric_of(item, environment_of(spec), row()) for item in spec.blocks[0].metrics] == [16.0, 32.0]


def test_equal_calls_are_one_call() -> None:
    calls: list[tuple[str, tuple[Any, ...]]] = []

    def counted(model: str, arguments: tuple[Any, ...]) -> Any:
        calls.append((model, arguments))
        return models(model, arguments)

    spec = small("metric value = sum[i in a](f(r.x).p[i] * f(r.x).p[i])")
    assert metric_of(metric(spec, "value"), environment_of(spec), RowValues(row().fields, counted)) == 84.0
    assert calls == [("f", ([1.0, -2.0, 4.0],))]


def test_parameters_have_their_values_in_force() -> None:
    text = f"{SMALL} over r in rows {{ metric value = level * r.s }} solve {{ outer = 1 }}"
    for overrides, expected in (({}, 1.0), ({"level": 5}, 2.5)):
        spec = spec_of(text, overrides)
        assert metric_of(metric(spec, "value"), environment_of(spec), row()) == expected


def test_objective_is_a_sum_of_terms() -> None:
    spec = small("minimize r.s scale 4\nminimize sum[i in a](r.x[i])\nmetric unused = level * r.s")
    block = spec.blocks[0]
    assert objective_of(block, environment_of(spec), row()) == 3.5
    assert objective_of(block, environment_of(spec), row(), scaled=True) == 3.125


# --- where there is no value -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "blamed", "message"),
    [
        ("log(r.x[1])", "log(r.x[1])", "log"),
        ("1 + sqrt(r.x[1])", "sqrt(r.x[1])", "sqrt"),
        ("r.s / (r.x[0] - 1)", "r.s / (r.x[0] - 1)", "division by zero"),
        ("mean[i in a where r.x[i] > 9](r.x[i])", "mean[i in a where r.x[i] > 9](r.x[i])", "mean over none"),
        ("2 * max[i in a where r.x[i] > 9](r.x[i])", "max[i in a where r.x[i] > 9](r.x[i])", "max over none"),
        ("exp(1000 * r.x[2])", "exp(1000 * r.x[2])", "exp"),
    ],
)
def test_an_error_names_the_expression(expression: str, blamed: str, message: str) -> None:
    spec = small(f"metric value = {expression}")
    with pytest.raises(EvaluationError, match=message) as caught:
        metric_of(metric(spec, "value"), environment_of(spec), row())
    span = caught.value.span
    assert spec.source.text[span.start : span.end] == blamed


def test_an_error_tells_the_indices() -> None:
    spec = small("metric value = sum[i in a, j in b](log(r.x[i]) + r.w[i, j])")
    with pytest.raises(EvaluationError) as caught:
        metric_of(metric(spec, "value"), environment_of(spec), row())
    assert list(caught.value.indices.values()) == [1, 0]


def test_a_member_beyond_its_set_is_an_error_not_the_last_one() -> None:
    assert number("r.x[r.label]", row(label=2)) == 4.0
    for label in (-1, 3):
        with pytest.raises(EvaluationError, match=f"position {label} of 3"):
            number("r.x[r.label]", row(label=label))


def test_an_empty_ragged_axis_has_a_sum_and_no_mean() -> None:
    nothing = RowValues(row().fields, lambda model, arguments: {"logprob": []})
    assert number("sum[k in token](words(r.s).logprob[k])", nothing) == 0.0
    for expression in ("mean[k in token](words(r.s).logprob[k])", "top_mean(words(r.s).logprob, 0.5)"):
        with pytest.raises(EvaluationError, match="none"):
            number(expression, nothing)


def test_arrays_on_one_ragged_axis_are_equally_long() -> None:
    def uneven(model: str, arguments: tuple[Any, ...]) -> Any:
        return {"logprob": [1.0] * int(arguments[0])}

    expression = "sum[k in token](words(r.s).logprob[k] * words(r.x[2]).logprob[k])"
    assert number(expression, RowValues(row(s=4.0).fields, uneven)) == 4.0
    with pytest.raises(EvaluationError, match=r"token has no one length in this row: \[3, 4\]"):
        number(expression, RowValues(row(s=3.0).fields, uneven))


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("sum[i in a where r.home[i] == 1](r.x[i])", [5.0, -2.0]),
        ("sum[i in a where i != r.label](r.x[i])", [5.0, -1.0]),
        ("sum[i in a, j in a where j != i](r.x[i] * r.x[j])", [-12.0, -6.0]),
        ("sum[k in token, l in token where l != k](words(r.s).logprob[k])", [6.0, 18.0]),
    ],
)
def test_a_filter_tells_rows_of_one_environment_apart(expression: str, expected: list[float]) -> None:
    """What a filter keeps is found once for all rows only where no row changes it, neither by a field nor by a length."""

    def counted(model: str, arguments: tuple[Any, ...]) -> Any:
        return {"logprob": [float(k) for k in range(int(arguments[0]))]}

    spec = small(f"metric value = {expression}")
    environment = environment_of(spec)
    rows = [row(s=3.0), row(s=4.0, home=[0, 1, 0], label=2, x=[1.0, -2.0, 1.0])]
    for _ in range(2):
        found = [metric_of(metric(spec, "value"), environment, RowValues(item.fields, counted)) for item in rows]
        assert found == [pytest.approx(value, rel=1e-14) for value in expected]


def test_a_field_without_a_row_is_refused() -> None:
    spec = small("metric value = r.s")
    with pytest.raises(TypeError, match="through an index"):
        metric_of(metric(spec, "value"), environment_of(spec), GroupValues([row()]))


# --- rows --------------------------------------------------------------------------------------------------


def entries_of(statement: str, values: RowValues | None = None) -> dict[str, dict[tuple[int, ...], float | None]]:
    spec = small(f"subject to limits{statement}\nmetric unused = level * r.s")
    return summary(rows_of(family(spec, "limits"), environment_of(spec), row() if values is None else values))


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (": r.s <= 2", {"": {(): -1.5}}),
        (": r.s >= 2", {"": {(): 1.5}}),
        (": r.s == 2", {"": {(): -1.5}}),
        (": 0 <= r.s <= 2", {"lower": {(): -0.5}, "upper": {(): -1.5}}),
        (": 2 >= r.s >= 0", {"lower": {(): -0.5}, "upper": {(): -1.5}}),
        ("[i in a]: r.x[i] <= 2", {"": {(0,): -1.0, (1,): -4.0, (2,): 2.0}}),
        # Left minus right, so an equality has the sign in which it is written.
        (": 2 == r.s", {"": {(): 1.5}}),
    ],
)
def test_normal_form(statement: str, expected: dict[str, dict[tuple[int, ...], float | None]]) -> None:
    assert entries_of(statement) == expected


def test_complex_relations_compare_parts() -> None:
    assert entries_of("[j in b]: r.z[j] == f(r.x).q[j]") == {
        "re": {(0,): 0.0, (1,): -7.0},
        "im": {(0,): 4.0, (1,): 0.5},
    }
    assert entries_of("[j in b]: r.z[j] <= conj(r.z[j]) <= f(r.x).q[j]") == {
        "re.lower": {(0,): 0.0, (1,): 0.0},
        "re.upper": {(0,): 0.0, (1,): -7.0},
        "im.lower": {(0,): 4.0, (1,): 1.0},
        "im.upper": {(0,): 0.0, (1,): -0.5},
    }


def test_the_last_index_is_the_fastest() -> None:
    assert list(entries_of("[i in a, j in b]: r.w[i, j] <= 0")[""]) == [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]


def test_what_a_constant_filter_turns_away_is_not_there_and_what_a_row_turns_away_is_masked() -> None:
    assert entries_of("[i in a where i != 1]: r.x[i] <= 0") == {"": {(0,): 1.0, (2,): 4.0}}
    assert entries_of("[i in a where i != r.label]: r.x[i] <= 0") == {"": {(0,): 1.0, (1,): None, (2,): 4.0}}
    assert entries_of("[i in a where i != 0 and r.x[i] > 0]: r.x[i] <= 0") == {"": {(1,): None, (2,): 4.0}}
    assert entries_of("[i in a where i != 0 or r.on]: r.x[i] <= 0", row(on=False)) == {
        "": {(0,): None, (1,): -2.0, (2,): 4.0}
    }
    assert entries_of("[i in a where not (i == 0 or r.x[i] > 0)]: r.x[i] <= 0") == {"": {(1,): -2.0, (2,): None}}
    assert entries_of("[i in a where i == 1, j in b where r.home[i] != j]: r.w[i, j] <= 0") == {
        "": {(1, 0): None, (1, 1): 4.0}
    }


def test_what_is_masked_is_not_evaluated() -> None:
    assert entries_of("[i in a where r.x[i] > 0]: log(r.x[i]) <= 0") == {
        "": {(0,): 0.0, (1,): None, (2,): pytest.approx(math.log(4))}
    }
    with pytest.raises(EvaluationError):
        entries_of("[i in a]: log(r.x[i]) <= 0")


def test_a_bound_that_is_infinite_in_one_row_masks_it() -> None:
    assert entries_of("[i in a]: r.s <= r.x[i]", row(x=[1.0, inf, -1.0])) == {"": {(0,): -0.5, (1,): None, (2,): 1.5}}
    assert entries_of(": r.s <= inf") == {}


def test_the_numbers_of_a_masked_entry_are_zero() -> None:
    spec = small("subject to limits[i in a where i == r.label]: r.x[i] <= 7")
    first, second, _ = rows_of(family(spec, "limits"), environment_of(spec), row())
    assert (first.left, first.right, first.residual, first.masked) == (0.0, 0.0, 0.0, True)
    assert (second.left, second.right, second.residual, second.masked) == (-2.0, 7.0, -9.0, False)


def test_constants_are_what_no_row_changes() -> None:
    spec = small(
        """
        let fixed[i in a] = 2 * level
        let moving[i in a] = r.s
        metric constant = sum[i in a where i != 0](fixed[i])
        metric row = sum[i in a](moving[i])
        metric called = f(r.x).p[0]
        """
    )
    assert [is_constant(item.value) for item in spec.blocks[0].metrics] == [True, False, False]


# --- averages and groups -----------------------------------------------------------------------------------


def test_constraint_on_an_average() -> None:
    text = """
    problem averages "One number for all rows"
    param limit = 2
    data rows { x: real }
    model f(x: real) -> real
    subject to
      level:  mean[r in rows](f(r.x)) <= limit
      between: -1 <= mean[r in rows](r.x) <= 1
    over r in rows { minimize f(r.x) }
    solve { outer = 1 }
    """
    spec = spec_of(text)
    rows = {"rows": [RowValues({"x": x}, lambda model, arguments: arguments[0] ** 2) for x in (1.0, 2.0, 3.0)]}
    level, between = (average_of(item, environment_of(spec), rows) for item in spec.averages)
    assert [(item.part, item.right) for item in level] == [("", 2.0)]
    assert level[0].left == pytest.approx(14 / 3)
    assert [(item.part, item.residual) for item in between] == [("lower", -3.0), ("upper", 1.0)]
    with pytest.raises(EvaluationError, match="mean over none"):
        average_of(spec.averages[0], environment_of(spec), {"rows": []})


def softplus(x: float) -> float:
    return math.log(1 + math.exp(x))


def flora_group(scores: Sequence[float], solved: Sequence[bool]) -> GroupValues:
    def scored(model: str, arguments: tuple[Any, ...]) -> float:
        assert model == "predictor"
        position: int = arguments[1][0]
        return scores[position]

    rows = [
        RowValues({"workflow": object(), "task": "t", "question": [n], "solved": good}, scored)
        for n, good in enumerate(solved)
    ]
    return GroupValues(rows, scored)


def test_ranking_loss_of_a_group() -> None:
    spec = shipped("flora")
    groups, pairs = spec.blocks
    environment = environment_of(spec)
    group = flora_group([1.0, -1.0, 0.5, 2.0], [True, False, False, True])
    expected = (softplus(-2.0) + softplus(-0.5) + softplus(-3.0) + softplus(-1.5)) / 4
    assert objective_of(groups, environment, group) == pytest.approx(expected, rel=1e-14)
    fit = [rows_of(pairs.families[0], environment, one)[0].residual for one in group.rows]
    crosses = [softplus(-1.0), softplus(-1.0), softplus(0.5), softplus(-2.0)]
    assert fit == pytest.approx([cross - 0.1 for cross in crosses], rel=1e-13)
    accuracy = [metric_of(pairs.metrics[0], environment, one) for one in group.rows]
    assert accuracy == [1.0, 1.0, 0.0, 1.0]


def test_a_group_in_which_all_are_solved_has_no_ranking_loss() -> None:
    spec = shipped("flora")
    with pytest.raises(EvaluationError, match="mean over none") as caught:
        objective_of(spec.blocks[0], environment_of(spec), flora_group([1.0, 2.0], [True, True]))
    span = caught.value.span
    assert spec.source.text[span.start : span.end].startswith("mean[a in t where a.solved")


# --- the other shipped specs -------------------------------------------------------------------------------


def test_mnist_margins() -> None:
    spec = shipped("mnist")
    block: TypedBlock = spec.blocks[0]
    logits = [0.1 * n for n in range(10)]
    values = RowValues({"image": [[[0.0]]], "label": 3}, lambda model, arguments: logits)
    entries = rows_of(block.families[0], environment_of(spec), values)
    assert [entry.masked for entry in entries] == [n == 3 for n in range(10)]
    expected = [0.0 if n == 3 else 1.0 - (0.3 - 0.1 * n) for n in range(10)]
    assert [entry.residual for entry in entries] == pytest.approx(expected, abs=1e-15)
    assert metric_of(block.metrics[0], environment_of(spec), values) == 0.0
    formula = next(dual.value for dual in block.duals if isinstance(dual.value, FormulaDual))
    at = {formula.binders[0].identity: 7}
    found = evaluate(formula.value, environment_of(spec), values, at)
    assert found == pytest.approx(100 / (1 + math.exp(-0.7)), rel=1e-14)


def test_mnist_objective_needs_no_data() -> None:
    spec = shipped("mnist")
    environment = Environment(spec.param_values, {}, {}, {"f": 30.0})
    assert evaluate(spec.objectives[0].value, environment, RowValues({})) == pytest.approx(1.5)


def test_tofu_scores_and_multipliers() -> None:
    spec = shipped("tofu")
    forget = spec.blocks[1]
    environment = environment_of(spec)
    logprobs = {"lm": [-1.0, -4.0, -2.0, -3.0, -0.5], "before": [-0.5, -1.0, -0.25, -0.75, -0.5]}

    def outputs(model: str, arguments: tuple[Any, ...]) -> Any:
        if model == "q":
            (x,) = arguments
            return [x[0], -x[0], x[1], 0.0]
        return {"logprob": logprobs[model]}

    def features(model: str, arguments: tuple[Any, ...]) -> Any:
        return [[0.1, 1.0], [0.2, 1.0], [0.3, 1.0], [0.4, 1.0], [0.5, 6.0]]

    values = RowValues({"question": "who", "answer": "she"}, outputs, features)
    residuals = {item.name: rows_of(item, environment, values)[0].residual for item in forget.families}
    # A quarter of five tokens: the two most, the two least likely.
    assert residuals == pytest.approx(
        {
            "forgotten": (-2.1 + 0.6) + 0.25,
            "measured": -0.75 - (-2.1 + 0.6),
            "surest": (-0.75 + 0.375) + 0.25,
            "rarest": -0.75 - (-3.5 + 0.875),
        }
    )
    formulas = [dual.value for dual in forget.duals if isinstance(dual.value, FormulaDual)]
    found = [evaluate(formula.value, environment, values) for formula in formulas]
    assert found == pytest.approx([1000 / (1 + math.exp(-x)) for x in (0.3, -0.3, 2.0, 0.0)], rel=1e-13)
    assert evaluate(spec.blocks[0].objectives[0].value, environment, values) == pytest.approx(10.5)


def test_tofu_kl_is_the_divergence_of_whole_distributions() -> None:
    spec, found = read(Source("tofu_kl", (SHIPPED / "tofu_kl.pdual").read_text()), {"words": 3, "stay": 2.0})
    assert spec is not None, found
    shares = {"before": [[0.5, 0.25, 0.25], [0.8, 0.1, 0.1]], "lm": [[0.25, 0.25, 0.5], [0.8, 0.1, 0.1]]}

    def outputs(model: str, arguments: tuple[Any, ...]) -> Any:
        return {"logprobs": [[math.log(share) for share in row] for row in shares[model]]}

    values = RowValues({"question": "who", "answer": "she"}, outputs, lambda model, arguments: [])
    wanted = 2 * (0.5 * math.log(2) + 0.25 * math.log(0.5))
    assert evaluate(spec.blocks[0].objectives[0].value, environment_of(spec), values) == pytest.approx(wanted)


# --- a grid of two buses -----------------------------------------------------------------------------------

SERIES = 1 / (0.02 + 0.1j)
TAP = cmath.rect(1.05, 0.1)
GRID = Known(
    sets={"bus": ("1", "2"), "gen": ("g1", "g2"), "branch": ("1->2",)},
    fields={
        "at": [0, 0],
        "source": [0],
        "target": [1],
        "slack": [True, False],
        "shunt": [0j, 0.01 + 0.05j],
        "series": [SERIES],
        "charge_source": [0.03j],
        "charge_target": [0.02j],
        "tap": [TAP],
        "c0": [1.0, 2.0],
        "c1": [10.0, 20.0],
        "c2": [3.0, 0.5],
        "s_min": [complex(0, -1), complex(0, -inf)],
        "s_max": [complex(2, 1), complex(inf, 1)],
        "v_min": [0.95, 0.9],
        "v_max": [1.05, inf],
        "rate": [1.5],
        "angle_min": [-math.pi / 6],
        "angle_max": [math.pi / 6],
    },
)
VOLTAGES = [1.02 + 0j, cmath.rect(0.97, -0.05)]


def currents() -> tuple[complex, complex]:
    """Ohm's law on the pi circuit behind an ideal transformer, into the branch at either end."""
    inside = VOLTAGES[0] / TAP
    at_source = ((inside - VOLTAGES[1]) * SERIES + inside * 0.03j) / TAP.conjugate()
    return at_source, (VOLTAGES[1] - inside) * SERIES + VOLTAGES[1] * 0.02j


def opf() -> tuple[TypedSpec, Callable[[str], dict[str, dict[tuple[int, ...], float | None]]], complex, complex]:
    out, into = (v * i.conjugate() for v, i in zip(VOLTAGES, currents(), strict=True))
    drawn = VOLTAGES[1] * (VOLTAGES[1] * (0.01 + 0.05j)).conjugate()
    spec = shipped("opf30")
    outputs = {"v": VOLTAGES, "s": [0.6 * out, 0.4 * out]}
    values = RowValues({"load": [0j, -into - drawn], "optimum": 20.0}, lambda model, arguments: outputs)

    def entries(name: str) -> dict[str, dict[tuple[int, ...], float | None]]:
        return summary(rows_of(family(spec, name), environment_of(spec, GRID), values))

    return spec, entries, out, into


def test_power_balances_where_ohms_law_holds() -> None:
    _, entries, _, _ = opf()
    found = entries("balance")
    assert list(found) == ["re", "im"]
    for part in found.values():
        assert list(part.values()) == pytest.approx([0.0, 0.0], abs=1e-14)


def test_limits_of_the_grid() -> None:
    _, entries, out, into = opf()
    assert entries("flow_source") == {"": {(0,): pytest.approx(abs(out) - 1.5)}}
    assert entries("flow_target") == {"": {(0,): pytest.approx(abs(into) - 1.5)}}
    assert entries("reference") == {"": {(0,): 0.0}}
    assert entries("voltage") == {
        "lower": {(0,): pytest.approx(-0.07), (1,): pytest.approx(-0.07)},
        "upper": {(0,): pytest.approx(-0.03)},
    }
    assert entries("angle") == {
        "lower": {(0,): pytest.approx(-math.pi / 6 - 0.05)},
        "upper": {(0,): pytest.approx(0.05 - math.pi / 6)},
    }
    s = [0.6 * out, 0.4 * out]
    assert entries("generation") == {
        "re.lower": {(0,): pytest.approx(-s[0].real), (1,): pytest.approx(-s[1].real)},
        "re.upper": {(0,): pytest.approx(s[0].real - 2)},
        "im.lower": {(0,): pytest.approx(-1 - s[0].imag)},
        "im.upper": {(0,): pytest.approx(s[0].imag - 1), (1,): pytest.approx(s[1].imag - 1)},
    }


def test_cost_of_the_grid() -> None:
    spec, _, out, _ = opf()
    values = RowValues(
        {"load": [0j, 0j], "optimum": 20.0},
        lambda model, arguments: {"v": VOLTAGES, "s": [0.6 * out, 0.4 * out]},
    )
    p = [0.6 * out.real, 0.4 * out.real]
    cost = 3.0 + 10 * p[0] + 20 * p[1] + 3 * p[0] ** 2 + 0.5 * p[1] ** 2
    environment = environment_of(spec, GRID)
    assert objective_of(spec.blocks[0], environment, values) == pytest.approx(cost)
    assert objective_of(spec.blocks[0], environment, values, scaled=True) == pytest.approx(cost / 8208.5)
    assert metric_of(metric(spec, "gap"), environment, values) == pytest.approx(cost / 20 - 1)
