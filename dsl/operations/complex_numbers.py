"""Parts, modulus and argument of complex numbers. ``abs`` and ``arg`` have gradient 0 at 0."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Sequence
from math import inf, nextafter
from typing import Any

from pdual.dsl.operations import interval
from pdual.dsl.operations.backwards import two_sided
from pdual.dsl.operations.elementary import NARROW_SQRT, half_root
from pdual.dsl.operations.interval import Interval, add, divide, increasing, negate, square
from pdual.dsl.operations.operation import ARRAYS, Applier, Curvature, Operation, Pair, Parts, Result, Slopes
from pdual.dsl.operations.rules import analytic, named, real_valued, to_real

# Under the root of a modulus: far below any square that matters in float32, it only makes the gradient at 0 be 0.
_TINY = 1e-30


def _lower_abs(apply: Applier, x: Parts) -> Parts:
    """The root of abs2, so that a program which needs both computes the squares once."""
    return apply("root", _lower_abs2(apply, x)) if isinstance(x, Pair) else apply("abs", x)


def _lower_abs2(apply: Applier, x: Parts) -> Parts:
    if not isinstance(x, Pair):
        return apply("square", x)
    return apply("add", apply("square", x.re), apply("square", x.im))


def _lower_arg(apply: Applier, x: Parts) -> Parts:
    return apply("atan2", x.im if isinstance(x, Pair) else apply.number(0.0), x.re if isinstance(x, Pair) else x)


def _arctangent(y: Interval, x: Interval) -> Interval:
    if x.lo > 0 and y.is_bounded and x.is_bounded:
        corners = [math.atan2(b, a) for a in (x.lo, x.hi) for b in (y.lo, y.hi)]
        return interval.outward(min(corners), max(corners))
    return Interval(-math.pi, math.pi)


def _root(a: Interval) -> Interval:
    """Holds the root itself and what is emitted, which has ``_TINY`` under it."""
    rule = increasing(lambda x: math.sqrt(max(x, 0.0)), low=0.0)
    return Interval(rule(a).lo, rule(interval.add(a, interval.point(_TINY))).hi)


def _emit_abs() -> Callable[..., Any]:
    import torch

    return torch.abs


def _emit_root() -> Callable[..., Any]:
    def root(square: Any) -> Any:
        return (square + _TINY).sqrt()

    return root


def _emit_atan2() -> Callable[..., Any]:
    import torch

    def atan2(y: Any, x: Any) -> Any:
        still_y, still_x = y.detach(), x.detach() + 0.0  # a zero is not negative there: the angle of (0, 0) is 0
        # Where 1 / (x^2 + y^2) is not a number, as at the origin, the derivative is 0.
        steady = torch.addcmul(still_y * still_y, still_x, still_x).reciprocal() < torch.inf
        return torch.atan2(torch.where(steady, y, still_y), torch.where(steady, x, still_x))

    return atan2


def _meaning_abs(x: Any) -> Any:
    return abs(x)


def _meaning_abs2(x: Any) -> Any:
    return (x.real * x.real + x.imag * x.imag) if isinstance(x, complex) else x * x


def _meaning_arg(x: Any) -> float:
    return cmath.phase(x) if x != 0 else 0.0


def _sign(x: Interval) -> Slopes:
    return (Interval(-1.0 if x.lo <= 0 else 1.0, 1.0 if x.hi >= 0 else -1.0),)


def _atan2_slope(y: Interval, x: Interval) -> Slopes:
    size = add(square(x), square(y))
    if x.lo <= 0 and 0 in y:
        return None, None  # the branch cut, or the origin
    return divide(x, size), negate(divide(y, size))


def _narrow_abs(arguments: Sequence[Interval], result: Interval) -> Sequence[Interval | None]:
    (x,) = arguments
    return (None if result.hi < 0 else two_sided(x, max(result.lo, 0.0), result.hi),)


def _narrow_root(arguments: Sequence[Interval], result: Interval) -> Sequence[Interval | None]:
    """What is emitted has ``_TINY`` under the root."""
    (found,) = NARROW_SQRT(arguments, result)
    return (None if found is None else Interval(nextafter(found.lo - _TINY, -inf), found.hi),)


ABS = Operation(
    "abs", 1, "a number", to_real, _meaning_abs, lambda x: rf"\left|{x}\right|", _lower_abs, interval.absolute,
    _emit_abs, Curvature.CONVEX, "?", 1.0, slope=_sign, narrow=_narrow_abs,
    line="`abs(x)`: the absolute value, also of a complex number",
    gives=Result.AS_ARGUMENTS, arrays=f"{ARRAYS}:absolute",
)  # fmt: skip
ABS2 = Operation(
    "abs2", 1, "a number", to_real, _meaning_abs2, lambda x: rf"\left|{x}\right|^2", _lower_abs2,
    line="`abs2(z)`: the squared absolute value",
)  # fmt: skip
RE = Operation(
    "re", 1, "a number", to_real, lambda x: x.real, named("Re"), lambda apply, x: x.re if isinstance(x, Pair) else x,
    line="`re(z)`: the real part",
)  # fmt: skip
IM = Operation(
    "im", 1, "a number", to_real, lambda x: float(x.imag), named("Im"),
    lambda apply, x: x.im if isinstance(x, Pair) else apply.number(0.0),
    line="`im(z)`: the imaginary part",
)  # fmt: skip
CONJ = Operation(
    "conj", 1, "a number", analytic, lambda x: x.conjugate(), lambda x: rf"\overline{{{x}}}",
    lambda apply, x: Pair(x.re, apply("negate", x.im)) if isinstance(x, Pair) else x,
    line="`conj(z)`: the complex conjugate",
)  # fmt: skip
ARG = Operation(
    "arg",
    1,
    "a number",
    to_real,
    _meaning_arg,
    named("arg"),
    _lower_arg,
    line="`arg(z)`: the angle, in radians",
)
ROOT = Operation(
    "root", 1, "a real number that is not negative", real_valued, math.sqrt, lambda x: rf"\sqrt{{{x}}}", None,
    _root, _emit_root, Curvature.CONCAVE, "+", surface=False, slope=half_root, narrow=_narrow_root,
)  # fmt: skip
ATAN2 = Operation(
    "atan2", 2, "two real numbers", real_valued, lambda y, x: math.atan2(y, x) if (x, y) != (0, 0) else 0.0,
    named("atan2"), None, _arctangent, _emit_atan2, surface=False, slope=_atan2_slope,
)  # fmt: skip

OPERATIONS = (ABS, ABS2, RE, IM, CONJ, ARG, ROOT, ATAN2)
