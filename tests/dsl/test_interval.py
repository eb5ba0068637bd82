"""Intervals are sound: the value, as meant and as emitted, lies in the range derived from the arguments'."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Any

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import assume, given, settings
from registry import SMOOTH

from pdual.dsl.operations import OPERATIONS, REDUCTIONS, interval
from pdual.dsl.operations.interval import EITHER, EVERYTHING, FALSE, TRUE, Interval

#: Corners, zeros, huge and tiny numbers beside ordinary ones.
SPECIAL = (
    0.0, -0.0, 1.0, -1.0, 0.5, -2.0, math.pi, -math.pi / 2, 30.0, 709.0, -710.0, -745.0, 5e-324, -5e-324,
    1e-170, -1e-170, 1e-300, 1e170, -1e170, 1e300, -1e300, 1.7976931348623157e308,
)  # fmt: skip
ENDS = st.sampled_from(SPECIAL) | st.floats(-1e3, 1e3)
POSITIVE = st.sampled_from([5e-324, 1e-300, 1e-170, 0.5, 1.0, 30.0, 1e170, 1e300]) | st.floats(1e-3, 1e3)
NOT_NEGATIVE = st.just(0.0) | POSITIVE
TRUTH = st.booleans()
TAME = st.floats(-50.0, 50.0)


@st.composite
def boxes(draw: st.DrawFn, ends: st.SearchStrategy[float]) -> tuple[Interval, float]:
    """An interval, perhaps open at infinity on a side, and a number in it (often an end)."""
    a, b, c = sorted((draw(ends), draw(ends), draw(ends)))
    value = draw(st.sampled_from([a, b, c]))
    lo = -inf if draw(st.integers(0, 9)) == 0 and a < 0 else a
    hi = inf if draw(st.integers(0, 9)) == 0 and c > 0 else c
    return Interval(lo, hi), value


@st.composite
def truths(draw: st.DrawFn) -> tuple[Interval, bool]:
    value = draw(TRUTH)
    return draw(st.sampled_from([EITHER, TRUE if value else FALSE])), value


def numbers(*ends: st.SearchStrategy[float]) -> st.SearchStrategy[tuple[tuple[Interval, Any], ...]]:
    return st.tuples(*(boxes(end) for end in ends))


EXPONENT = st.sampled_from([-3.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 7.0, 64.0])
POINT_EXPONENT = EXPONENT.map(lambda n: (Interval(n, n), n))

CASES: Mapping[str, st.SearchStrategy[tuple[tuple[Interval, Any], ...]]] = {
    **{
        name: numbers(*[ENDS] * operation.arity)
        for name, operation in OPERATIONS.items()
        if operation.interval is not None
    },
    **{name: numbers(NOT_NEGATIVE) for name in ("sqrt", "root")},
    "log": numbers(POSITIVE),
    "power": st.tuples(boxes(ENDS), POINT_EXPONENT)
    | st.tuples(boxes(NOT_NEGATIVE), POINT_EXPONENT)
    | st.tuples(boxes(POSITIVE), boxes(TAME)),
    "and": st.tuples(truths(), truths()),
    "or": st.tuples(truths(), truths()),
    "not": st.tuples(truths()),
    "where": st.tuples(truths(), boxes(ENDS), boxes(ENDS)),
}


def rule(name: str) -> Callable[..., Interval]:
    found = OPERATIONS[name].interval
    assert found is not None
    return found


def emitted(name: str, *values: Any) -> float:
    emit = OPERATIONS[name].emit
    assert emit is not None
    tensors = [torch.tensor(v, dtype=torch.bool if isinstance(v, bool) else torch.float64) for v in values]
    return float(emit()(*tensors))


@pytest.mark.parametrize("name", sorted(CASES))
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_value_is_in_the_range(name: str, data: st.DataObject) -> None:
    arguments = data.draw(CASES[name])
    found = rule(name)(*(box for box, _ in arguments))
    values = [value for _, value in arguments]
    assert not math.isnan(found.lo)
    assert not math.isnan(found.hi)
    assert found.lo <= found.hi
    try:
        meant = OPERATIONS[name].meaning(*values)
    except OverflowError:
        assert math.isinf(found.lo) or math.isinf(found.hi)
    except (ValueError, ZeroDivisionError):
        assume(False)
    else:
        assert float(meant) in found
    assert emitted(name, *values) in found


@given(numbers(ENDS, ENDS))
def test_modulus_by_parts_is_in_its_range(parts: tuple[tuple[Interval, float], ...]) -> None:
    (re_box, re), (im_box, im) = parts
    found = rule("root")(interval.add(interval.square(re_box), interval.square(im_box)))
    assert math.hypot(re, im) in found
    assert emitted("root", re * re + im * im) in found


# --- how tight ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "boxes", "expected"),
    [
        ("add", [(1, 2), (10, 20)], (11, 22)),
        ("subtract", [(1, 2), (10, 20)], (-19, -8)),
        ("multiply", [(-1, 2), (-3, 5)], (-6, 10)),
        ("multiply", [(-inf, 2), (0, 5)], (-inf, 10)),
        ("divide", [(1, 2), (4, 5)], (0.2, 0.5)),
        ("divide", [(1, 2), (0, 5)], (0.2, inf)),
        ("divide", [(1, 2), (-1, 5)], (-inf, inf)),
        ("negate", [(-1, 2)], (-2, 1)),
        ("square", [(-3, 2)], (0, 9)),
        ("square", [(-3, -2)], (4, 9)),
        ("power", [(-3, 2), (2, 2)], (0, 9)),
        ("power", [(-3, 2), (3, 3)], (-27, 8)),
        ("power", [(-3, 2), (4, 4)], (0, 81)),
        ("power", [(4, 9), (0.5, 0.5)], (2, 3)),
        ("power", [(2, 4), (-1, -1)], (0.25, 0.5)),
        ("power", [(-2, 4), (0, 0)], (1, 1)),
        ("abs", [(-3, 2)], (0, 3)),
        ("abs", [(-3, -2)], (2, 3)),
        ("root", [(4, 9)], (2, 3)),
        ("sqrt", [(0, 9)], (0, 3)),
        ("log", [(1, math.e)], (0, 1)),
        ("exp", [(-inf, 0)], (0, 1)),
        ("sin", [(0, 1)], (0, math.sin(1))),
        ("sin", [(0, 2)], (0, 1)),
        ("sin", [(0, 4)], (math.sin(4), 1)),
        ("cos", [(0, 1)], (math.cos(1), 1)),
        ("cos", [(3, 4)], (-1, math.cos(4))),
        ("cos", [(0, 7)], (-1, 1)),
        ("tanh", [(-inf, inf)], (-1, 1)),
        ("sigmoid", [(0, inf)], (0.5, 1)),
        ("softplus", [(-inf, 0)], (0, math.log(2))),
        ("relu", [(-2, 3)], (0, 3)),
        ("max", [(-1, 2), (0, 1)], (0, 2)),
        ("min", [(-1, 2), (0, 1)], (-1, 1)),
        ("atan2", [(-1, 1), (1, 2)], (-math.pi / 4, math.pi / 4)),
        ("atan2", [(-1, 1), (-1, 2)], (-math.pi, math.pi)),
    ],
)
def test_ranges_are_tight(name: str, boxes: Sequence[tuple[float, float]], expected: tuple[float, float]) -> None:
    found = rule(name)(*(Interval(float(lo), float(hi)) for lo, hi in boxes))
    assert found.lo == pytest.approx(expected[0], rel=1e-14, abs=2e-15)
    assert found.hi == pytest.approx(expected[1], rel=1e-14, abs=2e-15)


@pytest.mark.parametrize(
    ("name", "a", "b", "expected"),
    [
        ("equal", (1, 1), (1, 1), TRUE),
        ("equal", (1, 2), (3, 4), FALSE),
        ("equal", (1, 3), (3, 4), EITHER),
        ("unequal", (1, 1), (1, 1), FALSE),
        ("unequal", (1, 2), (3, 4), TRUE),
        ("unequal", (1, 3), (3, 4), EITHER),
        ("at_most", (1, 2), (2, 3), TRUE),
        ("at_most", (3, 4), (1, 2), FALSE),
        ("at_most", (1, 3), (2, 4), EITHER),
        ("at_most", (-inf, inf), (inf, inf), TRUE),
        ("below", (1, 2), (2, 3), EITHER),
        ("below", (1, 2), (3, 4), TRUE),
        ("below", (2, 3), (1, 2), FALSE),
        ("at_least", (2, 3), (1, 2), TRUE),
        ("above", (1, 2), (2, 3), FALSE),
    ],
)
def test_comparisons_are_decided_where_they_can_be(
    name: str, a: tuple[float, float], b: tuple[float, float], expected: Interval
) -> None:
    assert rule(name)(Interval(*a), Interval(*b)) == expected


def test_truth_values_and_choice() -> None:
    low, high = Interval(0.0, 1.0), Interval(5.0, 6.0)
    assert rule("and")(TRUE, EITHER) == EITHER
    assert rule("and")(FALSE, EITHER) == FALSE
    assert rule("or")(TRUE, EITHER) == TRUE
    assert rule("not")(EITHER) == EITHER
    assert rule("not")(TRUE) == FALSE
    assert rule("where")(TRUE, low, high) == low
    assert rule("where")(FALSE, low, high) == high
    assert rule("where")(EITHER, low, high) == Interval(0.0, 6.0)


def test_points_stay_exact_where_nothing_is_computed() -> None:
    a = Interval(0.1, 0.3)
    zero, one = interval.point(0.0), interval.point(1.0)
    assert interval.add(a, zero) == a
    assert interval.add(zero, a) == a
    assert interval.subtract(a, zero) == a
    assert interval.multiply(one, a) == a
    assert interval.multiply(interval.point(-1.0), a) == interval.negate(a)
    assert interval.multiply(zero, EVERYTHING) == zero
    assert interval.divide(a, one) == a
    assert interval.square(zero) == zero
    assert not interval.point(inf).is_point


@pytest.mark.parametrize(("name", "peak"), [("sin", math.pi / 2), ("cos", 0.0)])
@given(turns=st.integers(-(10**7), 10**7), before=st.floats(0, 0.5), after=st.floats(0, 0.5))
def test_a_turn_near_an_end_counts_however_far_from_zero(
    name: str, peak: float, turns: int, before: float, after: float
) -> None:
    top, bottom = peak + turns * 2 * math.pi, peak + math.pi + turns * 2 * math.pi
    assert rule(name)(Interval(top - before, top + after)).hi == 1.0
    assert rule(name)(Interval(bottom - before, bottom + after)).lo == -1.0


def test_beside_a_turn_rounding_does_not_pass_it() -> None:
    assert rule("cos")(Interval(1e-8, 1.0)).hi == 1.0
    assert rule("cos")(Interval(math.pi + 1e-8, 4.0)).lo == -1.0


def test_reciprocal_of_zero_alone_says_nothing() -> None:
    assert interval.reciprocal(interval.point(0.0)) == EVERYTHING


def test_large_even_powers_do_not_recurse() -> None:
    found = interval.power(Interval(-1.0, 0.5), interval.point(2.0**1000))
    assert found.lo == 0.0
    assert found.hi == pytest.approx(1.0)


# --- reductions --------------------------------------------------------------------------------------------


@st.composite
def candidates(draw: st.DrawFn) -> list[tuple[Interval, Interval, float, bool]]:
    """Some candidates of a reduction: (range, whether kept, value, kept or not)."""
    found = []
    for _ in range(draw(st.integers(1, 5))):
        box, value = draw(boxes(TAME))
        kept, truth = draw(truths())
        found.append((box, kept, value, truth))
    return found


@pytest.mark.parametrize("name", sorted(REDUCTIONS))
@given(items=candidates())
@settings(max_examples=60, deadline=None)
def test_reduced_value_is_in_the_range(name: str, items: list[tuple[Interval, Interval, float, bool]]) -> None:
    reduction = REDUCTIONS[name]
    found = reduction.interval([(box, kept) for box, kept, _, _ in items])
    values = [value for _, _, value, truth in items if truth]
    if not values and reduction.of_none is None:
        return
    value = reduction.meaning(values) if values else reduction.of_none
    assert value is not None
    assert value in found


def test_range_of_a_mean_of_equal_numbers_holds_its_rounding() -> None:
    values = [0.1] * 3
    found = REDUCTIONS["mean"].interval([(interval.point(0.1), TRUE)] * 3)
    assert REDUCTIONS["mean"].meaning(values) in found
    assert sum(values) / 3 in found
    assert found.hi - found.lo < 1e-15


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("sum", (1.0, 8.0)),
        ("mean", (1.0, 5.0)),
        ("max", (1.0, 5.0)),
        ("min", (1.0, 3.0)),
        ("count", (1.0, 2.0)),
    ],
)
def test_ranges_of_reductions_are_tight(name: str, expected: tuple[float, float]) -> None:
    items = [(Interval(1.0, 3.0), TRUE), (Interval(4.0, 5.0), EITHER), (Interval(-9.0, 9.0), FALSE)]
    found = REDUCTIONS[name].interval(items)
    assert found.lo == pytest.approx(expected[0], rel=1e-14)
    assert found.hi == pytest.approx(expected[1], rel=1e-14)


# --- compositions ------------------------------------------------------------------------------------------

UNARY = tuple(name for name in SMOOTH if OPERATIONS[name].arity == 1 and name not in ("sqrt", "root", "log", "as_real"))
BINARY = ("add", "subtract", "multiply", "divide", "max", "min", "atan2")


@st.composite
def trees(draw: st.DrawFn, depth: int = 4) -> tuple[Interval, float]:
    """A random expression as its range by composed rules and its value at one point of its variables."""
    if depth == 0 or draw(st.integers(0, 4)) == 0:
        return draw(boxes(TAME))
    name = draw(st.sampled_from(UNARY + BINARY))
    operands = [draw(trees(depth - 1)) for _ in range(OPERATIONS[name].arity)]
    found = rule(name)(*(box for box, _ in operands))
    try:
        value = OPERATIONS[name].meaning(*(value for _, value in operands))
    except ArithmeticError:
        assume(False)
    assume(math.isfinite(value))
    return found, value


@given(trees())
@settings(max_examples=200, deadline=None)
def test_value_of_a_composition_is_in_the_composed_range(tree: tuple[Interval, float]) -> None:
    found, value = tree
    assert value in found
