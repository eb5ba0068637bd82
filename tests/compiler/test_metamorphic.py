"""What must not change the meaning of a spec, or change it in a known way, on generated specs through the whole front end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
import strategies
import torch
import world
from drafts import SOURCE, Given, Origin, Statements, World, declarations, given_by, same, statements
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from rewriting import (
    ORDER,
    PERMUTED,
    always,
    apart,
    everywhere_filtered,
    inlined,
    multiplied,
    over_all,
    over_operands,
    permuted,
    renamed,
    turned,
)
from strategies import apply, real, row_field
from torch import Tensor

from pdual.dsl.declarations.registry import sources
from pdual.dsl.typed import TypedExpression, TypedFamily

GENERATED = settings(
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    max_examples=16,
    deadline=None,
    derandomize=True,
    report_multiple_bugs=False,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
)
FAMILY, OBJECTIVE = strategies.families(), strategies.reals(depth=2)
#: Holds in every row, and only a row tells.
TRUE_IN_ROWS = apply("at_least", apply("square", row_field("s")), real(0.0))
#: Holds, and is known beforehand.
TRUE = apply(
    "below",
    real(0.0),
    strategies.select(
        strategies.given_field("x"), strategies.Literal(strategies.ArrayType(strategies.MemberOf("a")), 0)
    ),
)


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The world is a source while a test runs."""
    monkeypatch.setitem(sources()._loaded, "world", SOURCE)  # type: ignore[attr-defined]


def close(tensor: Tensor, expected: Tensor, what: str) -> None:
    torch.testing.assert_close(tensor, expected, rtol=1e-9, atol=1e-9, msg=lambda text: f"{what}: {text}")


def agree(given: Given, expected: Given, text: str, scales: bool = True) -> None:
    """Objective, rows, slopes; ``scales``: what rows are divided by too."""
    close(given.objective, expected.objective, f"objective\n{text}")
    assert given.entries.keys() == expected.entries.keys(), text
    for name, entry in expected.entries.items():
        close(given.entries[name].residual, entry.residual, f"{name}\n{text}")
        if scales:
            assert given.entries[name].ranged == entry.ranged, text
            assert given.entries[name].scale == pytest.approx(entry.scale, rel=1e-9), text
    for name, slope in expected.slopes.items():
        close(given.slopes[name], slope, f"slope in {name}\n{text}")


def base_of(family: TypedFamily, objective: TypedExpression) -> tuple[Statements, Given]:
    """The spec as it was drawn, and what it gives; a spec that is refused is not asked."""
    written = statements((family,), objective)
    found = given_by(written.text)
    assume(found is not None)
    assert found is not None
    return written, found


def held(text: str, expected: Given, place: World | None = None, origin: Origin = same, scales: bool = True) -> Given:
    """Assert that a variant is accepted and agrees."""
    found = given_by(text, place, origin)
    assert found is not None, text
    agree(found, expected, text, scales)
    return found


@given(FAMILY, OBJECTIVE)
@GENERATED
def test_names_of_indices_lets_and_rows_say_nothing(family: TypedFamily, objective: TypedExpression) -> None:
    written, expected = base_of(family, objective)
    text = renamed(written.text)
    assert " r." not in text
    held(text, expected)


@given(FAMILY, strategies.families(name="others"), OBJECTIVE, st.randoms(use_true_random=False))
@GENERATED
def test_statements_come_in_any_order(one: TypedFamily, other: TypedFamily, objective: TypedExpression, draw) -> None:
    written = statements((one, other), objective)
    expected = given_by(written.text)
    assume(expected is not None)
    assert expected is not None
    whole, inside = list(written.whole), list(written.inside)
    draw.shuffle(whole)
    draw.shuffle(inside)
    text = replace(written, whole=tuple(whole), inside=tuple(inside)).text
    held(text, expected)
    problem, *rest = text.split("\n", 1)
    block = rest[0].index("over r in rows")
    held("\n".join((problem, rest[0][block:], rest[0][:block])), expected)


@given(FAMILY, OBJECTIVE)
@GENERATED
def test_a_let_is_its_body(family: TypedFamily, objective: TypedExpression) -> None:
    written, expected = base_of(family, objective)
    assume(written.lets)
    without = statements((over_all(family, inlined),), inlined(objective))
    assert not without.lets
    held(without.text, expected)


@given(FAMILY, OBJECTIVE)
@GENERATED
def test_a_relation_may_be_read_from_its_other_end(family: TypedFamily, objective: TypedExpression) -> None:
    _, expected = base_of(family, objective)
    sign = (
        -1.0 if family.operators == ("==",) else 1.0
    )  # left - right of an equality turns its sign, and so does its multiplier
    held(statements((turned(family),), objective).text, expected, origin=lambda part: (part, sign))


@given(FAMILY.filter(lambda family: len(family.operators) == 2), OBJECTIVE)
@GENERATED
def test_a_two_sided_relation_is_two(family: TypedFamily, objective: TypedExpression) -> None:
    _, expected = base_of(family, objective)
    lower_first = family.operators[0] == "<="

    def origin(part: str) -> tuple[str, float]:
        name, _, component = part.partition(".")
        lower = (name == "first") == lower_first
        sides = [component] if component else []
        return ".".join(["limits", *sides, "lower" if lower else "upper"]), 1.0

    # One side alone has another feasible range than both.
    held(statements(apart(family), objective).text, expected, origin=origin, scales=False)


@given(FAMILY, OBJECTIVE)
@GENERATED
def test_members_come_in_any_order(family: TypedFamily, objective: TypedExpression) -> None:
    written, expected = base_of(family, objective)
    text = replace(written, whole=declarations(PERMUTED.labels)).text
    assert text != written.text
    slopes = {}
    for model, signature in world.SIGNATURES.items():
        for output in signature.outputs:
            axes = replace(output.type, element=strategies.Kind.REAL)
            sets = [axis for axis in axes.axes if isinstance(axis, strategies.SetAxis)]
            names = [name for name in expected.slopes if name.startswith(f"{model}.o{output.name}")]
            for name in names:
                moved = permuted(expected.slopes[name].tolist(), replace(axes, axes=tuple(sets)), ORDER)
                slopes[name] = torch.tensor(moved, dtype=torch.float64)
    held(text, replace(expected, slopes=slopes), PERMUTED)


@given(FAMILY, OBJECTIVE)
@GENERATED
def test_a_row_does_not_see_the_others(family: TypedFamily, objective: TypedExpression) -> None:
    written, expected = base_of(family, objective)
    singles = [given_by(written.text, World(rows=[row])) for row in world.ROWS]
    assert all(single is not None for single in singles)
    found = [single for single in singles if single is not None]
    close(torch.cat([single.objective for single in found]), expected.objective, written.text)
    for name, entry in expected.entries.items():
        apart_ = torch.cat([s.entries[name].residual if name in s.entries else torch.zeros(1).double() for s in found])
        close(apart_, entry.residual, f"{name}\n{written.text}")
    for name, slope in expected.slopes.items():
        close(sum((single.slopes[name] for single in found), torch.zeros_like(slope)), slope, f"{name}\n{written.text}")


@given(FAMILY, OBJECTIVE, st.sampled_from([0.25, 4.0]))
@GENERATED
def test_a_constraint_times_a_number(family: TypedFamily, objective: TypedExpression, factor: float) -> None:
    """Rows with a feasible range are scaled as before; the multiplier in the problem's units is divided by the number."""
    _, expected = base_of(family, objective)
    text = statements((multiplied(family, factor),), objective).text
    found = held(text, expected, origin=lambda part: (part, factor), scales=False)
    for name, entry in expected.entries.items():
        if entry.ranged and entry.scale >= 0.01:  # small ranges are filled from others
            assert found.entries[name].scale == pytest.approx(entry.scale, rel=1e-9), text


@given(FAMILY, OBJECTIVE, st.sampled_from([TRUE, TRUE_IN_ROWS]))
@GENERATED
def test_a_filter_that_always_holds(
    family: TypedFamily, objective: TypedExpression, condition: TypedExpression
) -> None:
    _, expected = base_of(family, objective)
    filtered = over_operands(family, lambda operand: everywhere_filtered(operand, condition))
    binders = tuple(always(binder, condition) for binder in filtered.binders)
    text = statements((replace(filtered, binders=binders),), everywhere_filtered(objective, condition)).text
    # What a filter keeps is not known to the ranges where a row tells.
    held(text, expected, scales=condition is TRUE)


def test_relations_are_asked_of_specs_that_have_what_they_are_about() -> None:
    """Masks, ranges, lets and slopes are among what is drawn."""
    seen: Mapping[str, int] = {"entries": 0, "ranges": 0, "lets": 0, "slopes": 0}
    counts = dict(seen)

    @given(FAMILY, OBJECTIVE)
    @GENERATED
    def count(family: TypedFamily, objective: TypedExpression) -> None:
        written, found = base_of(family, objective)
        counts["entries"] += bool(found.entries)
        counts["ranges"] += any(entry.ranged for entry in found.entries.values())
        counts["lets"] += bool(written.lets)
        counts["slopes"] += any(bool(slope.any()) for slope in found.slopes.values())

    count()
    assert min(counts.values()) > 0, counts
