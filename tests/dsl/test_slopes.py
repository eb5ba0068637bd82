"""Ranges of derivatives, against sympy's derivatives; and LaTeX, against sympy's reading of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import hypothesis.strategies as st
import pytest
import sympy
from hypothesis import assume, given, settings
from registry import differentiated, others

from pdual.dsl.operations import OPERATIONS
from pdual.dsl.operations.interval import EITHER, FALSE, TRUE, Interval
from pdual.dsl.operations.slopes import slopes
from pdual.dsl.types import Kind

X, Y = sympy.symbols("x y", real=True)
FORMULAS: Mapping[str, Any] = {
    "add": X + Y, "subtract": X - Y, "multiply": X * Y, "divide": X / Y, "negate": -X, "square": X**2, "abs": sympy.Abs(X),
    "sqrt": sympy.sqrt(X), "root": sympy.sqrt(X), "exp": sympy.exp(X), "log": sympy.log(X), "sin": sympy.sin(X),
    "cos": sympy.cos(X), "tanh": sympy.tanh(X), "sigmoid": 1 / (1 + sympy.exp(-X)), "softplus": sympy.log(1 + sympy.exp(X)),
    "relu": sympy.Max(X, 0), "max": sympy.Max(X, Y), "min": sympy.Min(X, Y), "atan2": sympy.atan2(X, Y), "as_real": X,
}  # fmt: skip
DERIVATIVES = {
    name: tuple(sympy.lambdify((X, Y), sympy.diff(formula, symbol), "math") for symbol in (X, Y))
    for name, formula in FORMULAS.items()
}
for _name in others({*FORMULAS, "power"}):
    DERIVATIVES[_name] = tuple(
        lambda *at, name=_name, place=place: differentiated(name)(*at)[place]
        for place in range(OPERATIONS[_name].arity)
    )
POSITIVE = st.floats(0.01, 20.0)
ANY = st.floats(-20.0, 20.0)


@st.composite
def boxes(draw: st.DrawFn, ends: st.SearchStrategy[float]) -> tuple[Interval, float]:
    a, b, c = sorted((draw(ends), draw(ends), draw(ends)))
    return Interval(a, c), b


def test_every_smooth_operation_has_slopes() -> None:
    primitive = {name for name, operation in OPERATIONS.items() if operation.interval is not None}
    assert set(DERIVATIVES) | {"where", "power"} == {name for name in primitive if OPERATIONS[name].slope is not None}
    for name in primitive - {*DERIVATIVES, "where", "power"}:
        kinds = [[kind] * OPERATIONS[name].arity for kind in (Kind.REAL, Kind.BOOL)]
        assert Kind.BOOL in map(OPERATIONS[name].result, kinds)  # a truth value jumps
        assert slopes(name, [EITHER] * OPERATIONS[name].arity) == (None,) * OPERATIONS[name].arity


@pytest.mark.parametrize("name", sorted(DERIVATIVES))
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_the_derivative_is_in_its_range(name: str, data: st.DataObject) -> None:
    ends = POSITIVE if name in ("sqrt", "root", "log") else ANY
    given_ = [data.draw(boxes(ends)) for _ in range(OPERATIONS[name].arity)]
    values = [value for _, value in given_]
    found = slopes(name, [box for box, _ in given_])
    for slope, derivative in zip(found, DERIVATIVES[name], strict=False):
        try:
            expected = float(derivative(*values, *[0.0] * (2 - len(values))))
        except ZeroDivisionError:
            assume(False)
        except NameError:  # the derivative of a kink is a distribution
            return
        if slope is not None and math.isfinite(expected):
            slack = 1e-9 * max(1.0, abs(expected))
            assert slope.lo - slack <= expected <= slope.hi + slack


@given(boxes(ANY), st.sampled_from([-2.0, 1.0, 2.0, 3.0, 4.0]))
def test_slopes_of_powers(given_: tuple[Interval, float], n: float) -> None:
    box, value = given_
    assume(n > 0 or box.lo > 1e-3 or box.hi < -1e-3)
    slope = slopes("power", [box, Interval(n, n)])[0]
    assert slope is not None
    assert slope.lo - 1e-9 <= n * value ** (n - 1) <= slope.hi + 1e-9 or math.isinf(slope.hi)


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("square", [(-1, 3)], [(-2, 6)]),
        ("abs", [(-1, 3)], [(-1, 1)]),
        ("abs", [(1, 3)], [(1, 1)]),
        ("abs", [(-3, -1)], [(-1, -1)]),
        ("relu", [(1, 3)], [(1, 1)]),
        ("relu", [(-3, -1)], [(0, 0)]),
        ("relu", [(-3, 1)], [(0, 1)]),
        ("max", [(2, 3), (0, 1)], [(1, 1), (0, 0)]),
        ("max", [(0, 1), (2, 3)], [(0, 0), (1, 1)]),
        ("min", [(2, 3), (0, 1)], [(0, 0), (1, 1)]),
        ("max", [(0, 3), (2, 4)], [(0, 1), (0, 1)]),
        ("sigmoid", [(-1, 1)], [(0.19661193324148185, 0.25)]),
        ("sigmoid", [(-800, -750)], [(0, 0)]),
        ("sigmoid", [(750, 800)], [(0, 0)]),
        ("tanh", [(-50, 50)], [(0, 1)]),
        ("sqrt", [(4, 9)], [(1 / 6, 1 / 4)]),
        ("sqrt", [(0, 9)], [(0, math.inf)]),
        ("log", [(2, 4)], [(0.25, 0.5)]),
        ("log", [(0, 4)], [(0.25, math.inf)]),
        ("log", [(-1, 0.5)], [(2, math.inf)]),
        ("log", [(-1, math.inf)], [(0, math.inf)]),
        ("atan2", [(-1, 1), (0.5, 2)], [(0.1, 8), (-4, 4)]),
        ("divide", [(1, 2), (2, 4)], [(0.25, 0.5), (-0.5, -0.0625)]),
        ("power", [(1, 2), (3, 3)], [(3, 12), None]),
    ],
)
def test_how_tight(name: str, arguments: list[tuple[float, float]], expected: list[tuple[float, float] | None]) -> None:
    found = slopes(name, [Interval(*box) for box in arguments])
    for slope, ends in zip(found, expected, strict=True):
        assert slope is None if ends is None else slope == pytest.approx(ends, rel=1e-12, abs=1e-12)


def test_rounding_makes_no_slope_steeper_than_its_function() -> None:
    for name, steepest in (("softplus", 1.0), ("tanh", 1.0), ("sigmoid", 0.25)):
        (found,) = slopes(name, [Interval(-800.0, 800.0)])
        assert found == Interval(0.0, steepest)


def test_jumps_have_no_slope() -> None:
    assert slopes("where", [EITHER, TRUE, TRUE])[0] is None
    assert slopes("where", [TRUE, EITHER, EITHER]) == (FALSE, TRUE, FALSE)
    assert slopes("where", [FALSE, EITHER, EITHER]) == (FALSE, FALSE, TRUE)
    assert slopes("atan2", [Interval(-1.0, 1.0), Interval(-1.0, 1.0)]) == (None, None)
    assert slopes("log", [Interval(-2.0, -1.0)]) == (None,)
    assert slopes("power", [TRUE, EITHER]) == (None, None)


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide", "negate", "power", "square", "sqrt", "abs"])
def test_latex_means_the_operation(name: str) -> None:
    from sympy.parsing.latex import parse_latex

    operation = OPERATIONS[name]
    read = parse_latex(operation.latex(*("x", "y")[: operation.arity]), backend="lark")
    for point in ((0.7, 1.9), (2.5, 0.4)):
        at = {sympy.Symbol("x"): point[0], sympy.Symbol("y"): point[1]}
        assert float(read.subs(at)) == pytest.approx(operation.meaning(*point[: operation.arity]))
