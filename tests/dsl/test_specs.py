"""The specs that are shipped check without an error, and those of the benchmarks that run without a warning."""

from __future__ import annotations

from pathlib import Path

import pytest

from pdual.dsl.catalogue import CATALOGUE
from pdual.dsl.diagnostics import Severity
from pdual.dsl.parser import source
from pdual.dsl.pipeline import read
from pdual.dsl.printer import render_all

ROOT = Path(__file__).parent.parent.parent
SPECS = sorted((ROOT / "specs").glob("*.pdual"))


def test_the_four_of_the_design_are_there() -> None:
    assert {"opf30", "mnist", "flora", "tofu"} <= {spec.stem for spec in SPECS}


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.stem)
def test_checks_without_an_error(spec: Path) -> None:
    text = source(spec, spec.name)
    typed, found = read(text)
    errors = [item for item in found if CATALOGUE[item.code].severity is Severity.ERROR]
    assert not errors, render_all(errors, text)
    assert typed is not None
    assert typed.name == spec.stem
    assert typed.blocks


def test_opf30_checks_without_a_warning() -> None:
    text = source(ROOT / "specs" / "opf30.pdual", "opf30.pdual")
    _, found = read(text)
    assert not found, render_all(found, text)
