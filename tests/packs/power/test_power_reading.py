"""MATPOWER files in many styles: what is read is what MATLAB would hold, and every other statement is refused with its line."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from examples import EXAMPLES
from hypothesis import given, settings
from hypothesis import strategies as st
from power_oracle import CASES, known, refused

from pdual.dsl.diagnostics import Refusal
from pdual.dsl.spans import Source
from pdual.packs.power.cases.statements import carry_out
from pdual.packs.power.cases.tokens import Unreadable
from pdual.runtime.data.context import SourceContext
from pdual.understanding import understand

BUS = [[1, 3, 0, 0, 0, 0, 1, 1, 0, 230, 1, 1.1, 0.9], [2, 2, 60, 20, 0, 0, 1, 1, 0, 230, 1, 1.1, 0.9]]
BUS += [[5, 1, 90, 30, 0, 10, 1, 1, 0, 230, 1, 1.1, 0.9]]
GEN = [[1, 0, 0, 120, -120, 1, 100, 1, 150, 0], [2, 0, 0, 80, -80, 1, 100, 1, 120, 10]]
BRANCH = [[1, 2, 0.02, 0.1, 0.04, 120, 0, 0, 0, 0, 1, -30, 30], [2, 5, 0.01, 0.08, 0.02, 120, 0, 0, 0, 0, 1, -30, 30]]
BRANCH += [[1, 5, 0.015, 0.12, 0.03, 120, 0, 0, 0, 0, 1, -30, 30]]
COSTS = [[2, 0, 0, 3, 0.02, 20, 0], [2, 0, 0, 3, 0.01, 35, 0]]
TABLES = {"bus": BUS, "gen": GEN, "branch": BRANCH, "gencost": COSTS}


def rows(table):
    return "[\n" + "".join("\t" + "\t".join(f"{entry!r}" for entry in row) + ";\n" for row in table) + "]"


def written(struct="mpc.", head="function mpc = three\n", tables=TABLES, base="100", version="'2'"):
    lines = [f"{struct}version = {version};"] if version else []
    lines += [f"{struct}baseMVA = {base};"] + [f"{struct}{name} = {rows(table)};" for name, table in tables.items()]
    return head + "\n".join(lines) + "\n"


PLAIN = written()
FIRST = len(PLAIN.splitlines()) + 1  # the line of what is put after it


def grid(text, folder):
    (folder / "case.m").write_text(text, newline="")
    return known("case.m", folder)


def scaled(table, column, factor):
    return [[entry * factor if place == column else entry for place, entry in enumerate(row)] for row in table]


ONES = "[1 1 1.3 1.3 1 1 1 1 1 1 1 1 1]"
HEAVY = scaled(scaled(BUS, 2, 1.3), 3, 1.3)
OLD = "function [baseMVA, bus, gen, branch, areas, gencost] = three\n"
SAME = {
    "hash comments": PLAIN.replace(";\n", "; # feeder\n"),
    "a comment with a bracket": PLAIN.replace("0.9;\n", "0.9; % ] mpc.bus = [\n", 1),
    "another struct": written("s.", "function s = three\n"),
    "a struct in brackets": written("s.", "function [s] = three()\n"),
    "no function": written("grid.", ""),
    "version 1": written("", OLD, version=None),
    "version 1 with other names": written("", OLD, version=None).replace("baseMVA", "Sb").replace("areas", "a"),
    "no version": written(version=None),
    "a number as version": written(version="2"),
    "a block comment": PLAIN.replace("mpc.bus =", "%{\nmpc.bus = [ 1 2\n%{\n%}\n]\n%}\nmpc.bus =", 1),
    "a block comment of Octave in a matrix": PLAIN.replace("mpc.bus = [\n", "mpc.bus = [\n  #{\n 1 2 3;\n  #}\n", 1),
    "an older table before": PLAIN.replace("mpc.bus =", "mpc.bus = [1 2; 3 4];\nmpc.bus =", 1),
    "old Macintosh lines": PLAIN.replace("\n", "\r"),
    "a mark of the byte order": "\ufeff" + PLAIN,
    "rows continued": PLAIN.replace("\t1.1\t0.9;", " ... the limits\n\t1.1, 0.9;"),
    "rows by lines alone": PLAIN.replace(";\n\t", "\n\t"),
    "quotients": PLAIN.replace("0.02", "1/50").replace("-30", "-60/2"),
    "other writing": PLAIN.replace("120", "1.2e2").replace("0.9", ".9").replace("\t90\t", "\t+9D1\t"),
    "a struct made at once": PLAIN.replace("mpc.version = '2';\nmpc.baseMVA = 100;", "mpc = struct('version', '2', 'baseMVA', 100);"),
    "texts and cells": PLAIN + "mpc.bus_name = {\n'it''s A';\n\"B ] %\"; 'C # ';\n};\nmpc.genfuel = {'coal', 'gas'}';\n"[:-3] + ";\n",
    "words": PLAIN + "mpc.gentype = {'ST'; 'GT'};\nmpc.areas = [1 1];\nmpc.notes = 'mpc.bus = [';\n",
    "an end": PLAIN + "end\n",
    "a return": PLAIN + "return;\n",
    "halves put together": PLAIN.replace("mpc.gen =", "half = 60;\nmpc.gen =").replace("120", "(2 * half)"),
    "a line out of service": PLAIN + "mpc.dcline = [\n1 5 0 30 29 0 0 1 1 0 40 -10 10 -10 10 1 0.01;\n];\n",
    "empty tables": PLAIN + "mpc.dcline = [];\nmpc.A = zeros(0, 3);\n",
    "changed and changed back": PLAIN + "mpc.bus(:, 3) = mpc.bus(:, 3) * 4;\nmpc.bus(:, 3) = mpc.bus(:, 3) / 4;\n",
}  # fmt: skip


@pytest.mark.parametrize("name", SAME)
def test_styles_of_one_case_are_one_case(name, tmp_path):
    assert grid(SAME[name], tmp_path).fields == grid(PLAIN, tmp_path).fields


COLUMNS = "[PQ, PV, REF, NONE, BUS_I, BUS_TYPE, PD, QD] = idx_bus;\n"
CHANGED = {
    "scaled in place": (PLAIN.replace("];\nmpc.gen =", f"] .* {ONES};\nmpc.gen ="), {"bus": HEAVY}),
    "scaled later": (PLAIN + "mpc.bus(:, 3:4) = mpc.bus(:, 3:4) * 1.3;\n", {"bus": HEAVY}),
    "scaled by names": (PLAIN + COLUMNS + "mpc.bus(:, [PD QD]) = 1.3 * mpc.bus(:, [PD, QD]);\n", {"bus": HEAVY}),
    "scaled by all names": (PLAIN + "define_constants;\nmpc.bus(:, PD:QD) = mpc.bus(:, PD:QD) .* 1.3;\n", {"bus": HEAVY}),
    "one entry": (PLAIN + "mpc.gen(end, 9) = mpc.gen(1, 9) - 50;\n", {"gen": [GEN[0], [*GEN[1][:8], 100, *GEN[1][9:]]]}),
    "a whole column": (
        PLAIN + "mpc.branch(:, 6) = 70;\n", {"branch": [[*row[:5], 70, *row[6:]] for row in BRANCH]},
    ),
    "rotated": (PLAIN + "mpc.bus = mpc.bus([1 3 2], :);\n", {"bus": [BUS[0], BUS[2], BUS[1]]}),
    "stacked": (PLAIN + "mpc.branch = [mpc.branch(1:2, :); mpc.branch(3, :)];\n", {}),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGED)
def test_what_is_computed_is_computed(name, tmp_path):
    text, tables = CHANGED[name]
    found, expected = grid(text, tmp_path).fields, grid(written(tables=TABLES | tables), tmp_path).fields
    for field in expected:
        assert np.array(found[field]) == pytest.approx(np.array(expected[field]), rel=1e-12), field


def test_a_base_that_is_changed_later_is_the_one_that_holds(tmp_path):
    assert grid(PLAIN + "mpc.baseMVA = 10;\n", tmp_path).fields == grid(written(base="10"), tmp_path).fields


def test_results_of_version_1_are_no_angle_limits(tmp_path):
    flows = [[*row[:11], 5.0, 1.0, -4.9, 2.0] for row in BRANCH]
    found = grid(written("", OLD, TABLES | {"branch": flows}, version=None), tmp_path)
    assert found.fields["angle_max"] == [math.pi] * 3
    later = grid(written(tables=TABLES | {"branch": [[*row, 5.0, 1.0, -4.9, 2.0] for row in BRANCH]}), tmp_path)
    assert later.fields["angle_max"] == [pytest.approx(math.pi / 6)] * 3


REFUSED = {
    "a function of the case": ("mpc = scale_load(1.3, mpc);", "`scale_load(...)` is a call"),
    "a bare function": ("scale_load(1.3, mpc);", "`scale_load(...)` is not an assignment"),
    "a condition": ("if 1, mpc.baseMVA = 10; end", "`if` is code"),
    "a loop": ("for k = 1:3\nmpc.bus(k, 3) = 0;\nend", "`for` is code"),
    "several results": ("[a, b] = size(mpc.bus);", "`size` is called"),
    "a product of matrices": ("mpc.bus = mpc.bus * ones(13, 13);", "`*` of two matrices"),
    "a mask": ("mpc.bus(mpc.bus(:, 2) == 1, 3) = 0;", "found `==`"),
    "a row that is not there": ("mpc.bus(4, 3) = 0;", "there is no place 4 among 3"),
    "a row deleted": ("mpc.bus(2, :) = [];", "0 x 0 numbers for 1 x 13 places"),
    "another case": ("mpc = loadcase('case9');", "`loadcase(...)` is a call"),
    "an unknown name": ("mpc.baseMVA = base;", "`base` is no number"),
    "in place": ("mpc.baseMVA *= 2;", "not an assignment"),
    "a second function": ("function r = other\n", "a second function"),
    "after the end": ("end\nmpc.baseMVA = 10;", "the function has ended"),
    "an open bracket": ("mpc.areas = [1 2", "`[` does not end"),
    "an open comment": ("%{\nmpc.baseMVA = 10;", "a block comment begins here"),
    "an open text": ("mpc.notes = 'it", "a text begins here"),
    "an imaginary number": ("mpc.baseMVA = 3i;", "`3i` is no number"),
    "a handle": ("f = @(x) x;", "found `@`"),
    "a command": ("clear all", "not an assignment"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_code_is_refused_with_its_line(name, tmp_path):
    statement, reason = REFUSED[name]
    (found,) = refused(lambda: grid(PLAIN + statement + "\n", tmp_path))
    line = FIRST + (name == "after the end")
    assert found.code == "PD502"
    assert found.fact["reason"].startswith(f"line {line}: "), found.fact
    assert reason in found.fact["reason"]


@pytest.mark.parametrize(
    "table",
    [
        "dcline = [1 5 1 30 29 0 0 1 1 0 40 -10 10 -10 10 1 0.01]",
        "A = [1 0]",
        "l = 3",
        "reserves.zones = [1 1]",
        "if.map = [1 2]",
    ],
)
def test_a_table_that_may_change_the_optimum_is_refused(table, tmp_path):
    (found,) = refused(lambda: grid(f"{PLAIN}mpc.{table};\n", tmp_path))
    assert (found.code, found.fact["tables"]) == ("PD521", f"`{table.split(' =')[0]}`")


def test_version_3_is_unknown(tmp_path):
    (found,) = refused(lambda: grid(written(version="'3'"), tmp_path))
    assert (found.code, found.fact["reason"]) == ("PD502", "its version is 3, and 1 and 2 are known")


# A small interpreter of the other direction: numbers written in random styles, read back.

NUMBERS = st.one_of(st.integers(-999, 999).map(float), st.floats(-1e6, 1e6).filter(lambda x: x == 0 or abs(x) > 1e-200))


@st.composite
def spelled(draw, value):
    ways = [repr(value), f"{value:+.17e}", f"({value!r})", f"{value!r} * 1", f"{2 * value!r}/2"]
    if math.isfinite(value) and value == int(value):
        ways += [str(int(value)), f"{int(value)}."]
    return draw(st.sampled_from(ways))


@st.composite
def matrices(draw):
    width = draw(st.integers(1, 4))
    table = draw(st.lists(st.lists(NUMBERS, min_size=width, max_size=width), min_size=1, max_size=4))
    text = "["
    for row in table:
        text += draw(st.sampled_from(["", " ", "\n", "  % a ] comment\n", "\n%{\n9 9 9\n%}\n", " ...\n"]))
        gap = draw(st.sampled_from([" ", ", ", ",", "\t", " ,", "   ... on\n "]))
        # a blank beside a sign parts two entries or does not: MATLAB's own rule, so products stand in brackets
        text += gap.join(entry if " " not in (entry := draw(spelled(value))) else f"({entry})" for value in row)
        text += draw(st.sampled_from([";", ";;", "\n", " ;", "; # c\n", ",;"]))
    return table, text + "]"


@given(
    st.dictionaries(st.sampled_from(["a", "mpc.b", "mpc.c", "x_1"]), matrices(), min_size=1),
    st.sampled_from(["\n", "\r\n", "\r"]),
)
@settings(max_examples=min(EXAMPLES, 2000) // 4, deadline=None)
def test_what_is_written_in_any_style_is_read(tables, ends):
    text = "".join(f"{name} = {text};\n" for name, (_, text) in tables.items()).replace("\n", ends)
    assert carry_out(text).values == {name: table for name, (table, _) in tables.items()}


PIECES = [*"[](){};,:.'\"%#+-*/^=~\n\r\t ", "...", "%{", "%}", ".*", "Inf", "NaN", "1e999", "end", "mpc", "mpc.bus"]
PIECES += ["(:, 3)", "1e", "\x00", "é", "\ud7ff", "1:1e9"]
SEEDS = [PLAIN, (CASES / "six.m").read_text(), *SAME.values(), *(text for text, _ in CHANGED.values())]


def mutated(seed):
    """A case with some bytes or words changed, removed or doubled."""
    dice = random.Random(seed)
    text = dice.choice(SEEDS)
    for _ in range(dice.randint(1, 4)):
        at = dice.randrange(len(text) + 1)
        end = min(len(text), at + dice.choice([0, 0, 1, 1, 3, 40]))
        middle = dice.choice(["", dice.choice(PIECES), dice.choice(PIECES), text[at:end] * 2, chr(dice.randrange(256))])
        text = text[:at] + middle + text[end:]
    return text


def test_changed_files_are_read_or_refused(tmp_path):
    outcomes = {"read": 0, "refused": 0}
    for seed in range(min(EXAMPLES, 2000)):
        try:
            (tmp_path / "case.m").write_bytes(mutated(seed).encode("utf-8", "surrogatepass"))
            known("case.m", tmp_path)
            outcomes["read"] += 1
        except Refusal as refusal:
            outcomes["refused"] += len(refusal.diagnostics) > 0
    assert sum(outcomes.values()) == min(EXAMPLES, 2000)
    assert min(outcomes.values()) > 0


@given(st.text(alphabet=[*"[](){};,:.'\"%#+-*/^=~@ \n\t1x", "e"], max_size=40))
@settings(max_examples=min(EXAMPLES, 2000), deadline=None)
def test_any_text_is_read_or_unreadable(text):
    try:
        said = carry_out(text).values
    except Unreadable as error:
        said = str(error)
    assert isinstance(said, dict) or said.startswith("line ")


def costly(cost, folder):
    return grid(PLAIN.replace(rows(COSTS), f"[{cost}; 2 0 0 3 0.01 35 0]"), folder)


@pytest.mark.parametrize(
    ("cost", "height", "slope"),
    [
        ("1 0 0 3 0 0 60 1200 150 3900", [0, -600], [20, 30]),
        ("1 0 0 4 -50 -100 0 0 50 100 100 900", [0, -700], [2, 16]),  # a corner on a line is none
        ("1 0 0 2 0 5 100 105", [], []),  # one line: a polynomial
    ],
)
def test_convex_corners_are_the_largest_of_their_lines(cost, height, slope, tmp_path):
    found = costly(cost, tmp_path).fields
    pieces = max(len(height), 1)
    assert found["height"] == [height or [0], [0] * pieces]
    assert found["slope"] == [[100 * entry for entry in slope] or [0], [0] * pieces]
    assert found["c1"] == [0 if height else 100, 3500]
    assert found["c0"] == [0 if height else 5, 0]


@pytest.mark.parametrize(
    ("cost", "complaint"),
    [
        ("1 0 0 3 0 0 60 1800 150 3900", "not convex"),
        ("1 0 0 3 0 0 60 1200 60 3900", "not in ascending order"),
        ("1 0 0 3 0 0 60 1200", "2 of 3 corners"),
        ("1 0 0 1 0 0", "1 of 2 corners"),
        ("3 0 0 1 0 0", "cost model 3"),
    ],
)
def test_other_corners_are_refused_with_their_unit(cost, complaint, tmp_path):
    (found,) = refused(lambda: costly(cost, tmp_path))
    assert (found.code, found.fact["units"]) == ("PD509", "unit `1@1`")
    assert complaint in found.fact["found"]


OWN = """problem own "costs" given grid = power.case("case.m") {{
  set gen{sets}
  c1: real[gen]{fields}
}}
"""


def test_a_spec_that_leaves_the_pieces_out_is_refused(tmp_path):
    (tmp_path / "case.m").write_text(PLAIN.replace(rows(COSTS), "[1 0 0 3 0 0 60 1200 150 3900; 2 0 0 3 0.01 35 0]"))
    context = SourceContext(folder=tmp_path)
    source = Source("own.pdual", OWN.format(sets="", fields=""))
    (found,) = [item for item in understand(source, context=context).diagnostics if item.code.startswith("PD5")]
    assert (found.code, found.fact["units"], found.fact["missing"]) == ("PD522", "unit `1@1`", "`height`, `slope`")
    whole = Source("own.pdual", OWN.format(sets=", piece", fields="\n  height, slope: real[gen, piece]"))
    assert not [item for item in understand(whole, context=context).diagnostics if item.code.startswith("PD5")]
