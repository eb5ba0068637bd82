"""Intervals backwards: from the range of a result to narrower ranges of the arguments. Pure functions, sound under floating point.

``contract`` narrows the arguments of one primitive: whatever arguments within their ranges give a result within its range, as meant or
as emitted, stay within the narrowed ones. Primitives without a rule narrow nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from math import inf, nextafter

from pdual.dsl.operations.interval import (
    EVERYTHING,
    FALSE,
    TRUE,
    Interval,
    add,
    divide,
    increasing,
    negate,
    outward,
    subtract,
    union,
)

Rule = Callable[[Sequence[Interval], Interval], Sequence["Interval | None"]]

#: The smallest normal number: below it a product or a square may have lost all its digits.
_NORMAL = 2.2250738585072014e-308


def intersect(a: Interval, b: Interval) -> Interval | None:
    """What both hold; None where that is nothing."""
    low, high = max(a.lo, b.lo), min(a.hi, b.hi)
    return Interval(low, high) if low <= high else None


def contract(operation: str, arguments: Sequence[Interval], result: Interval) -> tuple[Interval, ...] | None:
    """The arguments' ranges given the result's; None where no arguments within their ranges give such a result."""
    rule = _RULES.get(operation)
    if rule is None:
        return tuple(arguments)
    narrowed = []
    for before, after in zip(arguments, rule(arguments, _rounded(result)), strict=True):
        both = None if after is None else intersect(before, after)
        if both is None:
            return None
        narrowed.append(both)
    return tuple(narrowed)


def _rounded(result: Interval) -> Interval:
    """What an exact result may have been whose rounded value lies in ``result``: two units, and what underflows."""
    once = outward(result.lo, result.hi)
    twice = outward(once.lo, once.hi)
    return Interval(
        twice.lo if abs(twice.lo) >= _NORMAL else twice.lo - _NORMAL,
        twice.hi if abs(twice.hi) >= _NORMAL else twice.hi + _NORMAL,
    )


def _add(arguments: Sequence[Interval], result: Interval) -> Sequence[Interval]:
    x, y = arguments
    return subtract(result, y), subtract(result, x)


def _subtract(arguments: Sequence[Interval], result: Interval) -> Sequence[Interval]:
    x, y = arguments
    return add(result, y), subtract(x, result)


def _multiply(arguments: Sequence[Interval], result: Interval) -> Sequence[Interval]:
    x, y = arguments
    return _quotient(result, y), _quotient(result, x)


def _quotient(result: Interval, factor: Interval) -> Interval:
    """x from x * factor; a factor that may be 0 says nothing where the product may be 0."""
    if 0 in factor and 0 in result:
        return EVERYTHING
    return divide(result, factor)


def _divide(arguments: Sequence[Interval], result: Interval) -> Sequence[Interval]:
    from pdual.dsl.operations.interval import multiply

    x, y = arguments
    return multiply(result, y), _quotient(x, result)


def _square(arguments: Sequence[Interval], result: Interval) -> Sequence[Interval | None]:
    (x,) = arguments
    if result.hi < 0:
        return (None,)
    far, near = _root_of(result.hi), math.sqrt(max(result.lo, 0.0))
    near = max(0.0, nextafter(near, -inf))
    return (_two_sided(x, near, far),)


def _root_of(value: float) -> float:
    return inf if math.isinf(value) else nextafter(math.sqrt(max(value, 0.0)), inf)


def _two_sided(x: Interval, near: float, far: float) -> Interval | None:
    """``near <= |x| <= far``."""
    sides = [intersect(x, Interval(near, far)), intersect(x, Interval(-far, -near))]
    held = [side for side in sides if side is not None]
    if not held:
        return None
    return held[0] if len(held) == 1 else union(*held)


def _abs(arguments: Sequence[Interval], result: Interval) -> Sequence[Interval | None]:
    (x,) = arguments
    return (None if result.hi < 0 else _two_sided(x, max(result.lo, 0.0), result.hi),)


def _max(arguments: Sequence[Interval], result: Interval) -> Sequence[Interval]:
    x, y = arguments
    return tuple(
        Interval(result.lo if other.hi < result.lo else -inf, result.hi) for other in (y, x)
    )  # where the other is too small, this one must be the larger


def _min(arguments: Sequence[Interval], result: Interval) -> Sequence[Interval]:
    x, y = arguments
    return tuple(Interval(result.lo, result.hi if other.lo > result.hi else inf) for other in (y, x))


def _inverse(
    function: Callable[[float], float], low: float = -inf, high: float = inf, below: float = -inf, above: float = inf
) -> Rule:
    """The rule of an increasing function by its inverse, whose arguments lie in [low, high].

    At ``below`` and further left, and at ``above`` and further right, the function may already say what it says at infinity.
    """
    inward = increasing(function)

    def rule(arguments: Sequence[Interval], result: Interval) -> Sequence[Interval | None]:
        clipped = intersect(result, Interval(low, high))
        if clipped is None:
            return (None,)
        found = inward(clipped)
        wide = 4 * math.ulp(1.0)
        low_end = found.lo - wide * abs(found.lo) if math.isfinite(found.lo) else found.lo
        high_end = found.hi + wide * abs(found.hi) if math.isfinite(found.hi) else found.hi
        return (Interval(min(low_end, above), max(high_end, below)),)

    return rule


def _root(arguments: Sequence[Interval], result: Interval) -> Sequence[Interval | None]:
    """What is emitted has 1e-30 under the root."""
    (found,) = _RULES["sqrt"](arguments, result)
    return (None if found is None else Interval(nextafter(found.lo - 1e-30, -inf), found.hi),)


def _logit(value: float) -> float:
    if value <= 0:
        return -inf
    return inf if value >= 1 else math.log(value) - math.log1p(-value)


def _softplus_inverse(value: float) -> float:
    if value <= 0:
        return -inf
    return value + math.log(-math.expm1(-value))


def _logarithm(value: float) -> float:
    return math.log(value) if value > 0 else -inf


def _arctanh(value: float) -> float:
    return inf if value >= 1 else -inf if value <= -1 else math.atanh(value)


def _relu(arguments: Sequence[Interval], result: Interval) -> Sequence[Interval | None]:
    if result.hi < 0:
        return (None,)
    return (Interval(result.lo if result.lo > 0 else -inf, result.hi),)


def _where(arguments: Sequence[Interval], result: Interval) -> Sequence[Interval | None]:
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


_RULES: Mapping[str, Rule] = {
    "add": _add,
    "subtract": _subtract,
    "negate": lambda arguments, result: (negate(result),),
    "multiply": _multiply,
    "divide": _divide,
    "square": _square,
    "abs": _abs,
    "max": _max,
    "min": _min,
    "exp": _inverse(_logarithm, low=0.0),
    "log": _inverse(math.exp),
    "sqrt": _inverse(lambda x: x * x, low=0.0),
    "root": _root,
    # Beyond these arguments the functions, in single precision too, are their limits.
    "tanh": _inverse(_arctanh, -1.0, 1.0, below=-9.0, above=9.0),
    "sigmoid": _inverse(_logit, 0.0, 1.0, below=-80.0, above=16.0),
    "softplus": _inverse(_softplus_inverse, low=0.0, below=-80.0),
    "relu": _relu,
    "as_real": lambda arguments, result: (result,),
    "where": _where,
}
