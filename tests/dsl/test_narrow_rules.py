"""Rules lose nothing that they need not: at one point a range is the value, over a box the hull of what is taken there.

Soundness is tested elsewhere (`test_interval`, `test_slopes`); a rule that answers "anything" is sound, and of no use.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from math import inf

import hypothesis.strategies as st
import pytest
from hypothesis import assume, given, settings
from registry import differentiated, others

from pdual.dsl.operations import OPERATIONS, REDUCTIONS, interval
from pdual.dsl.operations.interval import EITHER, FALSE, TRUE, Interval, point
from pdual.dsl.operations.slopes import slopes

ANY = (-2.5, -1.0, -0.4, 0.0, 0.3, 1.0, 1.7, 6.5)
NOT_NEGATIVE = tuple(x for x in ANY if x >= 0)
POSITIVE = (0.01, 0.3, 1.0, 2.0, 9.0)
#: Of even, and of circular functions.
TURNS = (0.0, *(k * math.pi / 2 for k in range(-2, 5)))
FEWER = settings(max_examples=25, deadline=None)

#: Derivatives of the smooth operations, by hand.
DERIVATIVES: dict[str, Callable[..., tuple[float, ...]]] = {
    "add": lambda x, y: (1.0, 1.0),
    "subtract": lambda x, y: (1.0, -1.0),
    "multiply": lambda x, y: (y, x),
    "divide": lambda x, y: (1 / y, -x / y**2),
    "negate": lambda x: (-1.0,),
    "square": lambda x: (2 * x,),
    "abs": lambda x: (math.copysign(1.0, x),),
    "sqrt": lambda x: (0.5 / math.sqrt(x),),
    "root": lambda x: (0.5 / math.sqrt(x),),
    "exp": lambda x: (math.exp(x),),
    "log": lambda x: (1 / x,),
    "sin": lambda x: (math.cos(x),),
    "cos": lambda x: (-math.sin(x),),
    "tanh": lambda x: (1 - math.tanh(x) ** 2,),
    "sigmoid": lambda x: (math.exp(-x) / (1 + math.exp(-x)) ** 2,),
    "softplus": lambda x: (1 / (1 + math.exp(-x)),),
    "relu": lambda x: (float(x > 0),),
    "max": lambda x, y: (float(x > y), float(y > x)),
    "min": lambda x, y: (float(x < y), float(y < x)),
    "atan2": lambda y, x: (x / (x * x + y * y), -y / (x * x + y * y)),
    "as_real": lambda x: (1.0,),
}
DERIVATIVES |= {name: differentiated(name) for name in others({*DERIVATIVES, "power"})}
#: Where each argument may be.
GRIDS: Mapping[str, tuple[Sequence[float], ...]] = {
    **{name: (ANY,) * OPERATIONS[name].arity for name in DERIVATIVES},
    **dict.fromkeys(("add", "subtract", "multiply", "max", "min"), (ANY, ANY)),
    **dict.fromkeys(("negate", "square", "abs", "exp", "sin", "cos", "tanh", "sigmoid", "softplus", "relu", "as_real"), (ANY,)),
    **dict.fromkeys(("sqrt", "root"), (NOT_NEGATIVE,)),
    "divide": (ANY, POSITIVE), "log": (POSITIVE,), "atan2": (ANY, POSITIVE),
}  # fmt: skip


def box(values: Sequence[float]) -> st.SearchStrategy[Interval]:
    """Two of some numbers, or two of those between them."""
    ends = st.sampled_from(list(values)) | st.floats(min(values), max(values), allow_subnormal=False)
    return st.tuples(ends, ends).map(lambda pair: Interval(*sorted(pair)))


def sampled(boxes: Sequence[Interval]) -> list[tuple[float, ...]]:
    """Points of a box: its corners, where a function of one number may turn, and some between."""
    count = 61 if len(boxes) == 1 else 13
    axes = [
        [a.lo, a.hi, *(x for x in TURNS if x in a), *(a.lo + (a.hi - a.lo) * k / count for k in range(1, count))]
        for a in boxes
    ]
    return list(product(*axes))


def close(interval: Interval, low: float, high: float, slack: float) -> bool:
    """Whether a range is the hull, but for a share of its size."""
    size = slack * max(1.0, abs(low), abs(high))
    return low - size <= interval.lo <= low + size and high - size <= interval.hi <= high + size


@pytest.mark.parametrize("name", sorted(GRIDS))
@FEWER
@given(data=st.data())
def test_a_range_is_the_hull_of_the_values(name: str, data: st.DataObject) -> None:
    rule = OPERATIONS[name].interval
    assert rule is not None
    boxes = [data.draw(box(grid)) for grid in GRIDS[name]]
    values = [OPERATIONS[name].meaning(*at) for at in sampled(boxes)]
    assert close(rule(*boxes), min(values), max(values), 1e-12)


@pytest.mark.parametrize("name", sorted(GRIDS))
@FEWER
@given(data=st.data())
def test_at_one_point_a_range_is_the_value_and_a_slope_the_derivative(name: str, data: st.DataObject) -> None:
    at = [data.draw(st.sampled_from(list(grid))) for grid in GRIDS[name]]
    rule = OPERATIONS[name].interval
    assert rule is not None
    value = float(OPERATIONS[name].meaning(*at))
    assert close(rule(*map(point, at)), value, value, 1e-14)
    kinked = (name in ("abs", "relu", "sqrt", "root") and at[0] == 0) or (name in ("max", "min") and at[0] == at[1])
    assume(not kinked)
    for found, expected in zip(slopes(name, [point(x) for x in at]), DERIVATIVES[name](*at), strict=True):
        assert found is not None
        assert close(found, expected, expected, 1e-13)


@pytest.mark.parametrize("name", sorted(set(GRIDS) - {"divide", "atan2"}))
@FEWER
@given(data=st.data())
def test_a_slope_is_the_hull_of_the_derivatives(name: str, data: st.DataObject) -> None:
    boxes = [data.draw(box(grid)) for grid in GRIDS[name]]
    assume(name not in ("sqrt", "root") or boxes[0].lo > 0.1)
    inside = [at for at in sampled(boxes) if not (name in ("max", "min") and at[0] == at[1])]
    assume(inside)
    found = slopes(name, boxes)
    for place, slope in enumerate(found):
        hull = [DERIVATIVES[name](*at)[place] for at in inside]
        assert slope is not None
        if name in ("abs", "relu") and 0 in (boxes[0].lo, boxes[0].hi):
            continue  # both sides of the kink count
        if name in ("max", "min") and boxes[0].hi >= boxes[1].lo and boxes[1].hi >= boxes[0].lo:
            assert slope == EITHER
            continue
        assert close(
            slope, min(hull), max(hull), 1e-3 if name in ("sin", "cos", "tanh", "sigmoid", "abs", "relu") else 1e-12
        )


KINKS = [
    ((0.0, 0.0), True, True), ((0.0, 2.0), True, True), ((-2.0, 0.0), True, True), ((1e-300, 2.0), False, True),
    ((-2.0, -1e-300), True, False),
]  # fmt: skip


@pytest.mark.parametrize("name", ["abs", "relu"])
@pytest.mark.parametrize(("of", "left", "right"), KINKS)
def test_both_sides_of_a_kink_count(name: str, of: tuple[float, float], left: bool, right: bool) -> None:
    (found,) = slopes(name, [Interval(*of)])
    low = -1.0 if name == "abs" else 0.0
    assert found == Interval(low if left else 1.0, 1.0 if right else low)


@FEWER
@given(box(POSITIVE), box(ANY), st.sampled_from([-3.0, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0]))
def test_powers(positive: Interval, of: Interval, exponent: float) -> None:
    rule = OPERATIONS["power"].interval
    assert rule is not None
    for base in (positive, of) if exponent in (0.0, 1.0, 2.0, 3.0, 4.0) else (positive,):
        values = [x**exponent for (x,) in sampled([base])]
        assert close(rule(base, point(exponent)), min(values), max(values), 1e-12)
        if exponent in (0.0, 1.0, 2.0, 3.0, 4.0) and base is of:
            partial = [exponent * x ** (exponent - 1) if exponent else 0.0 for (x,) in sampled([base])]
            slope = slopes("power", [base, point(exponent)])[0]
            assert slope is not None
            assert close(slope, min(partial), max(partial), 1e-12)


@pytest.mark.parametrize(
    ("base", "exponent", "expected"),
    [
        ((-1.0, 2.0), (0.5, 0.5), (-inf, inf)),
        ((0.0, 2.0), (0.5, 1.5), (0.0, inf)),
        ((-1.0, 2.0), (2.0, 3.0), (-inf, inf)),
        ((0.0, 4.0), (-1.0, -1.0), (0.25, inf)),
    ],
)
def test_powers_of_which_less_is_known(
    base: tuple[float, float], exponent: tuple[float, float], expected: tuple[float, float]
) -> None:
    rule = OPERATIONS["power"].interval
    assert rule is not None
    assert rule(Interval(*base), Interval(*exponent)) == pytest.approx(expected)


@pytest.mark.parametrize("name", ["equal", "unequal", "at_most", "at_least", "below", "above"])
@FEWER
@given(box((0.0, 1.0, 2.0, 3.0)), box((0.0, 1.0, 2.0, 3.0)))
def test_a_comparison_is_open_only_where_it_is_both(name: str, a: Interval, b: Interval) -> None:
    rule = OPERATIONS[name].interval
    assert rule is not None
    meeting = [x for x in (a.lo, a.hi, b.lo, b.hi) if x in a and x in b]
    points = [(x, y) for x in (a.lo, a.hi, *meeting) for y in (b.lo, b.hi, *meeting)]
    answers = {bool(OPERATIONS[name].meaning(x, y)) for x, y in points}
    assert rule(a, b) == Interval(float(min(answers)), float(max(answers)))


@pytest.mark.parametrize("name", ["and", "or", "not"])
def test_truth_values_are_enumerated(name: str) -> None:
    rule = OPERATIONS[name].interval
    assert rule is not None
    for boxes in product([FALSE, TRUE, EITHER], repeat=OPERATIONS[name].arity):
        found = {
            bool(OPERATIONS[name].meaning(*(bool(x) for x in at))) for at in product(*({a.lo, a.hi} for a in boxes))
        }
        assert rule(*boxes) == Interval(float(min(found)), float(max(found)))


def test_a_choice_is_between_two() -> None:
    rule = OPERATIONS["where"].interval
    assert rule is not None
    assert rule(EITHER, Interval(5.0, 6.0), Interval(-2.0, 1.0)) == Interval(-2.0, 6.0)
    assert slopes("where", [EITHER, Interval(5.0, 6.0), Interval(-2.0, 1.0)]) == (None, EITHER, EITHER)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("tanh", (-1, 1)), ("sigmoid", (0, 1)), ("sin", (-1, 1)), ("cos", (-1, 1)), ("exp", (0, inf)), ("softplus", (0, inf)),
     ("relu", (0, inf)), ("abs", (0, inf)), ("square", (0, inf)), ("atan2", (-math.pi, math.pi))],
)  # fmt: skip
def test_a_limit_of_a_function_is_not_rounded_outward(name: str, expected: tuple[float, float]) -> None:
    operation = OPERATIONS[name]
    assert operation.interval is not None
    assert operation.interval(*[Interval(-inf, inf)] * operation.arity) == expected
    if name not in ("atan2", "square", "relu", "abs", "exp"):
        far = operation.interval(Interval(-1e4, 1e4))
        assert far == (expected[0], expected[1] if name != "softplus" else far.hi)
    if name in ("tanh", "sigmoid"):
        assert slopes(name, [Interval(-inf, inf)]) == ((0.0, 1.0 if name == "tanh" else 0.25),)


def test_a_logarithm_has_no_lowest_value_where_its_argument_reaches_zero() -> None:
    rule = OPERATIONS["log"].interval
    assert rule is not None
    for low in (-1.0, 0.0):
        found = rule(Interval(low, 1.0))
        assert found.lo == -inf
        assert found.hi == pytest.approx(0.0, abs=1e-12)


def test_the_angle_of_nothing_is_zero_whatever_the_signs_of_its_zeros() -> None:
    for x in (0.0, -0.0):
        for y in (0.0, -0.0):
            assert OPERATIONS["arg"].meaning(complex(x, y)) == 0.0
            assert OPERATIONS["atan2"].meaning(y, x) == 0.0


KEPT = st.sampled_from([FALSE, TRUE, EITHER])


@pytest.mark.parametrize("name", ["sum", "max", "min", "count"])
@FEWER
@given(items=st.lists(st.tuples(box(ANY), KEPT), min_size=1, max_size=4))
def test_a_reduction_is_the_hull_over_what_may_be_kept(name: str, items: list[tuple[Interval, Interval]]) -> None:
    reduction = REDUCTIONS[name]
    ends: list[float] = []
    for chosen in product(*({bool(kept.lo), bool(kept.hi)} for _, kept in items)):
        there = [value for (value, _), keep in zip(items, chosen, strict=True) if keep]
        if there or reduction.of_none is not None:
            for side in ("lo", "hi"):
                values = [getattr(value, side) for value in there]
                ends.append(float(reduction.meaning(values)) if values else float(reduction.of_none or 0.0))
    assume(ends)
    assert close(reduction.interval(items), min(ends), max(ends), 1e-13)


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ([((1.0, 3.0), TRUE), ((4.0, 5.0), EITHER), ((-9.0, 9.0), FALSE)], (1.0, 5.0)),
        ([((-1.0, 3.0), TRUE)], (-1.0, 3.0)),
        ([((-1.0, 3.0), FALSE)], (-inf, inf)),
        ([((-inf, 3.0), TRUE), ((0.0, 1.0), TRUE)], (-inf, 3.0)),
        ([((0.0, inf), EITHER), ((0.0, 1.0), TRUE)], (0.0, inf)),
    ],
)
def test_a_mean_is_between_what_is_averaged(
    items: list[tuple[tuple[float, float], Interval]], expected: tuple[float, float]
) -> None:
    found = REDUCTIONS["mean"].interval([(Interval(*value), kept) for value, kept in items])
    assert found == pytest.approx(expected, rel=1e-14, abs=1e-14)


def test_a_sum_of_two_is_their_sum_and_one_of_three_knows_no_order() -> None:
    a, b, c = Interval(0.1, 0.7), Interval(-0.2, 1e8), Interval(-1e8, 0.3)
    total = REDUCTIONS["sum"].interval
    assert total([(a, TRUE), (c, FALSE), (b, TRUE)]) == interval.add(a, b)
    exact = interval.add(interval.add(a, b), c)
    found = total([(a, TRUE), (b, TRUE), (c, TRUE)])
    slack = 3 * sys.float_info.epsilon * (0.7 + 1e8 + 1e8)
    assert (found.lo, found.hi) == (exact.lo - slack, exact.hi + slack)


@pytest.mark.parametrize("ends", [(-3.0, 1.0), (-1.0, 3.0)])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_mean_is_wider_by_its_roundings_alone(ends: tuple[float, float], count: int) -> None:
    found = REDUCTIONS["mean"].interval([(Interval(*ends), TRUE)] * count)
    slack = (count + 1) * sys.float_info.epsilon * 3.0
    assert found == (math.nextafter(ends[0] - slack, -inf), math.nextafter(ends[1] + slack, inf))


@pytest.mark.parametrize("signs", [1.0, -1.0])
def test_a_long_sum_of_one_sign_keeps_it(signs: float) -> None:
    found = REDUCTIONS["sum"].interval([(Interval(*sorted((0.0, signs * 1e-3))), TRUE)] * 5 + [(point(0.0), TRUE)] * 3)
    assert (found.lo if signs > 0 else found.hi) == 0.0
    assert abs(found.lo + found.hi) == pytest.approx(5e-3, rel=1e-12)


@pytest.mark.parametrize(
    "name", sorted(name for name, operation in OPERATIONS.items() if operation.lipschitz is not None)
)
def test_a_lipschitz_constant_is_reached(name: str) -> None:
    declared = OPERATIONS[name].lipschitz
    assert declared is not None
    grids = [[*TURNS, *ANY, 30.0]] * OPERATIONS[name].arity
    steepest = max(
        math.hypot(*DERIVATIVES[name](*at)) for at in product(*grids) if name not in ("max", "min") or at[0] != at[1]
    )
    assert declared == pytest.approx(steepest, rel=1e-9)
