"""Broken case files: each refusal beside a neighbour that is accepted."""

import re

import pytest
from power_oracle import CASES, known, refused

SIX = (CASES / "six.m").read_text()
BEFORE, BRANCHES, ROWS = SIX.partition("mpc.branch")
BUS_7 = "7	1	25	8	1.5	6	1	1	0	110	1	1.05	0.95;"
UNIT_1 = "1	0	0	60	-40	1	50	1	80	0;"
COST_1 = "2	0	0	3	0.04	12	100;"
LINE_5_7 = "5	7	0.02	0.11	0.02	40	0	0	0	0	1	-360	360;"
LINE_20_7 = "20	7	0.04	0.2	0	20	0	0	0	0	1	-10	10;"
REACTIVE = "2	0	0	3	0	1	0;\n];"


def without(matrix):
    start = SIX.index(f"mpc.{matrix} = [")
    return SIX[:start] + SIX[SIX.index("];", start) + 2 :]


def swap(old, new):
    assert SIX.count(old) == 1, old
    return SIX.replace(old, new)


OFF = re.sub(r"(?m)(\t50\t)1(\t\d+\t\d+;)", r"\g<1>0\2", SIX)

BROKEN = {
    "no branches": (without("branch"), "PD503", "branch"),
    "no costs": (without("gencost"), "PD503", "gencost"),
    "no base": (swap("mpc.baseMVA = 50;", ""), "PD503", "baseMVA"),
    "no text": ("", "PD503", "baseMVA"),
    "another format": ("a,b\n1,2\n", "PD502", "line 1: `a` is not an assignment"),
    "empty matrix": (without("gen") + "\nmpc.gen = [\n];\n", "PD503", "gen"),
    "short row": (swap(BUS_7, "7	1	25	8	1.5	6	1	1	0	110;"), "PD504", "row `4`"),
    "short branch": (swap(LINE_20_7, "20	7	0.04	0.2	0	20	0	0	0	0;"), "PD504", "row `9`"),
    "long row": (swap(BUS_7, BUS_7.replace("1.05", "1. 05")), "PD502", "row 4 of `bus` has 14 entries, its first row has 13"),
    "text": (swap(BUS_7, BUS_7.replace("25", "many")), "PD502", "line 12: `many` is no number"),
    "NaN": (swap(BUS_7, BUS_7.replace("25", "NaN")), "PD505", "Pd = nan in row 4"),
    "infinite load": (swap(BUS_7, BUS_7.replace("25", "Inf")), "PD505", "Pd = inf in row 4"),
    "half a bus": (swap(LINE_5_7, LINE_5_7.replace("5	7", "5.5	7", 1)), "PD505", "fbus = 5.5 in row 5"),
    "text in a cost": (swap(COST_1, COST_1.replace("12", "twelve")), "PD502", "line 29: `twelve` is no number"),
    "negative base": (swap("baseMVA = 50", "baseMVA = -50"), "PD505", "-50"),
    "negative rate": (swap(LINE_20_7, LINE_20_7.replace("	20	0", "	-20	0")), "PD505", "20->7"),
    "negative Vmin": (swap(BUS_7, BUS_7.replace("0.95", "-0.95")), "PD505", "bus 7"),
    "branch to nowhere": (swap(LINE_5_7, LINE_5_7.replace("5	7", "5	8", 1)), "PD506", "bus 8"),
    "unit nowhere": (swap(UNIT_1, UNIT_1.replace("1	0	0", "3	0	0")), "PD506", "bus 3"),
    "no reference": (swap("1	3	0", "1	2	0"), "PD507", "none"),
    "two references": (swap("5	2	10", "5	3	10"), "PD507", "2 (`1`, `5`)"),
    "voltages cross": (swap(BUS_7, BUS_7.replace("0.95", "1.1")), "PD508", "bus 7"),
    "powers cross": (swap("-20	1	50	1	30	5;", "-20	1	50	1	3	5;"), "PD508", "3@5"),
    "angles cross": (swap(LINE_20_7, LINE_20_7.replace("-10	10", "10	-10")), "PD508", "20->7"),
    "piecewise cost": (swap(COST_1, "1	0	0	2	0	0	80;"), "PD509", "a piecewise linear one"),
    "cubic cost": (swap(COST_1, "2	0	0	4	1	0	12	100;"), "PD509", "degree 3"),
    "few coefficients": (swap(COST_1, "2	0	0	4	1	0	12;"), "PD509", "3 of 4 coefficients"),
    "bus twice": (swap(BUS_7, BUS_7 + "\n" + BUS_7), "PD510", "bus `7`"),
    "no impedance": (swap(LINE_20_7, LINE_20_7.replace("0.04	0.2", "0	0")), "PD511", "20->7"),
    "island": (swap("7	1	25", "8	1	1	0	0	0	1	1	0	1	1	1.1	0.9;\n7	1	25"), "PD512", "bus `8`"),
    "few costs": (swap(COST_1, ""), "PD513", "4 rows"),
    "computed": (SIX + "\nmpc.branch(:, 3) = scaled(mpc.branch(:, 3));\n", "PD502", "line 50: `scaled(...)` is a call"),
    "no unit on": (OFF, "PD514", "unit"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_refused_with_its_fault(name, tmp_path):
    text, code, fact = BROKEN[name]
    (tmp_path / "broken.m").write_text(text)
    diagnostics = refused(lambda: known("broken.m", tmp_path))
    assert [item.code for item in diagnostics] == [code]
    assert any(fact in value for value in diagnostics[0].fact.values()), diagnostics[0].facts


FINE = {
    "rows on one line": SIX.replace(";\n\t2\t0\t0\t3", "; 2\t0\t0\t3"),
    "commas": swap(BUS_7, BUS_7.replace("\t", ", ")),
    "windows lines": SIX.replace("\n", "\r\n"),
    "no semicolon after a matrix": SIX.replace("];", "]"),
    "a row over two lines": swap(BUS_7, BUS_7.replace("1.5	6", "1.5 ... and more\n\t6")),
    "a matrix in a comment": SIX.replace("mpc.bus = [", "% mpc.bus = [ 1 2 ];\nmpc.bus = ["),
    "no semicolon after a row": swap(BUS_7, BUS_7[:-1]),
    "costs of reactive power that are 0": SIX.replace(
        REACTIVE, REACTIVE[:-2] + "2	0	0	1	0	0	0;\n" * 5 + "];"
    ),
    "leading zeros in a cost": swap(COST_1, "2	0	0	5	0	0	0.04	12	100;"),
    "crossed limits out of service": swap("-20	1	50	0	50	0;", "-20	1	50	0	5	10;"),
    "piecewise text": SIX + "\nmpc.notes = 'mpc.bus';\n",
}


@pytest.mark.parametrize("name", FINE)
def test_other_spellings_of_the_same_case_are_the_same_case(name, tmp_path):
    (tmp_path / "fine.m").write_text(FINE[name], newline="")
    assert known("fine.m", tmp_path).fingerprint == known("six.m").fingerprint


NEIGHBOURS = {
    "a bus at its own limit": swap(BUS_7, BUS_7.replace("0.95", "1.05")),
    "angles at one value": swap(LINE_20_7, LINE_20_7.replace("-10	10", "10	10")),
    "infinite rate": swap(LINE_20_7, LINE_20_7.replace("	20	0", "	Inf	0")),
    "reactance only": swap(LINE_20_7, LINE_20_7.replace("0.04	0.2", "0	0.2")),
    "a reference elsewhere": swap("1	3	0", "1	2	0").replace("5	2	10", "5	3	10"),
    "a new bus with a line": swap(
        "7	1	25", "8	1	1	0	0	0	1	1	0	1	1	1.1	0.9;\n7	1	25"
    ).replace(LINE_5_7, LINE_5_7 + "\n" + LINE_5_7.replace("5	7", "5	8", 1)),
    "a linear cost": swap(COST_1, "2	0	0	2	12	100	0;"),
    "no angle columns": BEFORE + BRANCHES + re.sub(r"\t-?\d+\t-?\d+;", ";", ROWS),
}


@pytest.mark.parametrize("name", NEIGHBOURS)
def test_what_is_just_right_is_accepted(name, tmp_path):
    (tmp_path / "fine.m").write_text(NEIGHBOURS[name])
    grid = known("fine.m", tmp_path)
    assert grid.fingerprint != known("six.m").fingerprint or name == "no angle columns"


def test_a_cost_of_reactive_power_is_refused(tmp_path):
    text = SIX.replace(REACTIVE, REACTIVE[:-2] + "2	0	0	2	3	0	0;\n" * 5 + "];")
    (tmp_path / "broken.m").write_text(text)
    (diagnostic,) = refused(lambda: known("broken.m", tmp_path))
    assert (diagnostic.code, diagnostic.fact["found"]) == ("PD509", "a cost of reactive power")
    assert diagnostic.fact["units"] == "units `1@1`, `2@5`, `3@5` and 2 more"


def test_independent_faults_are_told_at_once(tmp_path):
    text = swap(BUS_7, BUS_7.replace("0.95", "1.1")).replace("5	2	10", "5	3	10")
    text = text.replace(LINE_20_7, LINE_20_7.replace("0.04	0.2", "0	0"))
    (tmp_path / "broken.m").write_text(text)
    assert [item.code for item in refused(lambda: known("broken.m", tmp_path))] == ["PD507", "PD508", "PD511"]


def test_a_folder_is_not_a_case(tmp_path):
    (tmp_path / "case.m").mkdir()
    assert refused(lambda: known("case.m", tmp_path))[0].code == "PD501"
