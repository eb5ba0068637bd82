"""Whole runs of quadratic programs that move with z: optimum, multipliers and certificate, against an independent solver.

``python tests/optima/report.py`` prints the numbers of all of them.
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from certifying import checked
from kinds import BY_NAME as KIND
from kinds import KINDS, Kind
from measuring import bars, solve
from programs import BY_NAME as PROGRAM
from programs import PROGRAMS, Program

import pdual
from pdual.bounding.report import report

QUICK = [
    ("half_space", "learned"),
    ("corner", "pointwise"),
    ("mixed", "hybrid"),
    ("alike_equal", "shared"),
    ("between", "pointwise"),
    ("mixed", "formula"),
]
ALL = [(program.name, kind.name) for program in PROGRAMS for kind in KINDS if kind.serves(program)]


def hold(program: Program, kind: Kind, folder: Path) -> None:
    """The bars of the kind; the certificate where the theorems cover the program."""
    found = solve(program, folder, kind)
    own, unseen = found["train"], found.get("test", found["train"])
    layout = own.run.outcome.run.training_sets[0].program.layout
    np.testing.assert_allclose([scale for part in layout.parts for scale in part.scale], program.scales, rtol=1e-6)
    for bar in bars(kind, own, unseen):
        assert bar.inside, bar
    for item in checked(own, program.margin()) if program.covered else ():
        assert item.inside, item
        assert math.isfinite(item.bound)


@pytest.mark.parametrize(("program", "kind"), QUICK)
def test_a_run_ends_at_the_optimum_and_inside_its_certificate(program: str, kind: str, tmp_path: Path) -> None:
    hold(PROGRAM[program], KIND[kind], tmp_path)


@pytest.mark.long
@pytest.mark.parametrize(("program", "kind"), [item for item in ALL if item not in QUICK])
def test_every_program_with_every_kind(program: str, kind: str, tmp_path: Path) -> None:
    hold(PROGRAM[program], KIND[kind], tmp_path)


@pytest.mark.parametrize("outer", [1, 2])
def test_a_run_that_was_ended_early_is_inside_its_certificate_too(outer: int, tmp_path: Path) -> None:
    """Its multipliers are far from the optimal ones, and the bounds say how much that may cost."""
    program, kind = replace(PROGRAM["between"], rho=0.2), KIND["pointwise"]
    early = replace(kind, settings=kind.settings.replace("outer = 12", f"outer = {outer}"))
    own = solve(program, tmp_path, early)["train"]
    assert own.relative > 0.05
    assert own.violation.mean() > 1e-3
    for item in checked(own, program.margin()):
        assert item.inside, item


def test_an_equality_is_not_covered(tmp_path: Path) -> None:
    spec = tmp_path / "balance.pdual"
    spec.write_text(PROGRAM["balance"].text("free()", "pointwise(cap = CAP)", "outer = 1", 0))
    found = report(pdual.load(spec).graph, {}, None)
    assert not found.covered
    assert [item.name for item in found.assumptions if item.verdict == "fails"] == ["strict feasibility"]


@pytest.mark.parametrize("program", [item for item in PROGRAMS if item.closed is not None], ids=lambda item: item.name)
def test_the_independent_solver_agrees_with_closed_forms(program: Program) -> None:
    assert program.closed is not None
    z = np.random.default_rng(7).uniform(-1, 1, (20, program.width))
    _, prices, _ = program.optima(z)
    np.testing.assert_allclose(prices, program.closed(z) * program.scales, atol=1e-6)


def test_constraints_are_tight_on_some_rows_and_slack_on_others() -> None:
    """Otherwise nothing above would say much."""
    for program in PROGRAMS:
        z = np.random.default_rng(3).uniform(-1, 1, (48, program.width))
        _, prices, _ = program.optima(z)
        tight = (np.abs(prices) > 1e-4).mean(0)
        assert (tight > 0.05).all(), program.name
        if not program.shared:
            assert (tight[~program.equal] < 0.8).all(), program.name
