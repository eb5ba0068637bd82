"""Comparisons, truth values, choice, and the larger or smaller of two. An equality of complex numbers compares both parts."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from math import inf

from pdual.dsl.operations import interval
from pdual.dsl.operations.emission import torch_function
from pdual.dsl.operations.interval import EITHER, FALSE, TRUE, Interval, intersect
from pdual.dsl.operations.operation import ARRAYS, Applier, Curvature, Operation, Pair, Parts, Result, Slopes
from pdual.dsl.operations.rules import chosen, comparable, equatable, infix, named, ordered, truth


def _equal(a: Interval, b: Interval) -> Interval:
    if a.is_point and b.is_point and a.lo == b.lo:
        return TRUE
    return FALSE if a.hi < b.lo or b.hi < a.lo else EITHER


def _negation(a: Interval) -> Interval:
    return Interval(1.0 - a.hi, 1.0 - a.lo)


def _at_most(a: Interval, b: Interval) -> Interval:
    if a.hi <= b.lo:
        return TRUE
    return FALSE if a.lo > b.hi else EITHER


def _below(a: Interval, b: Interval) -> Interval:
    if a.hi < b.lo:
        return TRUE
    return FALSE if a.lo >= b.hi else EITHER


def _choose(condition: Interval, then: Interval, otherwise: Interval) -> Interval:
    if condition == TRUE:
        return then
    return otherwise if condition == FALSE else interval.union(then, otherwise)


def _lower_equal(apply: Applier, x: Parts, y: Parts) -> Parts:
    if not isinstance(x, Pair) and not isinstance(y, Pair):
        return apply("equal", x, y)
    left = x if isinstance(x, Pair) else Pair(x, apply.number(0.0))
    right = y if isinstance(y, Pair) else Pair(y, apply.number(0.0))
    return apply("and", apply("equal", left.re, right.re), apply("equal", left.im, right.im))


def _lower_unequal(apply: Applier, x: Parts, y: Parts) -> Parts:
    return apply("not", _lower_equal(apply, x, y))


def _lower_where(apply: Applier, condition: Parts, x: Parts, y: Parts) -> Parts:
    if not isinstance(x, Pair) and not isinstance(y, Pair):
        return apply("where", condition, x, y)
    left = x if isinstance(x, Pair) else Pair(x, apply.number(0.0))
    right = y if isinstance(y, Pair) else Pair(y, apply.number(0.0))
    return Pair(apply("where", condition, left.re, right.re), apply("where", condition, left.im, right.im))


def _max_slope(x: Interval, y: Interval) -> Slopes:
    if x.lo > y.hi:
        return TRUE, FALSE
    return (FALSE, TRUE) if y.lo > x.hi else (EITHER, EITHER)


def _min_slope(x: Interval, y: Interval) -> Slopes:
    first, second = _max_slope(x, y)
    return second, first


def _where_slope(condition: Interval, then: Interval, otherwise: Interval) -> Slopes:
    if condition == TRUE:
        return FALSE, TRUE, FALSE
    return (FALSE, FALSE, TRUE) if condition == FALSE else (None, EITHER, EITHER)


def _narrow_max(arguments: Sequence[Interval], result: Interval) -> Sequence[Interval]:
    x, y = arguments
    # Where the other is too small, this one must be the larger.
    return tuple(Interval(result.lo if other.hi < result.lo else -inf, result.hi) for other in (y, x))


def _narrow_min(arguments: Sequence[Interval], result: Interval) -> Sequence[Interval]:
    x, y = arguments
    return tuple(Interval(result.lo, result.hi if other.lo > result.hi else inf) for other in (y, x))


def _narrow_where(arguments: Sequence[Interval], result: Interval) -> Sequence[Interval | None]:
    condition, then, otherwise = arguments
    if condition == TRUE:
        return condition, result, otherwise
    if condition == FALSE:
        return condition, then, result
    first, second = intersect(then, result), intersect(otherwise, result)
    if first is None and second is None:
        return None, None, None
    # Only the branch that is taken obeys; where one cannot, the other is taken.
    if first is None:
        return FALSE, then, result
    return (TRUE, result, otherwise) if second is None else (condition, then, otherwise)


EQUAL = Operation(
    "equal", 2, "two numbers, two truth values or two members of one set", equatable, operator.eq, infix("="),
    _lower_equal, _equal, torch_function("eq"), surface=False, symbol="==",
    gives=Result.TRUTH, binding=4,
)  # fmt: skip
UNEQUAL = Operation(
    "unequal", 2, "two numbers, two truth values or two members of one set", equatable, operator.ne, infix(r"\neq"),
    _lower_unequal, lambda a, b: _negation(_equal(a, b)), torch_function("ne"), surface=False, symbol="!=",
    gives=Result.TRUTH, binding=4,
)  # fmt: skip
AT_MOST = Operation(
    "at_most", 2, "two real numbers", comparable, operator.le, infix(r"\leq"), None, _at_most, torch_function("le"),
    surface=False, symbol="<=",
    gives=Result.TRUTH, binding=4,
)  # fmt: skip
AT_LEAST = Operation(
    "at_least", 2, "two real numbers", comparable, operator.ge, infix(r"\geq"), None, lambda a, b: _at_most(b, a),
    torch_function("ge"), surface=False, symbol=">=",
    gives=Result.TRUTH, binding=4,
)  # fmt: skip
BELOW = Operation(
    "below", 2, "two real numbers", comparable, operator.lt, infix("<"), None, _below, torch_function("lt"), surface=False,
    symbol="<",
    gives=Result.TRUTH, binding=4,
)  # fmt: skip
ABOVE = Operation(
    "above", 2, "two real numbers", comparable, operator.gt, infix(">"), None, lambda a, b: _below(b, a),
    torch_function("gt"), surface=False, symbol=">",
    gives=Result.TRUTH, binding=4,
)  # fmt: skip
AND = Operation(
    "and", 2, "two truth values", truth, lambda a, b: a and b, infix(r"\wedge"), None, interval.minimum,
    torch_function("logical_and"), surface=False, symbol="and",
    gives=Result.TRUTH, binding=2,
)  # fmt: skip
OR = Operation(
    "or", 2, "two truth values", truth, lambda a, b: a or b, infix(r"\vee"), None, interval.maximum,
    torch_function("logical_or"), surface=False, symbol="or",
    gives=Result.TRUTH, binding=1,
)  # fmt: skip
NOT = Operation(
    "not", 1, "a truth value", truth, operator.not_, lambda a: rf"\neg {a}", None,
    _negation, torch_function("logical_not"), surface=False, symbol="not",
    gives=Result.TRUTH, binding=3,
)  # fmt: skip
WHERE = Operation(
    "where", 3, "a truth value and two values of one kind", chosen, lambda c, a, b: a if c else b,
    lambda c, a, b: rf"\begin{{cases}}{a} & {c}\\ {b} & \text{{otherwise}}\end{{cases}}", _lower_where, _choose,
    torch_function("where"), surface=False, slope=_where_slope, narrow=_narrow_where,
    gives=Result.AS_CHOSEN,
)  # fmt: skip
MAX = Operation(
    "max", 2, "two real numbers", ordered, max, named("max"), None, interval.maximum, torch_function("maximum"),
    Curvature.CONVEX, "+", 1.0, slope=_max_slope, narrow=_narrow_max,
    line="`max(a, b)`, `max[i in SET](x)`: the larger, the largest; in `expect`, over the rows of a split",
    gives=Result.AS_ARGUMENTS, arrays=f"{ARRAYS}:maximum",
)  # fmt: skip
MIN = Operation(
    "min", 2, "two real numbers", ordered, min, named("min"), None, interval.minimum, torch_function("minimum"),
    Curvature.CONCAVE, "+", 1.0, slope=_min_slope, narrow=_narrow_min,
    line="`min(a, b)`, `min[i in SET](x)`: the smaller, the smallest",
    gives=Result.AS_ARGUMENTS, arrays=f"{ARRAYS}:minimum",
)  # fmt: skip

OPERATIONS = (EQUAL, UNEQUAL, AT_MOST, AT_LEAST, BELOW, ABOVE, AND, OR, NOT, WHERE, MAX, MIN)
