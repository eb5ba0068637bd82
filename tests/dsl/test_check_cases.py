"""Every mistake that the checker knows, as a spec that makes it, beside one that does not."""

from __future__ import annotations

from pathlib import Path

import golden
import pytest

from pdual.dsl.catalogue import CATALOGUE
from pdual.dsl.diagnostics import Severity
from pdual.dsl.parser import source
from pdual.dsl.pipeline import read
from pdual.dsl.printer import render_all

REFUSED = golden.cases("check")
ACCEPTED = golden.cases("check/accepted")


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


@pytest.mark.parametrize("case", ACCEPTED, ids=golden.name)
def test_accepted(case: Path) -> None:
    text = source(case, case.name)
    spec, found = read(text)
    assert spec is not None
    assert not found, render_all(found, text)


def test_every_refused_case_has_an_accepted_neighbour() -> None:
    refused = {case.name for case in REFUSED if not case.name.startswith("several")}
    assert {case.name for case in ACCEPTED} == refused
