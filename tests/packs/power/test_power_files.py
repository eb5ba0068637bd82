"""A grid of the user's own: where its file is looked for, and what is said of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from running import say

GRID = """function mpc = two
mpc.version = '2';
mpc.baseMVA = 100;
mpc.bus = [1 3 0 0 0 0 1 1 0 230 1 1.1 0.9; 2 1 60 20 0 0 1 1 0 230 1 1.1 0.9];
mpc.gen = [1 0 0 120 -120 1 100 1 150 0];
mpc.branch = [1 2 0.02 0.10 0.04 0 0 0 0 0 1 -360 360];
mpc.gencost = [2 0 0 3 0.02 20 0];
"""


def test_a_case_on_the_command_line_is_in_the_current_folder(capsys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "mygrid.m").write_text(GRID)
    monkeypatch.chdir(tmp_path)
    assert say(capsys, "check", "opf", "--set", "case=mygrid.m").code == 0
    assert say(capsys, "check", "opf", "--set", "case=mygrid").code == 0
    missing = say(capsys, "check", "opf", "--set", "case=mygrit.m")
    assert missing.code == 3
    assert "`mygrid.m`" in missing.err + missing.out


def test_a_case_that_a_spec_names_is_not_taken_from_the_current_folder(
    capsys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "mygrid.m").write_text(GRID)
    (tmp_path / "specs").mkdir()
    own = 'problem own "own"\ngiven grid = power.case("mygrid.m") {\n  set gen\n}\n'
    (tmp_path / "specs" / "own.pdual").write_text(own)
    monkeypatch.chdir(tmp_path)
    said = say(capsys, "check", "specs/own.pdual")
    assert "PD501" in said.err + said.out


CHANGES = {
    "no end of capacity": ("1 150 0]", "1 Inf 0]"),
    "no capacity": ("1 150 0]", "1 0 0]"),
    "no costs": ("3 0.02 20 0]", "3 0 0 0]"),
    "an income": ("3 0.02 20 0]", "3 0 -20 0]"),
    "an exporter": ("2 1 60 20", "2 1 -60 0"),
    "corners": ("[2 0 0 3 0.02 20 0]", "[1 0 0 3 0 0 60 1200 150 3900]"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_odd_capacities_and_costs_are_no_mistake_of_the_spec(capsys, tmp_path: Path, change: str):
    assert CHANGES[change][0] in GRID
    (tmp_path / "grid.m").write_text(GRID.replace(*CHANGES[change]))
    said = say(capsys, "check", "opf", "--set", f"case={tmp_path / 'grid.m'}")
    assert said.code == 0, said.err


def test_a_run_on_two_buses_without_limits_is_scored(capsys, tmp_path: Path):
    (tmp_path / "grid.m").write_text(GRID)
    options = ["--limit", "4", "--budget", "1s", "--out", str(tmp_path / "run"), "-q"]
    said = say(capsys, "run", "opf", "--set", f"case={tmp_path / 'grid.m'}", *options)
    assert said.code in (0, 4), said.err
    assert set(re.findall(r"PD\d+", said.err)) == {"PD311"}, said.err  # the branch has no limit
