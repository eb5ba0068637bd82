"""What the declared ranges imply: rows that cannot hold, operations outside their domain, values where a relation holds."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from pdual.compiler.compile import interval_analysis, lower
from pdual.compiler.graph import Graph
from pdual.compiler.narrowing import Leaf, sweep
from pdual.dsl.operations.interval import Interval
from pdual.dsl.pipeline import read
from pdual.dsl.printer import render_all
from pdual.dsl.spans import Source

SPEC = """problem p "a test"
set kind = 0..2
data d {{
  x: real in [-1, 1]
  y: real in [0, 4]
  z: real[kind] in [0, 1]
  free: real
}}
model f(x: real) -> real in [-2, 2] = mlp([8])
model open(x: real) -> real = mlp([8])
over r in d {{
  let p = f(r.x)
  let q = open(r.x)
  minimize {minimize}
  subject to row: {row}
}}
"""


def lowered(row: str = "p <= 1", minimize: str = "p^2") -> tuple[Graph, list[str]]:
    source = Source("p.pdual", SPEC.format(row=row, minimize=minimize))
    spec, found = read(source)
    assert spec is not None, render_all(found, source)
    graph, said = lower(spec, {})
    return graph, [item.code for item in said]


def swept(row: str) -> dict[str, tuple[float, float]] | None:
    """What the row's first part implies, by the name of field or model."""
    graph, _ = lowered(row)
    part = graph.data[0].parts[0]
    intervals = interval_analysis(graph.spec, {}, graph.sizes)
    found = sweep(intervals, part.residual, {}, equality=part.layout.sense == "==")
    return None if found is None else {leaf.name or leaf.owner: tuple(held) for leaf, held in found.items()}


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("p + 1 <= 0", {"f": (-2, -1)}),
        ("exp(q) <= 1", {"open": (-float("inf"), 0)}),
        ("q^2 <= 4", {"open": (-2, 2)}),
        ("2 * q - r.y <= 0", {"open": (-float("inf"), 2), "y": (0, 4)}),
        ("sum[k in kind](r.z[k]) >= 2.5", {"z": (0.5, 1)}),
        ("max[k in kind](r.z[k]) <= 0.25", {"z": (0, 0.25)}),
        ("p == r.y", {"f": (0, 2), "y": (0, 2)}),
        ("abs(p) >= 1", {"f": (-2, 2)}),
    ],
)
def test_values_where_the_relation_holds(row: str, expected: dict[str, tuple[float, float]]) -> None:
    found = swept(row)
    assert found is not None
    assert set(found) == set(expected)
    for name, ends in expected.items():
        assert found[name] == pytest.approx(ends, abs=1e-9)


def test_a_leaf_is_an_entry_of_a_field_or_of_an_output() -> None:
    graph, _ = lowered("sum[k in kind](r.z[k]) >= 2.5 + 0 * p")
    part = graph.data[0].parts[0]
    found = sweep(interval_analysis(graph.spec, {}, graph.sizes), part.residual, {}, equality=False)
    assert found is not None
    assert {leaf for leaf in found if leaf.call < 0} == {Leaf("d", "z", (k,), -1) for k in range(3)}


@given(
    st.sampled_from(["p * p - p * r.x", "abs(p) + r.y", "softplus(p) - r.y / 2", "max(p, r.x)", "(p + r.x)^2"]),
    st.floats(-3, 3),
    st.floats(-2, 2),
    st.floats(-1, 1),
    st.floats(0, 4),
)
@settings(max_examples=60, deadline=None)
def test_no_values_that_satisfy_a_row_are_lost(left: str, bound: float, p: float, x: float, y: float) -> None:
    import math

    values = {"abs": abs, "softplus": lambda v: math.log1p(math.exp(v)), "max": max, "p": p}
    code = left.replace("^", "**").replace("r.x", "x").replace("r.y", "y")
    holds = eval(code, {**values, "x": x, "y": y}) <= bound
    found = swept(f"{left} <= {bound!r}")
    if holds:
        assert found is not None
        for name, value in {"f": p, "x": x, "y": y}.items():
            low, high = found.get(name, (-float("inf"), float("inf")))
            assert low <= value <= high


@pytest.mark.parametrize(
    ("row", "codes"),
    [
        ("p <= 3", ["PD301"]),
        ("p <= 1", []),
        ("p <= -3", ["PD302"]),
        ("p == 5", ["PD302"]),
        ("(p + 0.5) * (p + 0.5) + abs(p) <= -0.1 + r.y * 0", ["PD302"]),
        # Each side alone may be met; only going back shows that p can be neither.
        ("max(2 * p - 1, 0.5 - p) * 1 <= -1", ["PD302"]),
    ],
)
def test_rows_that_cannot_matter_or_cannot_hold(row: str, codes: list[str]) -> None:
    assert lowered(row)[1] == codes


@pytest.mark.parametrize(
    ("family", "codes", "ranges"),
    [
        ("a scale 10: p <= 1", ["PD306"], "3"),
        ("a[k in kind] scale 10: p + r.z[k] <= 1", ["PD306"], "3"),
        ("a scale 10: -1 <= p <= 1", ["PD306"], "2"),
        ("a: p <= 1", [], None),
        ("a scale 10: q <= 1", [], None),
        ("a scale 10: p == r.y", [], None),
        ("a scale 10: q <= p", [], None),
        ("a scale 10: p <= q <= 1", [], None),
        ("a scale 10: -1 <= p <= q", [], None),
    ],
)
def test_a_scale_that_no_entry_takes(family: str, codes: list[str], ranges: str | None) -> None:
    source = Source("p.pdual", SPEC.replace("row: {row}", "{row}").format(row=family, minimize="p^2"))
    spec, mistakes = read(source)
    assert spec is not None, render_all(mistakes, source)
    _, found = lower(spec, {})
    assert [item.code for item in found] == codes
    assert [dict(item.facts)["ranges"] for item in found] == ([] if ranges is None else [ranges])


@pytest.mark.parametrize(
    ("minimize", "codes"),
    [
        ("log(r.y)", ["PD304"]),
        ("log(r.y + 1)", []),
        ("log(r.x)", ["PD304"]),
        ("sqrt(r.x)", ["PD304"]),
        ("sqrt(r.y)", []),
        ("1 / r.x", ["PD304"]),
        ("1 / (r.x + 2)", []),
        ("1 / (1 + exp(q))", []),
        ("1 / exp(q)", []),
        ("1 / r.free", []),
        ("log(r.free)", []),
        ("sum[k in kind](1 / r.z[k])", ["PD304"]),
    ],
)
def test_operations_outside_their_domain(minimize: str, codes: list[str]) -> None:
    assert lowered(minimize=f"({minimize}) * 1 + 0 * p")[1] == codes


def test_what_is_said_of_a_domain() -> None:
    source = Source("p.pdual", SPEC.format(row="p <= 1", minimize="p^2 / r.x"))
    spec, _ = read(source)
    assert spec is not None
    text = render_all(lower(spec, {})[1], source)
    assert "warning[PD304]: `divide` has no value on part of the declared ranges" in text
    assert "its denominator lies in [-1, 1], and must not be 0" in text


def test_an_interval_of_a_sum_holds_in_any_order() -> None:
    """(1e16 + 1) - 1e16 is 0 or 2 in double precision, never 1."""
    from pdual.dsl.operations import REDUCTIONS
    from pdual.dsl.operations.interval import TRUE, point

    found = REDUCTIONS["sum"].interval([(point(1e16), TRUE), (point(-1e16), TRUE), (point(1.0), TRUE)])
    assert 0.0 in found
    assert 2.0 in found
    assert REDUCTIONS["sum"].interval([(Interval(0.0, 0.1), TRUE)] * 5).lo == 0.0
