"""Two specs are one problem where they say the same in other words, and are not where one thing differs."""

from __future__ import annotations

import pytest

from pdual.compiler.compile import lower
from pdual.compiler.graph import Graph
from pdual.compiler.sameness import differs
from pdual.dsl.pipeline import read
from pdual.dsl.printer import render_all
from pdual.dsl.spans import Source

SPEC = """problem p "a test"
param most = 1.0
param cap = 5.0
set i = 0..2
data d { x: real in [0, 1], z: real[i] }
model f(x: real) -> real[i] = mlp(hidden = [4])
model h(x: real) -> real = mlp(hidden = [4])
over r in d {
  let y = f(r.x)
  minimize sum[k in i]((y[k] - r.z[k])^2)
  subject to row[k in i]: y[k] <= most
  dual row[k] = cap * sigmoid(h(r.x))
  metric first = y[0]
}
"""


def lowered(text: str, **dual: str) -> Graph:
    source = Source("p.pdual", text)
    spec, found = read(source)
    assert spec is not None, render_all(found, source)
    return lower(spec, {}, dual)[0]


@pytest.mark.parametrize(
    ("written", "other"),
    [
        ("a test", "another title"),
        ("param cap = 5.0", "param cap = 5.0  # a comment"),
        ("  let y = f(r.x)\n", "  let y = f(r.x)\n  let unused = y[1]\n"),
        ("row[k in i]: y[k] <= most", "row[j in i]: f(r.x)[j] <= most"),
        ("metric first = y[0]", "metric second = y[1]"),
    ],
)
def test_other_words_for_the_same_problem(written: str, other: str) -> None:
    changed = SPEC.replace(written, other)
    assert changed != SPEC
    assert differs(lowered(SPEC), lowered(changed), duals=True) is None


@pytest.mark.parametrize(
    ("written", "other", "subject"),
    [
        ("set i = 0..2", "set i = 0..3", "the sets and constants"),
        (" d ", " e ", "the data sets"),
        ("y[k] <= most", "y[k] >= most", "the constraints"),
        ("param most = 1.0", "param most = 2.0", "the constraints"),
        ("row[k in i]:", "row[k in i] scale 2:", "the constraints"),
        ("r.z[k])^2", "r.z[k])^4", "the objective"),
        ("real[i] = mlp(hidden = [4])", "real[i] = mlp(hidden = [5])", "the models"),
    ],
)
def test_what_differs_is_named(written: str, other: str, subject: str) -> None:
    changed = SPEC.replace(written, other)
    assert changed != SPEC
    assert differs(lowered(SPEC), lowered(changed)) == subject


def test_the_objective_and_the_multipliers_count_where_they_are_asked_for() -> None:
    other = SPEC.replace("r.z[k])^2", "r.z[k])^4")
    assert differs(lowered(SPEC), lowered(other), objective=False) is None
    held = lowered(SPEC, row="pointwise")
    assert differs(lowered(SPEC), held) is None
    assert differs(lowered(SPEC), held, duals=True) == "the multipliers"
    wider = SPEC.replace("-> real = mlp(hidden = [4])", "-> real = mlp(hidden = [8])")
    assert differs(lowered(SPEC), lowered(wider)) is None
    assert differs(lowered(SPEC), lowered(SPEC.replace("cap = 5.0", "cap = 6.0")), duals=True) == "the multipliers"
