"""Ranges of the partial derivatives of every primitive, given the ranges of its arguments. Pure functions, sound as ``interval`` is.

Where a function has a kink the slopes of both sides count. None stands for a derivative that does not exist: a jump.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from math import inf

from pdual.dsl.operations.interval import (
    EITHER,
    FALSE,
    TRUE,
    Interval,
    add,
    circle,
    divide,
    increasing,
    multiply,
    negate,
    point,
    power,
    reciprocal,
    square,
    subtract,
)

Slopes = tuple["Interval | None", ...]

_ONE, _MINUS = point(1.0), point(-1.0)


def slopes(operation: str, arguments: Sequence[Interval]) -> Slopes:
    """The range of the derivative in every argument."""
    rule = _RULES.get(operation)
    return (None,) * len(arguments) if rule is None else rule(*arguments)


def _quotient(x: Interval, y: Interval) -> Slopes:
    return reciprocal(y), negate(divide(x, square(y)))


def _sign(x: Interval) -> Slopes:
    return (Interval(-1.0 if x.lo <= 0 else 1.0, 1.0 if x.hi >= 0 else -1.0),)


def _half_root(x: Interval) -> Slopes:
    root = increasing(lambda v: math.sqrt(max(v, 0.0)), low=0.0)(x)
    return (multiply(point(0.5), reciprocal(root)) if root.lo > 0 else Interval(0.0, inf),)


def _tanh(x: Interval) -> Slopes:
    value = increasing(math.tanh, -1.0, 1.0)(x)
    return (_within(subtract(_ONE, square(value)), 1.0),)


def _logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


_SIGMOID = increasing(_logistic, 0.0, 1.0)


def _sigmoid(x: Interval) -> Slopes:
    value = _SIGMOID(x)
    # s (1 - s) = 1/4 - (s - 1/2)^2, which reads s once.
    return (_within(subtract(point(0.25), square(subtract(value, point(0.5)))), 0.25),)


def _within(found: Interval, most: float) -> Interval:
    return Interval(max(0.0, found.lo), min(most, found.hi))


def _relu(x: Interval) -> Slopes:
    return (TRUE if x.lo > 0 else FALSE if x.hi < 0 else EITHER,)


def _max(x: Interval, y: Interval) -> Slopes:
    if x.lo > y.hi:
        return TRUE, FALSE
    return (FALSE, TRUE) if y.lo > x.hi else (EITHER, EITHER)


def _min(x: Interval, y: Interval) -> Slopes:
    first, second = _max(x, y)
    return second, first


def _where(condition: Interval, then: Interval, otherwise: Interval) -> Slopes:
    if condition == TRUE:
        return FALSE, TRUE, FALSE
    return (FALSE, FALSE, TRUE) if condition == FALSE else (None, EITHER, EITHER)


def _power(x: Interval, exponent: Interval) -> Slopes:
    if not exponent.is_point:
        return None, None
    n = exponent.lo
    return (multiply(point(n), power(x, point(n - 1.0))), None)


def _atan2(y: Interval, x: Interval) -> Slopes:
    size = add(square(x), square(y))
    if x.lo <= 0 and 0 in y:
        return None, None  # the branch cut, or the origin
    return divide(x, size), negate(divide(y, size))


_RULES: Mapping[str, Callable[..., Slopes]] = {
    "add": lambda x, y: (_ONE, _ONE),
    "subtract": lambda x, y: (_ONE, _MINUS),
    "multiply": lambda x, y: (y, x),
    "divide": _quotient,
    "negate": lambda x: (_MINUS,),
    "square": lambda x: (multiply(point(2.0), x),),
    "abs": _sign,
    "sqrt": _half_root,
    "root": _half_root,
    "exp": lambda x: (increasing(math.exp, low=0.0)(x),),
    "log": lambda x: (reciprocal(Interval(max(0.0, x.lo), x.hi)) if x.hi > 0 else None,),
    "sin": lambda x: (circle(math.cos, 0.0)(x),),
    "cos": lambda x: (negate(circle(math.sin, math.pi / 2)(x)),),
    "tanh": _tanh,
    "sigmoid": _sigmoid,
    "softplus": lambda x: (_SIGMOID(x),),
    "relu": _relu,
    "max": _max,
    "min": _min,
    "where": _where,
    "power": _power,
    "atan2": _atan2,
    "as_real": lambda x: (_ONE,),
}  # fmt: skip
