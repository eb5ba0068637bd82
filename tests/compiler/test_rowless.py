"""A value that does not depend on the row is the same in every row: any subexpression may lose its row without anything changing.

Where a field holds one value on all rows, a program that reads the field and one that has the value written in its place are one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any

import hypothesis.strategies as st
import pytest
import strategies
import torch
import world
from examples import EXAMPLES
from hypothesis import HealthCheck, given, settings
from rewriting import filtered, inlined, rebuilt
from spelling import written
from strategies import apply, given_field, real, select
from tensors import PlainModel, parts_of
from torch import nn

from pdual.compiler.assemble import assemble
from pdual.compiler.compile import lower
from pdual.compiler.interpreter import RowValues, metric_of, objective_of, rows_of
from pdual.compiler.program import Evaluation
from pdual.dsl.diagnostics import Refusal
from pdual.dsl.typed import FieldRef, Literal, TypedExpression, TypedFamily, TypedMetric, TypedObjective, TypedSpec
from pdual.dsl.types import ArrayType, MemberOf

#: What stands for each field, written without the row, and its value.
CONSTANTS: Mapping[str, tuple[TypedExpression, Any]] = {
    "s": (real(-0.8), -0.8),
    "on": (select(given_field("flag"), Literal(ArrayType(MemberOf("a")), 1)), world.KNOWN.fields["flag"][1]),
    "label": (Literal(ArrayType(MemberOf("a")), 2), 2),
    **{
        field: (given_field(name), world.KNOWN.fields[name])
        for field, name in (("pick", "home"), ("u", "x"), ("v", "y"), ("c", "w"), ("grid", "m"))
    },
}
FIELDS = sorted(CONSTANTS)

GENERATED = settings(
    max_examples=max(20, EXAMPLES // 8),
    deadline=None,
    derandomize=True,
    report_multiple_bugs=False,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
LOST = st.sets(st.sampled_from(FIELDS), min_size=1)


def without(expression: TypedExpression, lost: Collection[str]) -> TypedExpression:
    """The expression with the constants of some fields in their place."""

    def leaf(node: TypedExpression) -> TypedExpression | None:
        return CONSTANTS[node.name][0] if isinstance(node, FieldRef) and node.name in lost else None

    return rebuilt(inlined(expression), leaf, lambda binder: binder)


def rows_with(lost: Collection[str]) -> list[Mapping[str, Any]]:
    """The rows of the world, with one value on all rows in some fields."""
    return [{**row, **{name: CONSTANTS[name][1] for name in lost}} for row in world.ROWS]


def evaluated(spec: TypedSpec, rows: Sequence[Mapping[str, Any]]) -> tuple[Any, Evaluation]:
    """The program of a spec, and what it says of these rows."""
    graph, _ = lower(spec, {"g": world.KNOWN})
    models = nn.ModuleDict({name: PlainModel(name) for name in world.SIGNATURES})
    program = assemble(graph, models, torch.float64)[0]
    values: dict[str, Any] = {}
    for name, kind in world.FIELDS.items():
        values |= parts_of(name, [row[name] for row in rows], kind)
    return program, Evaluation(*program.evaluate(values, torch.arange(len(rows))))


def close(found: float, expected: float) -> bool:
    return found == pytest.approx(expected, rel=1e-8, abs=1e-8)


def check(expressions: Mapping[str, TypedExpression], lost: Collection[str]) -> None:
    rows = rows_with(lost)
    change: Callable[[TypedExpression], TypedExpression] = lambda item: without(item, lost)  # noqa: E731
    metrics = [TypedMetric(name, change(expression)) for name, expression in expressions.items()]
    try:
        _, found = evaluated(world.spec(metrics), rows)
    except Refusal as refusal:  # a constant came about that is not finite, which is refused where it stands
        if {item.code for item in refusal.diagnostics} != {"PD310"}:
            raise
        return
    for metric in metrics:
        assert found.metrics[metric.name].shape == (len(rows),)
        for position, row in enumerate(rows):
            unit = RowValues(row, world.models, world.features)
            expected = metric_of(TypedMetric("", expressions[metric.name]), world.environment(), unit)
            assert close(found.metrics[metric.name][position].item(), expected), written(metric.value)


@given(strategies.reals(), LOST)
@GENERATED
def test_numbers_may_lose_their_row(expression: TypedExpression, lost: set[str]) -> None:
    check({"value": expression}, lost)


@given(strategies.complexes(), strategies.truths(), LOST)
@GENERATED
def test_complex_numbers_and_truths_may(expression: TypedExpression, truth: TypedExpression, lost: set[str]) -> None:
    check({"re": apply("re", expression), "im": apply("im", expression), "truth": truth}, lost)


@given(strategies.reals(ragged=True), LOST)
@GENERATED
def test_what_is_along_a_ragged_axis_may(expression: TypedExpression, lost: set[str]) -> None:
    with suppress(Refusal):  # PD294: it counts along an axis that nothing in it has
        check({"value": expression}, lost)


@given(strategies.families(), strategies.reals(depth=2), LOST)
@GENERATED
def test_constraints_and_objectives_may(family: TypedFamily, value: TypedExpression, lost: set[str]) -> None:
    def change(item: TypedExpression) -> TypedExpression:
        return without(item, lost)

    rows = rows_with(lost)
    binders = tuple(filtered(binder, change) for binder in family.binders)
    rowless = TypedFamily(family.name, binders, family.operators, tuple(map(change, family.operands)), None)
    spec = world.spec([], [rowless], [TypedObjective(change(value), real(2.0))])
    whole = world.spec([], [family], [TypedObjective(value, real(2.0))])
    program, found = evaluated(spec, rows)
    assert found.objective is not None
    assert found.objective.shape == (len(rows),)
    assert found.residuals.shape == (len(rows), program.layout.columns)
    mask = torch.ones_like(found.residuals, dtype=torch.bool) if found.mask is None else found.mask
    for position, row in enumerate(rows):
        unit = RowValues(row, world.models, world.features)
        assert close(
            found.objective[position].item(), objective_of(whole.blocks[0], world.environment(), unit, scaled=True)
        )
        entries = {(entry.part, entry.members): entry for entry in rows_of(family, world.environment(), unit)}
        column = 0
        for part in program.layout.parts:
            for members, scale in zip(part.members, part.scale, strict=True):
                entry = entries.pop((part.part, members), None)
                assert bool(mask[position, column]) == (entry is not None and not entry.masked)
                residual = 0.0 if entry is None else entry.residual
                assert close(found.residuals[position, column].item() * scale, residual)
                column += 1
        assert all(entry.masked for entry in entries.values())
