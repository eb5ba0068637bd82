"""Elementary functions and the activations built from them."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Sequence
from math import inf
from typing import Any

from pdual.dsl.operations import interval
from pdual.dsl.operations.backwards import by_inverse
from pdual.dsl.operations.emission import torch_function
from pdual.dsl.operations.interval import (
    EITHER,
    FALSE,
    TRUE,
    Interval,
    circle,
    increasing,
    multiply,
    negate,
    outward,
    point,
    reciprocal,
    square,
    subtract,
)
from pdual.dsl.operations.operation import Applier, Curvature, Domain, Operation, Pair, Parts, Slopes
from pdual.dsl.operations.rules import analytic, named, real_valued


def _emit_softplus() -> Callable[..., Any]:
    from torch.nn.functional import softplus

    # Above the threshold torch returns x itself; its default of 20 is off by 2e-9, too much in double precision.
    return lambda x: softplus(x, threshold=40.0)


def _lower_exp(apply: Applier, x: Parts) -> Parts:
    if not isinstance(x, Pair):
        return apply("exp", x)
    size = apply("exp", x.re)
    return Pair(apply("multiply", size, apply("cos", x.im)), apply("multiply", size, apply("sin", x.im)))


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def _sigmoid_range(a: Interval) -> Interval:
    """Far to the left torch's sigmoid is 0, in single precision as in double."""
    rule = increasing(_sigmoid, 0.0, 1.0)
    return Interval(0.0 if a.lo < -80 else rule(a).lo, rule(a).hi)


def _softplus(x: float) -> float:
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


def _root(x: float) -> float:
    return math.sqrt(max(x, 0.0))


def half_root(x: Interval) -> Slopes:
    """The slope of a square root."""
    root = increasing(_root, low=0.0)(x)
    return (multiply(point(0.5), reciprocal(root)) if root.lo > 0 else Interval(0.0, inf),)


def _log_slope(x: Interval) -> Slopes:
    return (reciprocal(Interval(max(0.0, x.lo), x.hi)) if x.hi > 0 else None,)


def _tanh_slope(x: Interval) -> Slopes:
    value = increasing(math.tanh, -1.0, 1.0)(x)
    return (_within(subtract(point(1.0), square(value)), 1.0),)


_LOGISTIC = increasing(_sigmoid, 0.0, 1.0)


def _sigmoid_slope(x: Interval) -> Slopes:
    value = _LOGISTIC(x)
    # s (1 - s) = 1/4 - (s - 1/2)^2, which reads s once.
    return (_within(subtract(point(0.25), square(subtract(value, point(0.5)))), 0.25),)


def _within(interval: Interval, most: float) -> Interval:
    return Interval(max(0.0, interval.lo), min(most, interval.hi))


_PEAK = outward(2 / math.sqrt(math.pi), 2 / math.sqrt(math.pi))


def _erf_slope(x: Interval) -> Slopes:
    """2 / sqrt(pi) exp(-x^2)."""
    bell = increasing(math.exp, low=0.0)(negate(square(x)))
    return (_within(multiply(_PEAK, bell), _PEAK.hi),)


def _logarithm(value: float) -> float:
    return math.log(value) if value > 0 else -inf


def _arctanh(value: float) -> float:
    return inf if value >= 1 else -inf if value <= -1 else math.atanh(value)


def _logit(value: float) -> float:
    if value <= 0:
        return -inf
    return inf if value >= 1 else math.log(value) - math.log1p(-value)


def _softplus_inverse(value: float) -> float:
    if value <= 0:
        return -inf
    return value + math.log(-math.expm1(-value))


def _narrow_relu(arguments: Sequence[Interval], result: Interval) -> Sequence[Interval | None]:
    if result.hi < 0:
        return (None,)
    return (Interval(result.lo if result.lo > 0 else -inf, result.hi),)


NARROW_SQRT = by_inverse(lambda x: x * x, low=0.0)


def _is_negative(known: Interval, declared: bool) -> bool:
    return not math.isinf(known.lo) and known.lo < 0


def _is_not_positive(known: Interval, declared: bool) -> bool:
    return _is_negative(known, declared) or (known.lo == 0 and declared)


EXP = Operation(
    "exp", 1, "a number", analytic, lambda x: cmath.exp(x) if isinstance(x, complex) else math.exp(x), named("exp"),
    _lower_exp, increasing(math.exp, low=0.0), torch_function("exp"), Curvature.CONVEX, "+",
    slope=lambda x: (increasing(math.exp, low=0.0)(x),), narrow=by_inverse(_logarithm, low=0.0),
    line="`exp(x)`: the exponential",
)  # fmt: skip
LOG = Operation(
    "log", 1, "a real number", real_valued, math.log, named("log"), None,
    increasing(_logarithm), torch_function("log"), Curvature.CONCAVE, "+", slope=_log_slope, narrow=by_inverse(math.exp),
    domain=Domain(0, "argument", "be positive", _is_not_positive),
    line="`log(x)`: the natural logarithm",
)  # fmt: skip
SQRT = Operation(
    "sqrt", 1, "a real number", real_valued, math.sqrt, lambda x: rf"\sqrt{{{x}}}", None, increasing(_root, low=0.0),
    torch_function("sqrt"), Curvature.CONCAVE, "+", slope=half_root, narrow=NARROW_SQRT,
    domain=Domain(0, "argument", "not be negative", _is_negative),
    line="`sqrt(x)`: the square root",
)  # fmt: skip
SIN = Operation(
    "sin", 1, "a real number", real_valued, math.sin, named("sin"), None, interval.circle(math.sin, math.pi / 2),
    torch_function("sin"), lipschitz=1.0, slope=lambda x: (circle(math.cos, 0.0)(x),),
    line="`sin(x)`: the sine, of radians",
)  # fmt: skip
COS = Operation(
    "cos", 1, "a real number", real_valued, math.cos, named("cos"), None, interval.circle(math.cos, 0.0),
    torch_function("cos"), lipschitz=1.0, slope=lambda x: (negate(circle(math.sin, math.pi / 2)(x)),),
    line="`cos(x)`: the cosine, of radians",
)  # fmt: skip
TANH = Operation(
    "tanh", 1, "a real number", real_valued, math.tanh, named("tanh"), None, increasing(math.tanh, -1.0, 1.0),
    torch_function("tanh"), monotone="+", lipschitz=1.0, slope=_tanh_slope,
    narrow=by_inverse(_arctanh, -1.0, 1.0, below=-9.0, above=9.0),  # beyond, in single precision too, it is its limit
    line="`tanh(x)`: the hyperbolic tangent",
)  # fmt: skip
SIGMOID = Operation(
    "sigmoid", 1, "a real number", real_valued, _sigmoid, named("sigmoid"), None, _sigmoid_range,
    torch_function("sigmoid"), monotone="+", lipschitz=0.25, slope=_sigmoid_slope,
    narrow=by_inverse(_logit, 0.0, 1.0, below=-80.0, above=16.0),
    line="`sigmoid(x)`: 1 / (1 + exp(-x))",
)  # fmt: skip
SOFTPLUS = Operation(
    "softplus", 1, "a real number", real_valued, _softplus, named("softplus"), None, increasing(_softplus, low=0.0),
    _emit_softplus, Curvature.CONVEX, "+", 1.0, slope=lambda x: (_LOGISTIC(x),),
    narrow=by_inverse(_softplus_inverse, low=0.0, below=-80.0),
    line="`softplus(x)`: log(1 + exp(x))",
)  # fmt: skip
RELU = Operation(
    "relu", 1, "a real number", real_valued, lambda x: max(float(x), 0.0), lambda x: rf"\left[{x}\right]_+", None,
    lambda a: interval.maximum(a, interval.FALSE), torch_function("relu"), Curvature.CONVEX, "+", 1.0,
    slope=lambda x: (TRUE if x.lo > 0 else FALSE if x.hi < 0 else EITHER,), narrow=_narrow_relu,
    line="`relu(x)`: max(x, 0)",
)  # fmt: skip
ERF = Operation(
    "erf", 1, "a real number", real_valued, math.erf, named("erf"), None, increasing(math.erf, -1.0, 1.0),
    torch_function("erf"), monotone="+", lipschitz=_PEAK.hi, slope=_erf_slope,
    line="`erf(x)`: the error function",
)  # fmt: skip

OPERATIONS = (EXP, LOG, SQRT, SIN, COS, TANH, SIGMOID, SOFTPLUS, RELU, ERF)
