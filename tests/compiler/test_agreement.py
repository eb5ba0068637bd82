"""The two meanings agree: the interpreter's scalar loops and the compiled program, on generated programs."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pytest
import strategies
import torch
import world
from hypothesis import HealthCheck, given, settings
from spelling import written
from tensors import PlainModel, parts_of
from torch import Tensor, nn

from pdual.compiler.assemble import assemble
from pdual.compiler.compile import lower
from pdual.compiler.interpreter import evaluate, metric_of, objective_of, rows_of
from pdual.compiler.program import Evaluation, Program
from pdual.dsl.diagnostics import Refusal
from pdual.dsl.typed import TypedExpression, TypedFamily, TypedMetric, TypedObjective, TypedSpec


def compiled(spec: TypedSpec) -> Program:
    models = nn.ModuleDict({name: PlainModel(name) for name in world.SIGNATURES})
    graph, _ = lower(spec, {"g": world.KNOWN})
    return assemble(graph, models, torch.float64)[0]


def run(program: Program) -> Evaluation:
    """The program on all rows of the world at once."""
    values: dict[str, Any] = {}
    for name, kind in world.FIELDS.items():
        values |= parts_of(name, [row[name] for row in world.ROWS], kind)
    found: Evaluation = program.evaluate(values, torch.arange(len(world.ROWS)))
    return found


def close(found: float, expected: float) -> bool:
    return found == pytest.approx(expected, rel=1e-8, abs=1e-8)


def metrics_of(expressions: Mapping[str, TypedExpression]) -> TypedSpec:
    return world.spec([TypedMetric(name, expression) for name, expression in expressions.items()])


def check(expressions: Mapping[str, TypedExpression]) -> None:
    """Every expression has the interpreter's value in every row of the compiled batch."""
    spec = metrics_of(expressions)
    found = run(compiled(spec)).metrics
    for metric in spec.blocks[0].metrics:
        for position, row in enumerate(world.rows()):
            expected = metric_of(metric, world.environment(), row)
            assert close(found[metric.name][position].item(), expected), written(metric.value)


GENERATED = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    report_multiple_bugs=False,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@given(strategies.reals())
@GENERATED
def test_real_expressions(expression: TypedExpression) -> None:
    check({"value": expression})


@given(strategies.complexes())
@GENERATED
def test_complex_expressions(expression: TypedExpression) -> None:
    check({"re": strategies.apply("re", expression), "im": strategies.apply("im", expression)})


@given(strategies.reals(ragged=True))
@GENERATED
def test_ragged_expressions(expression: TypedExpression) -> None:
    with suppress(Refusal):  # PD294: it counts along an axis that nothing in it has
        check({"value": expression})


@given(strategies.truths(), strategies.members("a"), strategies.members("b"))
@GENERATED
def test_truth_values_and_members(truth: TypedExpression, a: TypedExpression, b: TypedExpression) -> None:
    at = strategies.select(strategies.given_field("m"), a, b)
    check({"truth": truth, "entry": at})


@given(strategies.families(), strategies.reals(depth=2))
@GENERATED
def test_families_and_objectives(family: TypedFamily, value: TypedExpression) -> None:
    spec = world.spec([], [family], [TypedObjective(value, strategies.real(2.0))])
    program = compiled(spec)
    found = run(program)
    assert found.objective is not None
    mask: Tensor = torch.ones_like(found.residuals, dtype=torch.bool) if found.mask is None else found.mask
    for position, row in enumerate(world.rows()):
        expected = objective_of(spec.blocks[0], world.environment(), row, scaled=True)
        assert close(found.objective[position].item(), expected)
        entries = {(entry.part, entry.members): entry for entry in rows_of(family, world.environment(), row)}
        column = 0
        for part in program.layout.parts:
            for members, scale in zip(part.members, part.scale, strict=True):
                entry = entries.pop((part.part, members), None)
                assert bool(mask[position, column]) == (entry is not None and not entry.masked)
                residual = 0.0 if entry is None else entry.residual
                assert close(found.residuals[position, column].item() * scale, residual)
                column += 1
        # An entry that only one of the two knows beforehand not to be there is masked by the other.
        assert all(entry.masked for entry in entries.values())


def test_the_interpreter_evaluates_the_world() -> None:
    call = strategies.output("p", strategies.row_field("u"))
    assert evaluate(call, world.environment(), world.rows()[0]) == pytest.approx([-0.0726247, -0.2962979, 0.9453516])
