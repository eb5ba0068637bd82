"""Lipschitz constants, curvature and strong convexity of rows in the predictions, and what breaks a rule."""

from __future__ import annotations

import math

import pytest

from pdual.bounding.certificate import certificate
from pdual.bounding.parts import Objective, objective_constants, part_constants, scaling_advice
from pdual.compiler.compile import interval_analysis, lower
from pdual.compiler.graph import Graph
from pdual.compiler.prediction import Breaks, Predictions
from pdual.dsl.operations.operation import Curvature
from pdual.dsl.pipeline import read
from pdual.dsl.printer import render_all
from pdual.dsl.spans import Source

SPEC = """problem p "a test"
set kind = 0..2
data d {{ x: real in [1, 2], label: kind, z: real[kind] in [-1, 1] }}
model f(x: real) -> {{ a: real in [-2, 2], b: real in [0, 3], v: real[kind] in [-1, 1], c: complex, free: real }}
over r in d {{
  let p = f(r.x)
  minimize {minimize}
  subject to row: {row} <= 100
  dual row = pointwise(cap = 5)
}}
"""
CONVEX, CONCAVE, AFFINE = Curvature.CONVEX, Curvature.CONCAVE, Curvature.AFFINE


def lowered(row: str = "p.a", minimize: str = "p.a^2") -> Graph:
    source = Source("p.pdual", SPEC.format(row=row, minimize=minimize))
    spec, found = read(source)
    assert spec is not None, render_all(found, source)
    return lower(spec, {})[0]


def rules(row: str) -> tuple[Predictions, object]:
    graph = lowered(row)
    return Predictions(interval_analysis(graph.spec, {}, graph.sizes)), graph.data[0].parts[0].residual


@pytest.mark.parametrize(
    ("row", "constant"),
    [
        ("3 * p.a - 4 * p.b", 5.0),
        ("p.a * r.x", 2.0),
        ("p.a^2", 4.0),
        ("p.a * p.b", math.hypot(3, 2)),
        ("sum[k in kind](p.v[k])", math.sqrt(3)),
        ("mean[k in kind](2 * p.v[k])", 2 / math.sqrt(3)),
        ("p.v[r.label]", math.sqrt(3)),
        ("max[k in kind](p.v[k])", math.sqrt(3)),
        ("softplus(p.free)", 1.0),
        ("sigmoid(p.free)", 0.25),
        ("abs(p.c)", math.sqrt(2)),
        ("exp(p.a)", math.exp(2)),
        ("r.x^2 + p.a - p.a", 0.0),
        ("(p.a if r.x >= 1.5 else -p.a)", 1.0),
    ],
)
def test_lipschitz_constants(row: str, constant: float) -> None:
    found, residual = rules(row)
    assert found.lipschitz(residual, {}) == pytest.approx(constant, rel=1e-9, abs=1e-12)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("row", "offender"),
    [
        ("p.a + p.free^2", "p.free^2"),
        ("2 * exp(p.free) + 1", "exp(p.free)"),
        ("sqrt(p.b) + p.a", "sqrt(p.b)"),
        ("arg(p.c)", "arg(p.c)"),
        ("(p.a if p.a >= 0 else 1)", "p.a >= 0"),
    ],
)
def test_the_smallest_subexpression_without_a_constant(row: str, offender: str) -> None:
    found, residual = rules(row)
    with pytest.raises(Breaks) as broken:
        found.lipschitz(residual, {})  # type: ignore[arg-type]
    span = broken.value.node.span
    assert SPEC.format(row=row, minimize="p.a^2")[span.start : span.end] == offender


@pytest.mark.parametrize(
    ("row", "kind"),
    [
        ("3 * p.a - 4 * p.b", AFFINE),
        ("p.a * r.z[0]", AFFINE),
        ("p.a^2 * r.x", CONVEX),
        ("-(p.a^2)", CONCAVE),
        ("2 - p.a^2 / r.x", CONCAVE),
        ("exp(p.a^2)", CONVEX),
        ("(p.b + 1)^2 + abs(p.a)", CONVEX),
        ("(p.b^2)^2", CONVEX),
        ("log(p.b + 1)", CONCAVE),
        ("max(p.a, p.b)", CONVEX),
        ("min(p.a, -exp(p.b))", CONCAVE),
        ("max[k in kind](p.v[k]^2)", CONVEX),
        ("sum[k in kind](softplus(p.v[k]))", CONVEX),
        ("abs(p.c)", CONVEX),
        ("abs(2 * p.c - r.x)", CONVEX),
        ("bce(p.free, r.x / 2)", CONVEX),
        ("(p.a^2 if r.x >= 1.5 else p.b)", CONVEX),
        ("relu(p.a) - sqrt(p.b)", CONVEX),
    ],
)
def test_curvature(row: str, kind: Curvature) -> None:
    found, residual = rules(row)
    assert found.curvature(residual, {}) is kind  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("row", "offender"),
    [
        ("p.a + p.a * p.b", "p.a * p.b"),
        ("p.a^2 - p.b^2", "p.a^2 - p.b^2"),
        ("sin(p.a)", "sin(p.a)"),
        ("1 + log(p.a^2 + 1)", "log(p.a^2 + 1)"),
        ("(p.a^2) * r.z[0]", "(p.a^2) * r.z[0]"),
        ("1 / (p.b + 1)", "1 / (p.b + 1)"),
        ("sum[k in kind](p.v[k] * p.a)", "p.v[k] * p.a"),
    ],
)
def test_the_smallest_subexpression_without_a_curvature(row: str, offender: str) -> None:
    found, residual = rules(row)
    with pytest.raises(Breaks) as broken:
        found.curvature(residual, {})  # type: ignore[arg-type]
    span = broken.value.node.span
    text = SPEC.format(row=row, minimize="p.a^2")[span.start : span.end]
    assert text in (offender, f"{offender} <= 100")


QUADRATIC = """problem q "a test"
set i = 0..1
data d {{ z: real[i] in [-1, 1] }}
model f(z: real[i]) -> real[i] in [-2, 2]
over r in d {{
  let x = f(r.z)
  minimize {minimize}
  subject to low[k in i]: x[k] <= 0.5
  subject to wide: 5000 * x[0] <= 10
  dual low, wide = pointwise(cap = 3)
}}
"""


def quadratic(minimize: str) -> Objective:
    source = Source("q.pdual", QUADRATIC.format(minimize=minimize))
    spec, found = read(source)
    assert spec is not None, render_all(found, source)
    return objective_constants(lower(spec, {})[0])


@pytest.mark.parametrize(
    ("minimize", "mu"),
    [
        ("sum[k in i]((x[k] - r.z[k])^2) / 2", 1.0),
        # The smallest eigenvalue of [[4, 2], [2, 8]].
        ("x[0]^2 + 3 * x[1]^2 + (x[0] + x[1])^2 + abs(x[0])", 6 - 2 * math.sqrt(2)),
        ("(x[0] + x[1])^2", 0.0),
        ("x[0]^2", 0.0),
        ("mean[k in i](3 * x[k]^2) scale 2", 1.5),
        ("x[0]^2 - x[1]^2", 0.0),
    ],
)
def test_strong_convexity(minimize: str, mu: float) -> None:
    assert quadratic(minimize).strong == pytest.approx(mu, rel=1e-6, abs=1e-9)


def test_constants_of_parts_are_scaled() -> None:
    source = Source("q.pdual", QUADRATIC.format(minimize="x[0]^2 + x[1]^2"))
    spec, _ = read(source)
    assert spec is not None
    low, wide = part_constants(lower(spec, {})[0])
    # The feasible range of x <= 0.5 with x >= -2 is 2.5, that of 5000 x <= 10 is 10010.
    assert low.lipschitz == pytest.approx(0.4)
    assert low.range == pytest.approx((-1.0, 0.6))
    assert (low.entries, low.lipschitz_caps, low.lipschitz_squares) == pytest.approx((2, 2.4, 0.32))
    assert wide.lipschitz == pytest.approx(5000 / 10010)
    assert scaling_advice([low, wide]) == []


def test_the_certificate_in_numbers() -> None:
    """One entry: the paper's formulas by hand, with B0 = 4, V0 = 7, B = 2, L = 3, mu = 0.5, Gamma = 5, s = 0.25."""
    known = {
        "B0": 4, "V0": 7, "B": 2, "L0": 3, "LC": 15, "L1": 3, "L2": 9, "mu": 0.5, "Gamma": 5, "s": 0.25, "nuH": 0.01, "nuPhi": 0.1,
        "zeta0": 0.02, "zeta": 0.03, "zetaL": 0.04, "rho": 10, "W": 2, "n": 1,
    }  # fmt: skip
    found = {bound.name: bound.value for bound in certificate(known)}
    delta_d = 2 * 0.1 + 0.02 + 5 * 0.03
    hull = 3 * (1 + 5) * 0.01
    delta_f = math.sqrt(2 * 9 / 0.5 * (delta_d + 0.02 + hull)) + math.sqrt(2 * 27 * 6 * 0.01 / 0.5) + 0.03
    gap = 3 * (1 + 7 / 0.25) * 0.01
    assert found["Delta_D"] == pytest.approx(delta_d)
    assert found["Delta_F"] == pytest.approx(delta_f)
    assert found["Delta_O"] == pytest.approx(0.02 + delta_d + gap + (5 + 2 * 0.5 / 9) * delta_f)
    assert found["sensitivity"] == pytest.approx(gap + 0.2 + 0.04 + 2 * 5 * 0.03 + 2 * 0.04)
    zeta_a = (5 + 10 * 2) * 0.03
    d_a = 2 * 0.1 + 0.02 + zeta_a
    c_a = 1 + 5 + 10 * 2
    delta_r = math.sqrt(2 / 10 * (d_a + 0.02 + 3 * c_a * 0.01)) + math.sqrt(2 * 27 * c_a * 0.01 / 0.5)
    assert found["Delta_D augmented"] == pytest.approx(d_a)
    assert found["Delta_F augmented"] == pytest.approx(delta_r + 0.03)
    assert found["Delta_O augmented"] == pytest.approx(0.02 + d_a + gap + (5 + 5 * 2) * delta_r)
    assert found["sensitivity augmented"] == pytest.approx(gap + 0.2 + 0.04 + 2 * zeta_a + 2 * 0.04)


def test_what_is_missing_is_left_as_an_expression() -> None:
    known = {"B": 2.0, "Gamma": 5.0, "N": 1000.0, "N0": 1000.0, "delta": 0.05, "R": 0.01, "B0": math.inf, "R0": 0.01}
    found = {bound.name: bound for bound in certificate(known)}
    assert found["Delta_D"].value is None
    assert set(found["Delta_D"].missing) == {"nuPhi", "zeta0"}  # B0 is infinite, so its rate is not known
    zeta = 4 * 0.01 + 2 * 2 * math.sqrt(2 * math.log(2 / 0.05) / 1000)
    at = {"nuPhi": 0.0, "zeta0": 0.0}
    import sympy

    assert float(sympy.sympify(found["Delta_D"].left).subs(at)) == pytest.approx(5 * zeta)


def test_without_strong_convexity_the_augmented_bound_remains_where_the_class_is_convex() -> None:
    known = {
        "B": 2.0,
        "Gamma": 5.0,
        "L0": 0.0,
        "LC": 1.0,
        "L1": 1.0,
        "L2": 1.0,
        "nuH": 0.0,
        "nuPhi": 0.0,
        "zeta0": 0.01,
    }
    found = {bound.name: bound for bound in certificate({**known, "zeta": 0.01, "rho": 10.0, "W": 2.0, "n": 1.0})}
    assert found["Delta_F"].missing == ("mu",)
    assert found["Delta_F augmented"].value == pytest.approx(math.sqrt(2 / 10 * (0.01 + 25 * 0.01 + 0.01)) + 0.01)
