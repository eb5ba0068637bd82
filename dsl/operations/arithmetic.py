"""Addition, subtraction, multiplication, division, negation and powers."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from math import inf, nextafter
from typing import Any

from pdual.dsl.operations import interval
from pdual.dsl.operations.backwards import quotient, two_sided
from pdual.dsl.operations.emission import torch_function
from pdual.dsl.operations.interval import Interval, divide, multiply, negate, point, reciprocal, square
from pdual.dsl.operations.operation import ARRAYS, Applier, Curvature, Domain, Operation, Pair, Parts, Result, Slopes
from pdual.dsl.operations.rules import fraction, infix, numeric, real_valued


def _pairwise(primitive: str) -> Callable[..., Parts]:
    def lower(apply: Applier, x: Parts, y: Parts) -> Parts:
        if not isinstance(x, Pair) and not isinstance(y, Pair):
            return apply(primitive, x, y)
        left = x if isinstance(x, Pair) else Pair(x, apply.number(0.0))
        right = y if isinstance(y, Pair) else Pair(y, apply.number(0.0))
        return Pair(apply(primitive, left.re, right.re), apply(primitive, left.im, right.im))

    return lower


def _lower_multiply(apply: Applier, x: Parts, y: Parts) -> Parts:
    if isinstance(x, Pair) and isinstance(y, Pair):
        return Pair(
            apply("subtract", apply("multiply", x.re, y.re), apply("multiply", x.im, y.im)),
            apply("add", apply("multiply", x.re, y.im), apply("multiply", x.im, y.re)),
        )
    if isinstance(x, Pair):
        return Pair(apply("multiply", x.re, y), apply("multiply", x.im, y))
    if isinstance(y, Pair):
        return Pair(apply("multiply", x, y.re), apply("multiply", x, y.im))
    return apply("multiply", x, y)


def _lower_divide(apply: Applier, x: Parts, y: Parts) -> Parts:
    if isinstance(y, Pair):
        modulus = apply("add", apply("square", y.re), apply("square", y.im))
        inverse = Pair(apply("divide", y.re, modulus), apply("negate", apply("divide", y.im, modulus)))
        return _lower_multiply(apply, x, inverse)
    if isinstance(x, Pair):
        return Pair(apply("divide", x.re, y), apply("divide", x.im, y))
    return apply("divide", x, y)


def _lower_negate(apply: Applier, x: Parts) -> Parts:
    return Pair(apply("negate", x.re), apply("negate", x.im)) if isinstance(x, Pair) else apply("negate", x)


def _lower_square(apply: Applier, x: Parts) -> Parts:
    return _lower_multiply(apply, x, x) if isinstance(x, Pair) else apply("square", x)


def _multiplied(x: Any, y: Any) -> Any:
    """A real factor multiplies each part by itself, so that an infinite part leaves the other one alone."""
    if isinstance(x, complex) and not isinstance(y, complex):
        return complex(x.real * y, x.imag * y)
    if isinstance(y, complex) and not isinstance(x, complex):
        return complex(x * y.real, x * y.imag)
    return x * y


def _divided(x: Any, y: Any) -> Any:
    if y == 0:
        raise ZeroDivisionError("division by zero")
    if isinstance(x, complex) and not isinstance(y, complex):
        return complex(x.real / y, x.imag / y)
    return x / y


def _raised(x: float, y: float) -> float:
    if x < 0 and y != math.floor(y):
        raise ValueError("a negative number has no power that is not whole")
    power: float = float(x) ** y
    # The float overflows first, so that no power of whole numbers is longer than a thousand bits.
    return x**y if isinstance(x, int) and isinstance(y, int) and y >= 0 else power


def _quotient_slope(x: Interval, y: Interval) -> Slopes:
    return reciprocal(y), negate(divide(x, square(y)))


def _power_slope(x: Interval, exponent: Interval) -> Slopes:
    if not exponent.is_point:
        return None, None
    n = exponent.lo
    return (multiply(point(n), interval.power(x, point(n - 1.0))), None)


def _may_be_zero(known: Interval, declared: bool) -> bool:
    if math.isinf(known.lo) and math.isinf(known.hi):
        return False  # nothing is known of it
    return known.lo < 0 < known.hi or (0 in known and declared)


def _narrow_add(arguments: Sequence[Interval], result: Interval) -> Sequence[Interval]:
    x, y = arguments
    return interval.subtract(result, y), interval.subtract(result, x)


def _narrow_subtract(arguments: Sequence[Interval], result: Interval) -> Sequence[Interval]:
    x, y = arguments
    return interval.add(result, y), interval.subtract(x, result)


def _narrow_multiply(arguments: Sequence[Interval], result: Interval) -> Sequence[Interval]:
    x, y = arguments
    return quotient(result, y), quotient(result, x)


def _narrow_divide(arguments: Sequence[Interval], result: Interval) -> Sequence[Interval]:
    x, y = arguments
    return multiply(result, y), quotient(x, result)


def _narrow_square(arguments: Sequence[Interval], result: Interval) -> Sequence[Interval | None]:
    (x,) = arguments
    if result.hi < 0:
        return (None,)
    far = inf if math.isinf(result.hi) else nextafter(math.sqrt(result.hi), inf)
    near = nextafter(math.sqrt(max(result.lo, 0.0)), -inf)
    return (two_sided(x, max(0.0, near), far),)


ADD = Operation(
    "add", 2, "two numbers", numeric, operator.add, infix("+"), _pairwise("add"), interval.add, torch_function("add"),
    Curvature.AFFINE, "+", surface=False, symbol="+", slope=lambda x, y: (point(1.0), point(1.0)), narrow=_narrow_add,
    gives=Result.AS_ARGUMENTS, commutative=True, binding=5, arrays=f"{ARRAYS}:add",
)  # fmt: skip
SUBTRACT = Operation(
    "subtract", 2, "two numbers", numeric, operator.sub, infix("-"), _pairwise("subtract"), interval.subtract,
    torch_function("sub"), Curvature.AFFINE, "+-", surface=False, symbol="-",
    slope=lambda x, y: (point(1.0), point(-1.0)), narrow=_narrow_subtract,
    gives=Result.AS_ARGUMENTS, binding=5, arrays=f"{ARRAYS}:subtract",
)  # fmt: skip
MULTIPLY = Operation(
    "multiply", 2, "two numbers", numeric, _multiplied, infix(r"\,"), _lower_multiply, interval.multiply,
    torch_function("mul"), surface=False, symbol="*", slope=lambda x, y: (y, x), narrow=_narrow_multiply,
    gives=Result.AS_ARGUMENTS, commutative=True, binding=6, arrays=f"{ARRAYS}:multiply",
)  # fmt: skip
DIVIDE = Operation(
    "divide", 2, "two numbers", fraction, _divided, lambda x, y: rf"\frac{{{x}}}{{{y}}}", _lower_divide,
    interval.divide, torch_function("div"), surface=False, symbol="/", slope=_quotient_slope, narrow=_narrow_divide,
    domain=Domain(1, "denominator", "not be 0", _may_be_zero),
)  # fmt: skip
NEGATE = Operation(
    "negate", 1, "a number", numeric, operator.neg, lambda x: f"-{x}", _lower_negate, interval.negate,
    torch_function("neg"), Curvature.AFFINE, "-", 1.0, surface=False, symbol="-",
    slope=lambda x: (point(-1.0),), narrow=lambda arguments, result: (negate(result),),
    gives=Result.AS_ARGUMENTS, binding=5, arrays=f"{ARRAYS}:negate",
)  # fmt: skip
POWER = Operation(
    "power", 2, "a real number and a real exponent", real_valued, _raised, lambda x, y: f"{{{x}}}^{{{y}}}",
    None, interval.power, torch_function("pow"), surface=False, symbol="^", slope=_power_slope,
    binding=8,
)  # fmt: skip
SQUARE = Operation(
    "square", 1, "a number", numeric, lambda x: x * x, lambda x: f"{{{x}}}^2", _lower_square, interval.square,
    torch_function("square"), Curvature.CONVEX, surface=False, slope=lambda x: (multiply(point(2.0), x),), narrow=_narrow_square,
    gives=Result.AS_ARGUMENTS, binding=8, arrays=f"{ARRAYS}:square",
)  # fmt: skip

OPERATIONS = (ADD, SUBTRACT, MULTIPLY, DIVIDE, NEGATE, POWER, SQUARE)
