"""What is known of rows at their own fields, against the scalar analysis with each row's fields as points, and against numbers by hand."""

from __future__ import annotations

import numpy as np
import pytest

from pdual.compiler.compile import interval_analysis, lower
from pdual.compiler.graph import Graph
from pdual.compiler.interval_analysis import IntervalAnalysis
from pdual.compiler.row_ranges import PartFacts, RowWalk
from pdual.dsl.operations.interval import point
from pdual.dsl.pipeline import read
from pdual.dsl.spans import Source

SPEC = """problem p "rows at hand"
set k = 0..2
data d {{
  a: real
  b: real in [0, 10]
  w: real[k] in [-5, 5]
  kind: k
}}
model f(a: real) -> real in [-1, 1]
model g(a: real) -> real[k] in [0, 2]
over r in d {{
  let x = f(r.a)
  let y = g(r.a)
  minimize x
  subject to c{constraint}
}}
"""
COLUMNS = {
    "a": np.array([0.0, 2.0, -3.0, 0.5]),
    "b": np.array([0.0, 10.0, 0.5, 1.0]),
    "w": np.array([[0.0, 1.0, -1.0], [5.0, 5.0, 5.0], [-5.0, 0.0, 2.0], [1e-3, 1.0, 4.0]]),
    "kind": np.array([0, 1, 1, 0]),
}


def lowered(constraint: str) -> Graph:
    spec, found = read(Source("p.pdual", SPEC.format(constraint=constraint)))
    assert spec is not None, list(found)
    graph, _ = lower(spec, {})
    return graph


def known(constraint: str) -> PartFacts:
    graph = lowered(constraint)
    (part,) = graph.data[0].parts
    return RowWalk(interval_analysis(graph.spec, graph.knowns, graph.sizes), COLUMNS, 4).facts(part)


@pytest.mark.parametrize(
    ("constraint", "never", "always"),
    [
        (": x >= r.a", [False, True, False, False], [False, False, True, False]),
        (": x^2 + r.b <= 2.5", [False, True, False, False], [True, False, True, True]),
        (": x == r.a", [False, True, True, False], [False] * 4),
        (": sum[j in k](r.w[j] * y[j]) <= -6", [True, True, False, True], [False] * 4),
        (": sum[j in k](r.w[j] * y[j]) >= 3 + r.b", [True, False, False, False], [False] * 4),
        (": max[j in k](r.w[j]) <= r.b - 2 * x", [False, False, False, True], [False, True, False, False]),
        (": y[r.kind] <= r.b", [False] * 4, [False, True, False, False]),
        (": sum[j in k where r.w[j] > 0.5](y[j]) <= 3", [False] * 4, [True, False, True, False]),
        (": sum[j in k where r.w[j] > 0.5](r.w[j]) >= 5 + x", [True, False, True, False], [False, True, False, False]),
        (": mean[j in k where r.w[j] >= 0](r.w[j]) <= r.b", [False] * 4, [False, True, False, False]),
        (": sigmoid(r.a) <= 0.1", [True, True, False, True], [False, False, True, False]),
    ],
)  # fmt: skip
def test_rows_that_never_hold_and_that_always_do(constraint: str, never: list[bool], always: list[bool]) -> None:
    found = known(constraint)
    assert found.never[:, 0].tolist() == never
    assert found.always[:, 0].tolist() == always


def test_an_entry_that_a_row_filters_is_no_constraint_there() -> None:
    found = known("[j in k where r.w[j] > 0.5]: y[j] >= r.w[j]")
    assert found.live.tolist() == [[False, True, False], [True] * 3, [False, False, True], [False, True, True]]
    assert found.never.tolist() == [[False] * 3, [True] * 3, [False] * 3, [False, False, True]]


@pytest.mark.parametrize(
    "constraint",
    [": x * r.a - r.b <= r.b^2", ": abs(r.a - x) / (1 + r.b) <= 0.3", ": sqrt(r.b) + exp(r.a) * x <= 2", ": max(x, r.a) >= min(r.b, x)"],
)  # fmt: skip
def test_one_row_at_a_time_says_the_same(constraint: str) -> None:
    """The scalar analysis whose declared ranges are the numbers of the row."""
    graph = lowered(constraint)
    (part,) = graph.data[0].parts
    intervals = interval_analysis(graph.spec, graph.knowns, graph.sizes)
    found = RowWalk(intervals, COLUMNS, 4).facts(part)
    for row in range(4):
        own = {("d", name): point(float(COLUMNS[name][row])) for name in ("a", "b")}
        alone = IntervalAnalysis(
            intervals.knowns, intervals.sizes, {**intervals.fields, **own}, intervals.outputs, intervals.members
        )
        expected = alone.range(part.residual, {})
        assert (found.low[row, 0], found.high[row, 0]) == (expected.lo, expected.hi)
