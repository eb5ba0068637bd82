"""Elementary functions and the activations built from them."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from typing import Any

from pdual.dsl.operations import interval
from pdual.dsl.operations.emission import torch_function
from pdual.dsl.operations.interval import Interval, increasing
from pdual.dsl.operations.operation import Applier, Curvature, Operation, Pair, Parts
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


EXP = Operation(
    "exp", 1, "a number", analytic, lambda x: cmath.exp(x) if isinstance(x, complex) else math.exp(x), named("exp"),
    _lower_exp, increasing(math.exp, low=0.0), torch_function("exp"), Curvature.CONVEX, "+",
)  # fmt: skip
LOG = Operation(
    "log", 1, "a real number", real_valued, math.log, named("log"), None,
    increasing(lambda x: math.log(x) if x > 0 else -math.inf), torch_function("log"), Curvature.CONCAVE, "+",
)  # fmt: skip
SQRT = Operation(
    "sqrt", 1, "a real number", real_valued, math.sqrt, lambda x: rf"\sqrt{{{x}}}", None, increasing(_root, low=0.0),
    torch_function("sqrt"), Curvature.CONCAVE, "+",
)  # fmt: skip
SIN = Operation(
    "sin", 1, "a real number", real_valued, math.sin, named("sin"), None, interval.circle(math.sin, math.pi / 2),
    torch_function("sin"), lipschitz=1.0,
)  # fmt: skip
COS = Operation(
    "cos", 1, "a real number", real_valued, math.cos, named("cos"), None, interval.circle(math.cos, 0.0),
    torch_function("cos"), lipschitz=1.0,
)  # fmt: skip
TANH = Operation(
    "tanh", 1, "a real number", real_valued, math.tanh, named("tanh"), None, increasing(math.tanh, -1.0, 1.0),
    torch_function("tanh"), monotone="+", lipschitz=1.0,
)  # fmt: skip
SIGMOID = Operation(
    "sigmoid", 1, "a real number", real_valued, _sigmoid, named("sigmoid"), None, _sigmoid_range,
    torch_function("sigmoid"), monotone="+", lipschitz=0.25,
)  # fmt: skip
SOFTPLUS = Operation(
    "softplus", 1, "a real number", real_valued, _softplus, named("softplus"), None, increasing(_softplus, low=0.0),
    _emit_softplus, Curvature.CONVEX, "+", 1.0,
)  # fmt: skip
RELU = Operation(
    "relu", 1, "a real number", real_valued, lambda x: max(float(x), 0.0), lambda x: rf"\left[{x}\right]_+", None,
    lambda a: interval.maximum(a, interval.FALSE), torch_function("relu"), Curvature.CONVEX, "+", 1.0,
)  # fmt: skip

OPERATIONS = (EXP, LOG, SQRT, SIN, COS, TANH, SIGMOID, SOFTPLUS, RELU)
