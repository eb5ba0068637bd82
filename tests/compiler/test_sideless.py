"""A bound that is computed from one that is declared to be infinite makes no row, as that one itself; any other that is not finite is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from pdual.compiler.compile import lower
from pdual.compiler.graph import Graph
from pdual.compiler.interpreter import Environment, RowValues, rows_of
from pdual.dsl.diagnostics import Diagnostic, Refusal
from pdual.dsl.pipeline import read
from pdual.dsl.printer import render_all
from pdual.dsl.spans import Source
from pdual.dsl.typed import TypedSpec

SPEC = """problem p "sides that are not there"
param open = inf in [0, inf]
param shut = inf
param one = 1
set s = 0..2
data d {{ x: real in [0, 1] }}
model f(x: real) -> real in [-1, 1]
over r in d {{
  minimize f(r.x)
  subject to limits{constraint}
}}
"""


def said(
    constraint: str, overrides: Mapping[str, str] | None = None
) -> tuple[TypedSpec | None, Graph | None, list[Diagnostic]]:
    source = Source("p.pdual", SPEC.format(constraint=constraint))
    spec, found = read(source, overrides)
    if spec is None and {item.code for item in found} == {"PD271"}:  # of a literal, which is seen earlier
        return None, None, [replace(found[0], code="PD310", facts=(("found", "-inf"),))]
    assert spec is not None, render_all(found, source)
    try:
        graph, more = lower(spec, {})
    except Refusal as refusal:
        return spec, None, list(refusal.diagnostics)
    return spec, graph, [item for item in more if item.code != "PD301"]


@pytest.mark.parametrize(
    ("constraint", "parts"),
    [
        (": f(r.x) <= open", 0),
        (": f(r.x) <= open / 4", 0),
        (": f(r.x) <= 0.25 * open", 0),
        (": f(r.x) >= -(2 * open)", 0),
        (": f(r.x) <= open - 3", 0),
        (": f(r.x) <= 3 + open", 0),
        (": f(r.x) >= 1 - open", 0),
        (": f(r.x) <= min[i in s](open)", 0),
        (": 0.5 <= f(r.x) <= open / 2", 1),
        (": f(r.x) <= 0.5 + 0.25 * 1", 1),
        (": f(r.x) <= 1 / inf", 1),
        (": f(r.x) <= min(0.5, shut)", 1),
        (": f(r.x) <= (1 / (one - 1) if one > 1 else 0.5)", 1),
        (": f(r.x) <= (0.5 if r.x < inf else 0.25)", 1),
        ("[i in s where i != 0]: f(r.x) <= 0.5 / (0 if i == 0 else 1)", 1),
        ("[i in s where not (i == 0 or 1 / (0 if i == 0 else 1) > 3)]: f(r.x) <= 0.5", 1),
        (": f(r.x) <= sum[i in s where i == 1](0.5 / (0 if i == 0 else 1))", 1),
        (" scale 1 / one: f(r.x) <= r.x", 1),
    ],
)
def test_what_is_computed_from_an_infinite_bound(constraint: str, parts: int) -> None:
    spec, graph, found = said(constraint)
    assert spec is not None
    assert graph is not None, found
    (data,) = graph.data
    row = RowValues({"x": 0.5}, lambda model, arguments: 0.25)
    entries = rows_of(spec.blocks[0].families[0], Environment(spec.param_values, {}, {"s": ("0", "1", "2")}), row)
    assert data.layout.columns == len(entries)
    assert len(data.layout.parts) == parts
    assert [item.code for item in found] == ([] if parts else ["PD311"])
    assert [part.without_side for part in data.without_rows] == [1] * (len(data.without_rows))


#: Every way to have no finite value, and why it has none.
WITHOUT = {
    "1 / 0": "divides by zero",
    "1 / (one - 1)": "divides by zero",
    "0 ^ (-1)": "divides by zero",
    "exp(1e9)": "larger than any number",
    "1e308 * 10": "larger than any number",
    "10 ^ 400": "larger than any number",
    "10 ^ (10 ^ 10)": "larger than any number",
    "inf - inf": "not a number",
    "open - open": "not a number",
    "0 * open": "not a number",
    "log(-1)": "domain",
    "log(0)": "domain",
    "sqrt(-1)": "domain",
    "sqrt(-1) + 1": "domain",
    "(-1) ^ 0.5": "domain",
    "inf": "inf",
    "-inf": "-inf",
    "shut": "inf",
    "3 / (1 / shut)": "inf",
    "max[k in s](1 / (0 if k == 1 else 1))": "divides by zero",
    "mean[k in s where one > 1](one)": "mean over none",
    "count[k in s](k) * inf": "inf",
}
#: Where it may stand: in each place it is refused.
PLACES = (
    ": f(r.x) <= {}",
    ": f(r.x) >= {}",
    ": f(r.x) == {}",
    ": 0 <= f(r.x) <= {}",
    ": {} <= f(r.x) <= 1",
    "[i in s]: f(r.x) <= {}",
    "[i in s where i == 1]: f(r.x) <= {}",
    "[i in s where r.x > 0.5]: f(r.x) <= {}",
    ": f(r.x) + {} <= 1",
    ": f(r.x) * ({}) <= 1",
    ": f(r.x) <= ({} if r.x > 0.5 else 1)",
    ": f(r.x) <= sum[j in s](r.x * ({}))",
    " scale {}: f(r.x) <= r.x",
    "[i in s where r.x * ({}) > 1]: f(r.x) <= 1",
)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("value", WITHOUT)
def test_what_has_no_finite_value_is_refused_where_it_stands(value: str, place: str) -> None:
    constraint = place.format(value if place.startswith(" ") else f"({value})")
    _, _, (found,) = said(constraint)
    assert found.code == "PD310"
    text = SPEC.format(constraint=constraint)
    assert text.index("limits") <= found.span.start < found.span.end <= text.index("\n", text.index("limits"))
    if "inf" not in (value, WITHOUT[value]) and WITHOUT[value] != "-inf":
        assert WITHOUT[value] in found.fact["found"]


@pytest.mark.parametrize("where", ["minimize {} * f(r.x)", "metric m = f(r.x) + {}", "minimize f(r.x) scale {}"])
@pytest.mark.parametrize("value", WITHOUT)
def test_nor_has_it_a_place_in_an_objective_or_a_metric(where: str, value: str) -> None:
    statement = where.format(f"({value})")
    (found,) = said(f": f(r.x) <= 0.5\n  {statement}")[2]
    assert found.code == "PD310"


def test_the_parameters_are_named_with_the_values_of_the_command_line() -> None:
    (found,) = said(": f(r.x) <= 1 / (one - 2)", {"one": "2"})[2]
    assert found.fact["params"] == "`one = 2`"
    (found,) = said(": f(r.x) <= log(one)", {"one": "0"})[2]
    assert found.fact["params"] == "`one = 0`"


def test_the_member_is_named() -> None:
    (found,) = said("[i in s]: f(r.x) <= 1 / (0 if i == 2 else 1)")[2]
    assert found.fact["at"] == "2"


@pytest.mark.parametrize("relation", ["f(r.x) >= open", "f(r.x) <= -open", "f(r.x) == open", "open <= f(r.x) <= 3"])
def test_what_nothing_meets_is_refused_though_it_is_declared(relation: str) -> None:
    assert [item.code for item in said(f": {relation}")[2]] == ["PD310"]


def test_a_constraint_that_a_filter_removes_is_said() -> None:
    assert [item.code for item in said("[i in s where one > 1]: f(r.x) <= 0.5")[2]] == ["PD311"]
