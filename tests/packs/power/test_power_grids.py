"""Small random grids in random styles of MATPOWER files, against a dictionary; and files that ask for too much."""

from __future__ import annotations

import cmath
import math
import time

import pytest
from examples import EXAMPLES
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from power_oracle import known

from pdual.packs.power.cases.statements import carry_out
from pdual.packs.power.cases.tokens import Unreadable

EIGHTHS = st.integers(-800, 800).map(lambda n: n / 8)  # products and quotients with powers of 2 stay exact
SIZES = st.integers(1, 800).map(lambda n: n / 8)


@st.composite
def grids(draw):
    """Tables by name: one tree of live buses and what else may stand in a file."""
    numbers = draw(st.lists(st.integers(1, 99), min_size=1, max_size=5, unique=True))
    kinds = [3] + [draw(st.sampled_from([1, 2, 4])) for _ in numbers[1:]]
    live = [number for number, kind in zip(numbers, kinds, strict=True) if kind != 4]
    bus = [
        [number, kind, *(draw(EIGHTHS) for _ in range(4)), 1, draw(SIZES), draw(EIGHTHS), 110, 1, 1.5, 0.5]
        for number, kind in zip(numbers, kinds, strict=True)
    ]
    ends = [(draw(st.sampled_from(live[:place])), live[place], 1) for place in range(1, len(live))]
    ends += draw(st.lists(st.tuples(*[st.sampled_from(numbers)] * 2, st.sampled_from([0, 1])), max_size=3))
    branch = [
        [
            *(source, target, draw(SIZES), draw(EIGHTHS), draw(EIGHTHS), draw(st.sampled_from([0, 4, math.inf])), 0, 0),
            *(draw(st.sampled_from([0, 0.5, 1.25])), draw(st.sampled_from([0, -30, 8.5])), status),
            *draw(st.sampled_from([[-360, 360], [0, 0], [-30, 0], [-8.5, 12]])),
        ]
        for source, target, status in ends
    ]
    gen = [[live[0], 0, 0, 8, -8, 1, 100, 1, 16, 0]]
    gen += [
        [
            *(draw(st.sampled_from(numbers)), draw(EIGHTHS), draw(EIGHTHS)),
            *draw(st.sampled_from([[math.inf, -math.inf], [4, 4]])),
            *(1, 100, draw(st.sampled_from([0, 1]))),
            *draw(st.sampled_from([[math.inf, 0], [0, -4], [0, 0]])),
        ]
        for _ in range(draw(st.integers(0, 2)))
    ]
    costs = st.sampled_from(
        [[2, 0, 0, 3, 0.5, 20, 1], [2, 9, 9, 2, -3, 8, 0], [2, 0, 0, 1, 7, 0, 0], [2, 0, 0, 0, 0, 0, 0]]
    )
    return {"bus": bus, "gen": gen, "branch": branch, "gencost": [draw(costs) for _ in gen]}


@st.composite
def files(draw):
    """The text of a file, and the tables and base that MATLAB would have after it."""
    tables, base = draw(grids()), draw(st.sampled_from([1, 8, 100]))
    old = draw(st.booleans())
    struct = "" if old else draw(st.sampled_from(["mpc", "s", "grid_1"])) + "."
    mark, stop = draw(st.sampled_from("%#")), draw(st.sampled_from([";", ";\n", "\n", " ;  "]))
    text = ""
    if old:
        text = "function [baseMVA, bus, gen, branch, areas, gencost] = some\n"
    elif draw(st.booleans()):
        text = f"function {struct[:-1]} = some {mark} {struct}bus = [\n"
    text += (
        ""
        if old
        else f"{struct}version = {draw(st.sampled_from(['2', chr(39) + '2' + chr(39), chr(34) + '2' + chr(34)]))}{stop}"
    )
    parts = []
    for name, table in {**tables, "baseMVA": [[base]]}.items():
        parts.append(draw(statements(struct + name, table, mark)))
    text += "".join(draw(st.permutations(parts)))
    return text, tables, base


@st.composite
def statements(draw, name, table, mark):
    """What gives a table to a name, on the way of which other values may lie."""
    factor = draw(st.sampled_from([1, 1, 2, 0.25]))
    way = draw(st.sampled_from(["plain", "behind", "later", "columns", "before"]))
    if way == "plain" or not table or any(math.inf in map(abs, row) for row in table):
        return f"{name} = {draw(written(table, mark))};\n"
    if way == "before":
        wrong = draw(written([[entry + 1 for entry in row] for row in table], mark))
        block = draw(st.booleans())
        first = f"%{{\n{name} = {wrong};\n%}}\n" if block else f"{name} = {wrong};\n"
        return first + f"{name} = {draw(written(table, mark))}\n"
    scaled = [[entry / factor for entry in row] for row in table]
    if way == "behind":
        sign = draw(st.sampled_from(["*", ".*"]))
        return f"{name} = {draw(written(scaled, mark))} {sign} {factor};\n"
    if way == "later":
        return f"{name} = {draw(written(scaled, mark))};\n{name} = {factor} * {name}; {mark} to MW\n"
    column = draw(st.integers(1, len(table[0])))
    part = [[entry / factor if place + 1 == column else entry for place, entry in enumerate(row)] for row in table]
    return f"{name} = {draw(written(part, mark))};\n{name}(:, {column}) = {name}(:, {column}) .* {factor};\n"


@st.composite
def written(draw, table, mark):
    gap, end = (
        draw(st.sampled_from([" ", "\t", ", ", " , "])),
        draw(st.sampled_from([";\n", "\n", "; ", f"; {mark} ] 7 8\n"])),
    )
    rows = [
        gap.join("Inf" if entry == math.inf else "-Inf" if entry == -math.inf else repr(entry) for entry in row)
        for row in table
    ]
    return "[" + draw(st.sampled_from(["", "\n", f" {mark} head\n"])) + end.join(rows) + "]"


def per_unit(tables, base):
    """The fields of ``power.case`` from the tables, entry by entry."""
    bus = [row for row in tables["bus"] if row[1] != 4]
    place = {row[0]: position for position, row in enumerate(bus)}
    gen = [
        (row, cost)
        for row, cost in zip(tables["gen"], tables["gencost"], strict=True)
        if row[7] > 0 and row[0] in place
    ]
    branch = [row for row in tables["branch"] if row[10] > 0 and row[0] in place and row[1] in place]
    costs = [(3 - int(cost[3])) * [0] + cost[4 : 4 + int(cost[3])] for _, cost in gen]
    return {
        "load": [complex(row[2], row[3]) / base for row in bus],
        "shunt": [complex(row[4], row[5]) / base for row in bus],
        "slack": [row[1] == 3 for row in bus],
        "v_min": [row[12] for row in bus],
        "v_max": [row[11] for row in bus],
        "at": [place[row[0]] for row, _ in gen],
        "s_min": [complex(row[9] / base, row[4] / base) for row, _ in gen],
        "s_max": [complex(row[8] / base, row[3] / base) for row, _ in gen],
        "c0": [cost[2] for cost in costs],
        "c1": [cost[1] * base for cost in costs],
        "c2": [cost[0] * base**2 for cost in costs],
        "source": [place[row[0]] for row in branch],
        "target": [place[row[1]] for row in branch],
        "series": [1 / complex(row[2], row[3]) for row in branch],
        "charge_source": [1j * row[4] / 2 for row in branch],
        "charge_target": [1j * row[4] / 2 for row in branch],
        "tap": [(row[8] or 1) * cmath.exp(1j * math.pi * row[9] / 180) for row in branch],
        "rate": [row[5] / base or math.inf for row in branch],
        "angle_min": [math.radians(row[11]) if -360 < row[11] < 0 else -math.pi for row in branch],
        "angle_max": [math.radians(row[12]) if 0 < row[12] < 360 else math.pi for row in branch],
    }


@given(files(), st.sampled_from(["\n", "\r\n"]))
@settings(
    max_examples=min(EXAMPLES, 4000) // 4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_a_random_grid_in_any_style_is_the_grid_of_a_dictionary(tmp_path, file, ends):
    text, tables, base = file
    (tmp_path / "some.m").write_text(text, newline=ends)
    found = known("some.m", tmp_path).fields
    assert found["base_mva"] == base
    for field, expected in per_unit(tables, base).items():
        assert found[field] == pytest.approx(expected, rel=1e-12, abs=1e-12), field


ENDLESS = {
    "rows doubled": "a = [1 1; 1 1];\n" + "a = [a; a];\n" * 40,
    "columns doubled": "a = [1 1; 1 1];\n" + "a = [a a];\n" * 40,
    "rows by columns": "a = zeros(100000, 1);\nb = zeros(1, 100000);\nc = a + b;",
    "many large ones": "".join(f"a{place} = ones(100000, 10);\n" for place in range(9)),
    "a long range": "a = 1:1e12;",
    "rows taken again": "a = ones(2, 1000);\nb = a(ones(1, 100000), :);",
    "turned again and again": "a = ones(1000, 100)" + "'" * 4000 + ";",
    "deep brackets": "a = " + "(" * 100_000 + "1" + ")" * 100_000 + ";",
    "deep matrices": "a = " + "[" * 100_000 + "]" * 100_000 + ";",
    "many blanks": "a = [" + " " * 50_000 + "x];",
    "a tower": "a = 10" + "^10" * 500 + ";",
}


@pytest.mark.parametrize("name", ENDLESS)
def test_a_file_that_asks_for_too_much_is_refused_at_once(name):
    start = time.process_time()
    with pytest.raises(Unreadable, match=r"^line \d+: "):
        carry_out(ENDLESS[name])
    assert time.process_time() - start < 10


MEANT = {
    "a = [1 - 2]": [[-1.0]],
    "a = [1 -2]": [[1.0, -2.0]],
    "a = [1 , - 2]": [[1.0, -2.0]],
    "a = [(1) -2 + 3]": [[1.0, 1.0]],
    "a = -2 ^ 2": -4.0,
    "a = 2 ^ -1": 0.5,
    "a = 2 ^ 3 ^ 2": 64.0,
    "a = 1:3 + 1": [[1.0, 2.0, 3.0, 4.0]],
    "a = [1 2...\n3]": [[1.0, 2.0, 3.0]],
    "a = [1 2 ... ] 7\n3]": [[1.0, 2.0, 3.0]],
    "x = [1 2]; a = x(:)": [[1.0], [2.0]],
    "x = [1 2]; a = [x' x']": [[1.0, 1.0], [2.0, 2.0]],
    "x = [5 6 7]; a = x(end - 1)": 6.0,
    "a = 3 % ...\nb = 4": 3.0,
}
UNSURE = {
    "a = [1 2; x 3 4]": "`x` is no number",
    "x = 1; a = [x 2; 3]": "a row of 1 entries in a matrix whose first row has 2",
    "x = [1 2 3 4]; a = x([1 2; 3 4])": "an index that is a matrix",
    "x = [1 2]; a = x([true true])": "`true` is no number",
    "Inf = 5": "`Inf` keeps its value",
    "x = [1 2]; a = x(0)": "there is no place 0",
    "x = 4; a = x([1; 1])": "several indices of one number",
    "a = [1 2] * [3; 4]": "`*` of two matrices",
}


@pytest.mark.parametrize("text", MEANT)
def test_what_matlab_means_by_an_expression(text):
    assert carry_out(text).values["a"] == MEANT[text]


@pytest.mark.parametrize("text", UNSURE)
def test_what_is_not_sure_is_refused(text):
    with pytest.raises(Unreadable) as found:
        carry_out(text)
    assert UNSURE[text] in str(found.value)
