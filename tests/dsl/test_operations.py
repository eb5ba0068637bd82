"""Operations: their scalar meaning against their torch emission, their types, derivatives and shape facts."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import hypothesis.strategies as st
import pytest
import sympy
import torch
from hypothesis import given, settings
from registry import others
from torch import Tensor

from pdual.dsl.operations import AGGREGATES, FUNCTIONS, OPERATIONS, OPERATORS, REDUCTIONS
from pdual.dsl.operations.operation import Curvature, Operation, Pair
from pdual.dsl.operations.reductions import tail_count
from pdual.dsl.types import Element, Kind, MemberOf

Arguments: TypeAlias = st.SearchStrategy[tuple[Any, ...]]


class TorchApplier:
    """Evaluates real primitives at once, in double precision."""

    def __call__(self, operation: str, *arguments: Any) -> Any:
        emit = OPERATIONS[operation].emit
        assert emit is not None, operation
        return emit()(*arguments)

    def number(self, value: float) -> Tensor:
        return torch.tensor(value, dtype=torch.float64)


def run(operation: Operation, *parts: Any) -> Any:
    """The operation on tensors, through its lowering where it has one."""
    if operation.lower is not None:
        return operation.lower(TorchApplier(), *parts)
    return TorchApplier()(operation.name, *parts)


def tensor(value: Any) -> Any:
    """A Python value as the compiler holds it."""
    if isinstance(value, complex):
        return Pair(tensor(value.real), tensor(value.imag))
    return torch.tensor(value, dtype=torch.float64 if isinstance(value, float) else None)


def plain(value: Any) -> Any:
    """The Python value of a tensor or a pair."""
    return complex(value.re.item(), value.im.item()) if isinstance(value, Pair) else value.item()


# --- meaning against emission ------------------------------------------------------------------------------


def within(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(low, high, allow_subnormal=False)


TAME = within(-1e3, 1e3)
SMALL = within(-20.0, 20.0)
FEW = st.sampled_from([-2.0, -0.5, 0.0, 0.5, 2.0])
PLANE = st.builds(complex, TAME, TAME) | st.builds(complex, FEW, FEW)
FEW_COMPLEX = st.builds(complex, FEW, FEW)
AWAY_FROM_ZERO = within(-1e3, -1e-3) | within(1e-3, 1e3)
TRUTH = st.booleans()
MEMBER = st.integers(0, 3)
NUMBER = TAME | PLANE | st.integers(-5, 5)


def every(*strategies: st.SearchStrategy[Any]) -> Arguments:
    return st.tuples(*strategies)


ARGUMENTS: Mapping[str, Arguments] = {
    "add": every(NUMBER, NUMBER),
    "subtract": every(NUMBER, NUMBER),
    "multiply": every(NUMBER, NUMBER),
    "divide": every(NUMBER, AWAY_FROM_ZERO | st.builds(complex, AWAY_FROM_ZERO, TAME)),
    "negate": every(NUMBER),
    "power": every(within(1e-2, 1e2), within(-3.0, 3.0)) | every(TAME, st.sampled_from([0.0, 1.0, 2.0, 3.0])),
    "square": every(NUMBER),
    "abs": every(NUMBER),
    "abs2": every(NUMBER),
    "re": every(NUMBER),
    "im": every(NUMBER),
    "conj": every(NUMBER),
    "arg": every(TAME | PLANE),
    "root": every(within(0.0, 1e6)),
    "atan2": every(TAME, TAME) | every(FEW, FEW),
    "exp": every(SMALL | st.builds(complex, SMALL, TAME)),
    "log": every(within(1e-300, 1e300)),
    "sqrt": every(within(0.0, 1e300)),
    "sin": every(TAME),
    "cos": every(TAME),
    "tanh": every(TAME),
    "sigmoid": every(TAME),
    "softplus": every(TAME | SMALL),
    "relu": every(TAME),
    "equal": every(FEW, FEW) | every(TRUTH, TRUTH) | every(MEMBER, MEMBER) | every(FEW_COMPLEX, FEW | FEW_COMPLEX),
    "unequal": every(FEW, FEW) | every(TRUTH, TRUTH) | every(MEMBER, MEMBER) | every(FEW, FEW_COMPLEX),
    "at_most": every(FEW, FEW),
    "at_least": every(FEW, FEW),
    "below": every(FEW, FEW),
    "above": every(FEW, FEW),
    "and": every(TRUTH, TRUTH),
    "or": every(TRUTH, TRUTH),
    "not": every(TRUTH),
    "where": every(TRUTH, TAME, TAME) | every(TRUTH, TRUTH, TRUTH) | every(TRUTH, TAME | PLANE, TAME | PLANE),
    "max": every(TAME, TAME),
    "min": every(TAME, TAME),
    "bce": every(TAME, TRUTH | within(0.0, 1.0)),
    "as_real": every(TAME | TRUTH | st.integers(-5, 5)),
}


@pytest.mark.parametrize("size", [5.6411e-162, 1e-154, 1e-170, 5e-324, 0.0])
@pytest.mark.parametrize("place", [(1.0, -0.5), (1.0, 0.0), (0.0, -1.0), (1.0, -1e-46)])
def test_the_slope_of_an_angle_is_finite_however_near_the_origin(size: float, place: tuple[float, float]) -> None:
    """Its derivative is x / (x^2 + y^2), and a square may be too small for a number: found by `pdual verify opf30_direct`."""
    emit = OPERATIONS["atan2"].emit
    assert emit is not None
    y, x = (torch.tensor(size * part, dtype=torch.float64, requires_grad=True) for part in place)
    angle = emit()(y, x)
    angle.backward()
    assert angle.item() == OPERATIONS["atan2"].meaning(y.item(), x.item())
    assert math.isfinite(y.grad.item())
    assert math.isfinite(x.grad.item())
    if size >= 1e-154 and place[1] == -0.5:
        assert y.grad.item() == pytest.approx(x.item() / (y.item() ** 2 + x.item() ** 2))
        assert x.grad.item() == pytest.approx(-y.item() / (y.item() ** 2 + x.item() ** 2))


def test_how_many_arguments_a_function_of_an_array_has() -> None:
    assert {name: aggregate.arity for name, aggregate in AGGREGATES.items()} == {
        "argmax": 1,
        "top_mean": 2,
        "bottom_mean": 2,
    }


def test_what_a_spec_may_call_by_name() -> None:
    """It has a line of its own; the rest is written with symbols, or comes from lowering."""
    assert {name for name, operation in OPERATIONS.items() if operation.line} == set(FUNCTIONS)
    for name, operation in FUNCTIONS.items():
        assert operation.line.startswith(f"`{name}(")
    assert not {name for name, operation in FUNCTIONS.items() if operation.symbol is not None}


@pytest.mark.parametrize("name", sorted(OPERATIONS))
@given(data=st.data())
@settings(max_examples=30, deadline=None)
def test_emission_agrees_with_meaning(name: str, data: st.DataObject) -> None:
    operation = OPERATIONS[name]
    arguments = data.draw(ARGUMENTS.get(name, every(*[TAME] * operation.arity)))
    expected = operation.meaning(*arguments)
    found = plain(run(operation, *map(tensor, arguments)))
    # Cancellation costs digits of the arguments' size, not of the result's.
    size = math.prod(max(1.0, abs(argument)) for argument in arguments)
    assert abs(found - expected) <= 1e-12 * abs(expected) + 1e-13 * size
    assert isinstance(found, bool) == isinstance(expected, bool)


def test_modulus_and_angle_of_zero() -> None:
    for zero in (0, 0.0, 0j):
        assert OPERATIONS["abs"].meaning(zero) == 0
        assert OPERATIONS["arg"].meaning(zero) == 0
    assert plain(run(OPERATIONS["arg"], tensor(0j))) == 0
    assert plain(run(OPERATIONS["abs"], tensor(0j))) == pytest.approx(0, abs=2e-15)
    assert plain(run(OPERATIONS["arg"], tensor(-1 + 0j))) == pytest.approx(math.pi)
    assert plain(run(OPERATIONS["arg"], tensor(-2.0))) == pytest.approx(math.pi)


def test_a_real_factor_leaves_the_other_part_of_an_infinite_bound_alone() -> None:
    bound = complex(1.0, math.inf)
    assert OPERATIONS["multiply"].meaning(2.0, bound) == complex(2.0, math.inf)
    assert OPERATIONS["multiply"].meaning(bound, 2) == complex(2.0, math.inf)
    assert OPERATIONS["divide"].meaning(bound, 2.0) == complex(0.5, math.inf)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("log", (-1.0,)),
        ("log", (0.0,)),
        ("sqrt", (-1e-9,)),
        ("divide", (1.0, 0.0)),
        ("divide", (1j, 0j)),
        ("power", (-2.0, 0.5)),
        ("power", (0.0, -1.0)),
        ("power", (10.0, 400.0)),
        ("exp", (1000.0,)),
    ],
)
def test_outside_the_domain_there_is_no_meaning(name: str, arguments: tuple[Any, ...]) -> None:
    with pytest.raises((ValueError, ArithmeticError)):
        OPERATIONS[name].meaning(*arguments)


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("sqrt", (0.0,), 0.0),
        ("power", (-2.0, 3.0), -8.0),
        ("power", (2, 3), 8),
        ("power", (2, -1), 0.5),
        ("power", (0.0, 0.5), 0.0),
        ("divide", (0.0, -2.0), 0.0),
        ("exp", (-1000.0,), 0.0),
        ("sigmoid", (-1000.0,), 0.0),
        ("sigmoid", (1000.0,), 1.0),
        ("softplus", (1000.0,), 1000.0),
        ("softplus", (-1000.0,), 0.0),
        ("bce", (1000.0, True), 0.0),
        ("bce", (-1000.0, True), 1000.0),
        ("bce", (0.0, False), math.log(2)),
    ],
)
def test_meaning_at_the_edges(name: str, arguments: tuple[Any, ...], expected: float) -> None:
    assert OPERATIONS[name].meaning(*arguments) == pytest.approx(expected, abs=1e-15)


# --- derivatives -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["equal", "unequal"])
@pytest.mark.parametrize("imaginary", [0.0, 1.0, 2.0])
def test_a_real_number_equals_a_complex_one_without_imaginary_part(name: str, imaginary: float) -> None:
    operation = OPERATIONS[name]
    same = (imaginary == 0) == (name == "equal")
    for arguments in ((2.0, complex(2.0, imaginary)), (complex(2.0, imaginary), 2.0)):
        assert plain(run(operation, *map(tensor, arguments))) is same
        assert operation.meaning(*arguments) is same


#: Points away from kinks, where one is; a complex argument is differentiated in both parts.
SMOOTH_POINTS: dict[str, Sequence[tuple[float | complex, ...]]] = {
    "add": [(0.3, -1.2), (1 + 2j, 0.5 - 1j)],
    "subtract": [(0.3, -1.2), (1 + 2j, 0.5 - 1j), (0.5, 1 - 1j)],
    "multiply": [(0.3, -1.2), (1 + 2j, 0.5 - 1j), (0.7, 1 - 1j), (2j, -0.4)],
    "divide": [(0.3, -1.2), (1 + 2j, 0.5 - 1j), (0.7, 1 - 1j), (2j, -0.4)],
    "negate": [(0.3,), (1 + 2j,)],
    "power": [(0.7, 2.5), (1.4, -1.5)],
    "square": [(0.3,), (1 - 2j,)],
    "abs": [(0.3,), (-0.3,), (1 - 2j,), (1e-3j,)],
    "abs2": [(0.3,), (1 - 2j,), (0j,)],
    "re": [(1 - 2j,)],
    "im": [(1 - 2j,)],
    "conj": [(1 - 2j,)],
    "arg": [(1 - 2j,), (-1 + 0.5j,), (0.2 + 0j,)],
    "root": [(0.3,)],
    "atan2": [(0.3, 0.4), (-0.3, -0.4)],
    "exp": [(0.3,), (0.4 - 2j,)],
    "log": [(0.3,)],
    "sqrt": [(0.3,)],
    "sin": [(0.3,)],
    "cos": [(0.3,)],
    "tanh": [(0.3,), (-2.0,)],
    "sigmoid": [(0.3,), (-3.0,)],
    "softplus": [(0.3,), (25.0,), (-30.0,)],
    "relu": [(0.3,), (-0.3,)],
    "max": [(0.3, 0.2), (-1.0, 0.2)],
    "min": [(0.3, 0.2), (-1.0, 0.2)],
    "bce": [(0.3, 0.0), (-0.3, 1.0), (2.0, 0.4)],
}

SMOOTH_POINTS |= {
    name: [(0.3, -0.7)[: OPERATIONS[name].arity]] for name in others({*SMOOTH_POINTS, "where", "as_real"})
}


def as_real_numbers(arguments: Sequence[float | complex]) -> list[float]:
    return [
        part for value in arguments for part in ((value.real, value.imag) if isinstance(value, complex) else (value,))
    ]


def combined(operation: Operation, like: Sequence[float | complex], numbers: Sequence[Tensor]) -> Tensor:
    """The operation at a flat list of parts; a complex result is weighed into one number."""
    left = iter(numbers)
    parts = [Pair(next(left), next(left)) if isinstance(value, complex) else next(left) for value in like]
    result = run(operation, *parts)
    found: Tensor = 0.7 * result.re - 1.3 * result.im if isinstance(result, Pair) else result
    return found


@pytest.mark.parametrize(
    ("name", "point"), [(name, point) for name, points in SMOOTH_POINTS.items() for point in points]
)
def test_gradient_is_the_central_difference(name: str, point: tuple[float | complex, ...]) -> None:
    operation = OPERATIONS[name]
    numbers = [torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in as_real_numbers(point)]
    value = combined(operation, point, numbers)
    found = torch.autograd.grad(value, numbers, allow_unused=True)
    step = 1e-6
    for position, gradient in enumerate(found):
        moved = []
        for sign in (1, -1):
            shifted = [x.detach() + sign * step * (n == position) for n, x in enumerate(numbers)]
            moved.append(combined(operation, point, shifted).item())
        expected = (moved[0] - moved[1]) / (2 * step)
        assert (0.0 if gradient is None else gradient.item()) == pytest.approx(expected, rel=2e-6, abs=1e-8)


@pytest.mark.parametrize(("name", "at"), [("abs", 0.0), ("abs", 0j), ("arg", 0j), ("abs2", 0j), ("relu", 0.0)])
def test_gradient_at_zero_is_zero(name: str, at: float | complex) -> None:
    numbers = [torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in as_real_numbers((at,))]
    combined(OPERATIONS[name], (at,), numbers).backward()  # type: ignore[no-untyped-call]
    assert [number.grad.item() for number in numbers if number.grad is not None] == [0.0] * len(numbers)


def test_gradient_of_a_modulus_at_zero_stays_finite_in_single_precision() -> None:
    re, im = torch.zeros(2, requires_grad=True), torch.tensor([0.0, 1e-3], requires_grad=True)
    torch.as_tensor(run(OPERATIONS["abs"], Pair(re, im))).sum().backward()  # type: ignore[no-untyped-call]
    assert re.grad is not None
    assert im.grad is not None
    assert re.grad.tolist() == [0.0, 0.0]
    assert im.grad.tolist() == pytest.approx([0.0, 1.0], rel=1e-6)


X, Y = sympy.symbols("x y", real=True)

FORMULAS: Mapping[str, Any] = {
    "multiply": X * Y,
    "divide": X / Y,
    "power": X**Y,
    "square": X**2,
    "root": sympy.sqrt(X),
    "atan2": sympy.atan2(X, Y),
    "exp": sympy.exp(X),
    "log": sympy.log(X),
    "sqrt": sympy.sqrt(X),
    "sin": sympy.sin(X),
    "cos": sympy.cos(X),
    "tanh": sympy.tanh(X),
    "sigmoid": 1 / (1 + sympy.exp(-X)),
    "softplus": sympy.log(1 + sympy.exp(X)),
    "bce": -Y * sympy.log(1 / (1 + sympy.exp(-X))) - (1 - Y) * sympy.log(1 - 1 / (1 + sympy.exp(-X))),
}


@pytest.mark.parametrize("name", sorted(FORMULAS))
def test_value_and_gradient_are_those_of_the_formula(name: str) -> None:
    operation, formula = OPERATIONS[name], FORMULAS[name]
    symbols = (X, Y)[: operation.arity]
    for point in ((0.37, 0.81), (1.9, 0.25)):
        at = dict(zip(symbols, point, strict=False))
        numbers = [torch.tensor(value, dtype=torch.float64, requires_grad=True) for value in at.values()]
        value = run(operation, *numbers)
        assert value.item() == pytest.approx(float(formula.subs(at).evalf(30)), rel=1e-13)
        assert operation.meaning(*at.values()) == pytest.approx(float(formula.subs(at).evalf(30)), rel=1e-13)
        gradients = torch.autograd.grad(value, numbers)
        for symbol, gradient in zip(symbols, gradients, strict=True):
            expected = float(sympy.diff(formula, symbol).subs(at).evalf(30))
            assert gradient.item() == pytest.approx(expected, rel=1e-12, abs=1e-14)


# --- facts: curvature, monotonicity, Lipschitz constants ---------------------------------------------------

POSITIVE = within(1e-3, 50.0)
FACT_DOMAIN: Mapping[str, st.SearchStrategy[float]] = {"log": POSITIVE, "sqrt": POSITIVE, "root": POSITIVE}


def real_points(operation: Operation) -> st.SearchStrategy[tuple[float, ...]]:
    domain = FACT_DOMAIN.get(operation.name, SMALL)
    return st.tuples(*[domain] * operation.arity)


@pytest.mark.parametrize("name", sorted(n for n, o in OPERATIONS.items() if o.curvature is not Curvature.UNKNOWN))
@given(data=st.data())
@settings(max_examples=30, deadline=None)
def test_curvature_holds_at_midpoints(name: str, data: st.DataObject) -> None:
    operation = OPERATIONS[name]
    a, b = data.draw(real_points(operation)), data.draw(real_points(operation))
    middle = operation.meaning(*((x + y) / 2 for x, y in zip(a, b, strict=True)))
    mean = (operation.meaning(*a) + operation.meaning(*b)) / 2
    slack = 1e-12 * max(1.0, abs(mean))
    if operation.curvature is not Curvature.CONCAVE:
        assert middle <= mean + slack
    if operation.curvature is not Curvature.CONVEX:
        assert middle >= mean - slack


@pytest.mark.parametrize("name", sorted(n for n, o in OPERATIONS.items() if set(o.monotone) & set("+-")))
@given(data=st.data())
@settings(max_examples=30, deadline=None)
def test_monotone_arguments_move_the_value_one_way(name: str, data: st.DataObject) -> None:
    operation = OPERATIONS[name]
    signs = operation.monotone if len(operation.monotone) == operation.arity else operation.monotone * operation.arity
    low = data.draw(real_points(operation))
    for position, sign in enumerate(signs):
        more = low[position] + data.draw(within(0.0, 5.0))
        high = (*low[:position], more, *low[position + 1 :])
        change = operation.meaning(*high) - operation.meaning(*low)
        assert sign == "?" or (change >= 0 if sign == "+" else change <= 0)


@pytest.mark.parametrize("name", sorted(n for n, o in OPERATIONS.items() if o.lipschitz is not None))
@given(data=st.data())
@settings(max_examples=30, deadline=None)
def test_lipschitz_constant_holds(name: str, data: st.DataObject) -> None:
    operation = OPERATIONS[name]
    a, b = data.draw(real_points(operation)), data.draw(real_points(operation))
    assert operation.lipschitz is not None
    change = abs(operation.meaning(*a) - operation.meaning(*b))
    assert change <= operation.lipschitz * math.dist(a, b) * (1 + 1e-12) + 1e-12


def test_facts_that_are_not_claimed() -> None:
    assert OPERATIONS["sin"].curvature is Curvature.UNKNOWN
    assert OPERATIONS["tanh"].curvature is Curvature.UNKNOWN
    assert OPERATIONS["exp"].lipschitz is None
    assert OPERATIONS["multiply"].lipschitz is None


# --- types -------------------------------------------------------------------------------------------------

INT, REAL, COMPLEX, BOOL, TEXT = Kind.INT, Kind.REAL, Kind.COMPLEX, Kind.BOOL, Kind.TEXT
BUS, GEN = MemberOf("bus"), MemberOf("gen")

ACCEPTED: Sequence[tuple[str, tuple[Element, ...], Element]] = [
    ("add", (INT, INT), INT),
    ("add", (INT, REAL), REAL),
    ("add", (REAL, COMPLEX), COMPLEX),
    ("divide", (INT, INT), REAL),
    ("divide", (COMPLEX, REAL), COMPLEX),
    ("power", (REAL, INT), REAL),
    ("negate", (COMPLEX,), COMPLEX),
    ("abs", (COMPLEX,), REAL),
    ("conj", (INT,), REAL),
    ("exp", (COMPLEX,), COMPLEX),
    ("log", (INT,), REAL),
    ("max", (INT, INT), INT),
    ("equal", (BUS, BUS), BOOL),
    ("equal", (BOOL, BOOL), BOOL),
    ("equal", (COMPLEX, REAL), BOOL),
    ("equal", (Kind.ID, Kind.ID), BOOL),
    ("at_most", (INT, REAL), BOOL),
    ("where", (BOOL, INT, COMPLEX), COMPLEX),
    ("where", (BOOL, BUS, BUS), BUS),
    ("bce", (REAL, BOOL), REAL),
    ("bce", (REAL, REAL), REAL),
]

REFUSED: Sequence[tuple[str, tuple[Element, ...]]] = [
    ("add", (INT, BOOL)),
    ("add", (REAL, BUS)),
    ("divide", (TEXT, REAL)),
    ("power", (COMPLEX, INT)),
    ("negate", (BOOL,)),
    ("abs", (BUS,)),
    ("exp", (BOOL,)),
    ("log", (COMPLEX,)),
    ("max", (REAL, COMPLEX)),
    ("equal", (BUS, GEN)),
    ("equal", (BUS, INT)),
    ("equal", (BOOL, INT)),
    ("at_most", (BUS, BUS)),
    ("at_most", (COMPLEX, COMPLEX)),
    ("where", (INT, REAL, REAL)),
    ("where", (BOOL, BUS, GEN)),
    ("where", (BOOL, BOOL, REAL)),
    ("and", (BOOL, INT)),
    ("not", (INT,)),
    ("bce", (COMPLEX, BOOL)),
    ("bce", (REAL, BUS)),
]


@pytest.mark.parametrize(("name", "elements", "expected"), ACCEPTED)
def test_accepted_elements(name: str, elements: tuple[Element, ...], expected: Element) -> None:
    assert OPERATIONS[name].result(elements) == expected


@pytest.mark.parametrize(("name", "elements"), REFUSED)
def test_refused_elements(name: str, elements: tuple[Element, ...]) -> None:
    assert OPERATIONS[name].result(elements) is None


EXAMPLES: Mapping[Element, Any] = {
    INT: 2, REAL: 0.5, COMPLEX: 1 - 2j, BOOL: True, TEXT: "a", BUS: 1, GEN: 1, Kind.ID: "row",
}  # fmt: skip
PYTHON: Mapping[Element, tuple[type, ...]] = {
    INT: (int,), REAL: (int, float), COMPLEX: (int, float, complex), BOOL: (bool,), TEXT: (str,),
    Kind.ID: (str,), BUS: (int,), GEN: (int,),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_a_type_that_is_accepted_has_a_meaning_of_the_type_that_is_promised(name: str) -> None:
    operation = OPERATIONS[name]
    accepted = 0
    for elements in itertools.product(EXAMPLES, repeat=operation.arity):
        result = operation.result(elements)
        if result is None:
            continue
        accepted += 1
        value = operation.meaning(*(EXAMPLES[element] for element in elements))
        assert isinstance(value, PYTHON[result]), elements
        assert isinstance(value, bool) == (result is BOOL), elements
    assert accepted > 0


# --- tables ------------------------------------------------------------------------------------------------


def test_operators_and_functions() -> None:
    assert OPERATORS["-", 1].name == "negate"
    assert OPERATORS["-", 2].name == "subtract"
    assert OPERATORS["^", 2].name == "power"
    assert {"abs", "abs2", "re", "im", "conj", "arg", "exp", "log", "sqrt", "sin", "cos"} <= set(FUNCTIONS)
    assert {"tanh", "sigmoid", "softplus", "relu", "max", "min", "bce"} <= set(FUNCTIONS)
    assert not {"add", "square", "root", "atan2", "where", "as_real"} & set(FUNCTIONS)


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_what_is_lowered_ends_in_primitives(name: str) -> None:
    operation = OPERATIONS[name]
    assert operation.lower is not None or (operation.emit is not None and operation.interval is not None)


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_latex_is_balanced_and_holds_the_arguments(name: str) -> None:
    operation = OPERATIONS[name]
    names = ("alpha", "beta", "gamma")[: operation.arity]
    text = operation.latex(*names)
    assert all(argument in text for argument in names)
    assert text.count("{") == text.count("}")
    assert text.count(r"\left") == text.count(r"\right")


@pytest.mark.parametrize("name", ["exp", "log", "sin", "cos", "tanh"])
def test_latex_names_the_function_that_sympy_calls_so(name: str) -> None:
    found = re.match(r"\\operatorname\{([a-z]+)\}", OPERATIONS[name].latex("alpha"))
    assert found is not None
    assert float(getattr(sympy, found[1])(sympy.Float(0.7))) == pytest.approx(OPERATIONS[name].meaning(0.7))


# --- reductions and functions of arrays --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("sum", [0.1] * 10, 1.0),
        ("sum", [1e16, 1.0, -1e16], 1.0),
        ("sum", [1 + 2j, 3, 0.5j], 4 + 2.5j),
        ("mean", [1.0, 2.0, 6.0], 3.0),
        ("mean", [True, False, False, True], 0.5),
        ("mean", [1 + 2j, 3 - 2j], 2 + 0j),
        ("max", [1.0, -3.0, 2], 2),
        ("min", [1.0, -3.0, 2], -3.0),
        ("count", [0.0, False, 5], 3),
    ],
)
def test_reductions(name: str, values: list[Any], expected: Any) -> None:
    assert REDUCTIONS[name].meaning(values) == expected


def test_reductions_over_none() -> None:
    assert {name: item.of_none for name, item in REDUCTIONS.items()} == {
        "sum": 0.0, "count": 0.0, "mean": None, "max": None, "min": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "element", "expected"),
    [
        ("sum", INT, INT), ("sum", COMPLEX, COMPLEX), ("sum", BOOL, None), ("sum", BUS, None),
        ("mean", INT, REAL), ("mean", BOOL, REAL), ("mean", COMPLEX, COMPLEX), ("mean", TEXT, None),
        ("max", REAL, REAL), ("max", INT, INT), ("max", COMPLEX, None), ("max", BOOL, None),
        ("min", INT, INT), ("min", BUS, None), ("count", BOOL, INT), ("count", COMPLEX, INT),
    ],
)  # fmt: skip
def test_elements_of_reductions(name: str, element: Element, expected: Element | None) -> None:
    assert REDUCTIONS[name].result(element) == expected


@pytest.mark.parametrize(
    ("share", "size", "expected"),
    [
        (0.25, 4, 1), (0.25, 5, 2), (0.7, 10, 7), (0.07, 100, 7), (0.1, 3, 1), (0.0, 5, 1), (1.0, 5, 5), (0.29, 100, 29),
        (2.0, 3, 3),
    ],
)  # fmt: skip
def test_tail_count_is_the_ceiling_of_the_true_product(share: float, size: int, expected: int) -> None:
    assert tail_count(share, size) == expected


def test_functions_of_arrays() -> None:
    values = [3.0, -1.0, 4.0, 1.0, 4.0]
    assert AGGREGATES["argmax"].meaning(values) == 2
    assert AGGREGATES["top_mean"].meaning(values, 0.25) == 4.0
    assert AGGREGATES["top_mean"].meaning(values, 0.6) == pytest.approx(11 / 3)
    assert AGGREGATES["bottom_mean"].meaning(values, 0.4) == 0.0
    assert AGGREGATES["bottom_mean"].meaning(values, 0.01) == -1.0


@pytest.mark.parametrize("name", ["top_mean", "bottom_mean"])
def test_tails_of_nothing_have_no_mean(name: str) -> None:
    meaning: Callable[..., Any] = AGGREGATES[name].meaning
    with pytest.raises(ValueError, match="none"):
        meaning([], 0.5)
