"""Every mistake that the checker knows, as a spec that makes it, beside one that does not."""

from __future__ import annotations

from pathlib import Path
from string import Formatter

import golden
import pytest

from pdual.dsl.catalogue import CATALOGUE, duals, names, types
from pdual.dsl.diagnostics import Severity
from pdual.dsl.parser import source
from pdual.dsl.pipeline import read
from pdual.dsl.printer import render_all
from pdual.dsl.spans import Source

REFUSED = golden.cases("check")
ACCEPTED = golden.cases("check/accepted")

#: Of the values of `--set`, not of the text.
OF_OVERRIDES = {"PD116", "PD240", "PD241"}
#: Found when a spec is lowered or assembled: tests/compiler/test_refused.py.
OF_THE_COMPILER = {
    *("PD274", "PD277", "PD291", "PD292", "PD293", "PD294", "PD295", "PD296", "PD297", "PD298", "PD299"),
    *("PD415", "PD416", "PD417", "PD430", "PD431", "PD440", "PD441"),
}
#: The grammar does not let them through: an argument without a type, a model without an output.
OF_TREES_ONLY = {"PD266", "PD267"}


@pytest.mark.parametrize("case", REFUSED, ids=golden.name)
def test_case(case: Path) -> None:
    text = source(case, case.name)
    spec, found = read(text)
    assert (spec is None) == any(CATALOGUE[item.code].severity is Severity.ERROR for item in found)
    golden.hold(case, render_all(found, text))


@pytest.mark.parametrize("case", REFUSED, ids=golden.name)
def test_case_reports_its_own_code_only(case: Path) -> None:
    codes = {item.code for item in read(source(case, case.name))[1]}
    assert codes == {case.name[:5].upper()} or case.name.startswith("several")


@pytest.mark.parametrize("case", REFUSED, ids=golden.name)
def test_the_title_has_every_fact_it_names(case: Path) -> None:
    for item in read(source(case, case.name))[1]:
        named = {name for _, name, _, _ in Formatter().parse(CATALOGUE[item.code].title) if name}
        assert named <= item.fact.keys()


@pytest.mark.parametrize("case", ACCEPTED, ids=golden.name)
def test_accepted(case: Path) -> None:
    text = source(case, case.name)
    spec, found = read(text)
    assert spec is not None
    assert not found, render_all(found, text)


def test_every_refused_case_has_an_accepted_neighbour() -> None:
    refused = {case.name for case in REFUSED if not case.name.startswith("several")}
    assert {case.name for case in ACCEPTED} == refused


def test_every_code_has_a_case() -> None:
    covered = {case.name[:5].upper() for case in REFUSED if not case.name.startswith("several")}
    codes = {entry.code for group in (names, types, duals) for entry in group.ENTRIES}
    assert codes - covered == OF_OVERRIDES | OF_THE_COMPILER | OF_TREES_ONLY


WEIGHTED = """problem p "a test"
param weight = 2.0 in [0, 10]
param many = 3
data d {
  x: real
}
over r in d { minimize weight * many * r.x }
"""


@pytest.mark.parametrize(
    ("overrides", "title"),
    [
        ({"wieght": 1.0}, "error[PD116]: there is no parameter `wieght` to set"),
        ({"weight": "heavy"}, "error[PD240]: parameter `weight` should be a number, found `heavy`"),
        ({"many": 2.5}, "error[PD240]: parameter `many` should be an integer, found `2.5`"),
        ({"weight": 11.0}, "error[PD241]: parameter `weight` should be in [0, 10], found 11"),
    ],
)
def test_overrides_are_refused(overrides: dict[str, float | str], title: str) -> None:
    text = Source("p.pdual", WEIGHTED)
    spec, found = read(text, overrides)
    assert spec is None
    assert render_all(found, text).splitlines()[0] == title


@pytest.mark.parametrize("overrides", [{}, {"weight": 10.0}, {"weight": "1%"}, {"many": "4"}, {"many": 4.0}])
def test_overrides_are_accepted(overrides: dict[str, float | str]) -> None:
    spec, found = read(Source("p.pdual", WEIGHTED), overrides)
    assert spec is not None
    assert not found
    assert {param.name: param.value for param in spec.params}.items() >= {
        name: {"1%": 0.01, "4": 4}.get(str(value), value) for name, value in overrides.items()
    }.items()
