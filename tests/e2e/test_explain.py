from __future__ import annotations

from pathlib import Path

import pytest
from running import hold, say

from pdual.dsl.parts import PartShape
from pdual.dsl.spans import Source, Span
from pdual.explaining.render import WIDTH, table
from pdual.explaining.text import between, bounds, normal_form, number, size, written
from pdual.finding import shipped_specs


@pytest.fixture(autouse=True)
def _nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs under the folder where one stands are looked at."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("spec", ["digits", "opf30"])
def test_what_is_understood(capsys, spec: str):
    said = say(capsys, "explain", spec)
    assert (said.code, said.err) == (0, "")
    hold(f"explain_{spec}.txt", said.out)


@pytest.mark.parametrize("spec", sorted(shipped_specs()))
def test_every_shipped_spec_fits_the_page(capsys, spec: str):
    said = say(capsys, "explain", spec)
    assert said.code == 0
    assert [line for line in said.out.splitlines() if len(line) > WIDTH] == []
    assert "\x1b" not in said.out


def test_the_numbers_of_opf30(capsys):
    found = say(capsys, "explain", "opf30", "--json").json["explanation"]
    parts = {part["name"]: part for part in found["parts"]}
    assert sum(part["entries"] for part in parts.values()) == 309
    assert parts["reference"]["filtered"] == 29
    assert parts["voltage.upper"]["normal_form"] == "abs(v[i]) - v_max[i] <= 0"
    assert parts["voltage.lower"]["range"] == [pytest.approx(0.12), pytest.approx(0.12)]
    assert parts["flow_source"]["range"] == [pytest.approx(0.2), pytest.approx(2.67)]
    assert parts["balance.re"]["multiplier"] == [-20, 20]
    assert parts["voltage.upper"]["multiplier"] == [0, 20]
    (state,) = found["state"]
    assert (state["rows"], state["per_row"], state["table_bytes"]) == (8000, 309, 8000 * 309 * 4)
    assert found["data"][0]["rows"] == {"train": 8000, "val": 1000, "test": 1000}


def test_the_size_of_the_dual_network_is_counted_by_hand(capsys):
    found = say(capsys, "explain", "opf30", "--json").json["explanation"]
    (dual,) = found["duals"]

    def mlp(inputs: int, outputs: int) -> int:
        return (inputs + 1) * 128 + 129 * 128 + 129 * outputs

    # bus: balance (2), reference, voltage (2); gen: 4; branch: two flows, angle (2); a bias for each of 309 columns.
    assert dual["parameters"] == mlp(32, 5) + mlp(32, 4) + mlp(64, 4) + 309


def test_options_change_what_is_understood(capsys):
    found = say(capsys, "explain", "opf30", "--set", "cap=5", "--dual", "flow_source=shared", "--json").json
    parts = {part["name"]: part for part in found["explanation"]["parts"]}
    assert (parts["flow_source"]["dual"], parts["flow_target"]["dual"]) == ("shared", "learned")
    assert parts["flow_target"]["cap"] == 5
    params = {param["name"]: param for param in found["explanation"]["params"]}
    assert (params["cap"]["value"], params["cap"]["default"]) == (5, 20)
    assert "(default 20.0)" in say(capsys, "explain", "opf30", "--set", "cap=5").out


def test_pointwise_multipliers_are_as_many_numbers_as_the_table(capsys):
    found = say(capsys, "explain", "opf30", "--dual", "pointwise", "--json").json["explanation"]
    assert found["state"][0]["parameters"] == 8000 * 309
    assert {part["dual"] for part in found["parts"]} == {"pointwise"}


def test_the_objective_can_be_dropped(capsys):
    assert "objective: none" in say(capsys, "explain", "opf30", "--minimize", "none").out
    assert "mean over demands: cost   divided by 8208.5" in say(capsys, "explain", "opf30").out


def test_a_network_as_wide_as_what_it_is_given_is_counted(capsys):
    found = say(capsys, "explain", "flora", "--json").json["explanation"]
    models = {model["signature"].split("(")[0]: model["parameters"] for model in found["models"]}
    assert models["q"] == 2 * 2049 * 2048 + 2049


AVERAGES = """problem averages "constraints on averages"
param most = 0.5
data good = csv("good.csv") { x: real in [0, 1] }
data bad  = csv("bad.csv")  { x: real in [0, 1] }
model f(x: real) -> real in [-1, 1] = linear()
subject to
  low:  -0.1 <= mean[r in good](f(r.x)) <= most
  gap:  mean[r in good where r.x > 0.5](f(r.x)^2) - 2 * mean[q in bad](f(q.x)) <= 1
  even: mean[q in bad](f(q.x)) == 0
dual low = shared(cap = 7)
dual even = penalty()
over r in good { minimize f(r.x)^2 }
"""


def test_constraints_on_averages(capsys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Ranges, scales and multipliers by hand: a mean lies where its rows lie."""
    (tmp_path / "averages.pdual").write_text(AVERAGES)
    monkeypatch.chdir(tmp_path)
    said = say(capsys, "explain", "averages.pdual", "--json")
    assert said.code == 0, said.out
    found = said.json["explanation"]
    parts = {item["name"]: item for item in found["parts"]}
    assert list(parts) == ["low.lower", "low.upper", "gap", "even"]
    assert all(item["average"] and item["entries"] == 1 for item in parts.values())
    assert [item["data"] for item in parts.values()] == ["good", "good", "good, bad", "bad"]
    assert parts["low.upper"]["range"] == [pytest.approx(0.6)] * 2
    assert parts["low.upper"]["residual"] == pytest.approx([-1.5, 0.5])
    assert parts["gap"]["residual"] == pytest.approx([-3, 2])  # [0, 1] - 2 [-1, 1] - 1
    assert parts["gap"]["range"] == [pytest.approx(3)] * 2
    assert [item["multiplier"] for item in parts.values()] == [[0, 7], [0, 7], [0, 1e4], [0, 0]]
    text = say(capsys, "explain", "averages.pdual").out
    assert (
        "2 multipliers for all rows of good, 1 multiplier for all rows of good, bad, 1 multiplier for all rows of bad"
        in text
    )
    math = say(capsys, "explain", "averages.pdual", "--math").out
    assert r"\mathbb{E}_{r \in \mathrm{good} :\, {x}^{(r)} > 0.5}\left[" in math
    assert r"\lambda^{\text{low.upper}} &\in \left[0, 7\right] && \text{shared}" in math


def test_uses(capsys):
    said = say(capsys, "explain", "opf30", "--uses", "rate")
    assert said.code == 0
    declared, *read = said.out.splitlines()
    assert "given grid" in declared
    assert [line.split("  ")[1] for line in read] == ["constraint flow_source", "constraint flow_target"]


@pytest.mark.parametrize("stage", ["ast", "typed", "ir"])
def test_stages(capsys, stage: str):
    said = say(capsys, "explain", "mnist", "--stage", stage)
    assert said.code == 0
    assert "margin" in said.out
    assert say(capsys, "explain", "mnist", "--stage", stage, "--json").json["stage"]["text"] == said.out.rstrip("\n")


def test_code_is_what_runs(capsys):
    assert "def forward(self, values, ids" in say(capsys, "explain", "opf30", "--stage", "code").out


def test_a_wrong_spec_explains_nothing(capsys, tmp_path: Path):
    place = tmp_path / "bad.pdual"
    place.write_text('problem bad "x"\nmodel f(x: real) -> real = linear()\nminimize squared_norm(f)\nmetric = 3\n')
    said = say(capsys, "explain", str(place))
    assert (said.code, said.out) == (1, "")
    assert "error[" in said.err
    assert say(capsys, "explain", str(place), "--json").json["explanation"] is None


@pytest.mark.parametrize(
    ("operands", "shape", "expected"),
    [
        (("a", "b"), PartShape("", "", False, 0, 1), "a - b <= 0"),
        (("a", "0"), PartShape("", "", True, 0, 1), "a == 0"),
        (("a", "b + c"), PartShape("", "", False, 0, 1), "a - (b + c) <= 0"),
        (("a", "f(b + c)"), PartShape("", "", False, 0, 1), "a - f(b + c) <= 0"),
        (("a", "-b"), PartShape("", "", False, 0, 1), "a - (-b) <= 0"),
        (("a if p else b", "c"), PartShape("", "", False, 0, 1), "(a if p else b) - c <= 0"),
        (("a", "x", "b"), PartShape("im", "upper", False, 1, 2), "im(x) - im(b) <= 0"),
        (("a", "x", "b"), PartShape("", "lower", False, 0, 1), "a - x <= 0"),
    ],
)
def test_normal_forms(operands: tuple[str, ...], shape: PartShape, expected: str):
    assert normal_form(operands, shape) == expected


@pytest.mark.parametrize(
    ("text", "start", "end", "expected"),
    [
        ("a  +\n b", 0, 7, "a + b"),
        ("a # why\n + b", 0, 12, "a + b"),
        ('f("a # b")', 0, 10, 'f("a # b")'),
        ("x = (s > 0) == y", 5, 16, "(s > 0) == y"),
        ("x == (s > 0)", 0, 11, "x == (s > 0)"),
        ("((a) + b) * c", 2, 13, "((a) + b) * c"),
    ],
)
def test_what_was_written(text: str, start: int, end: int, expected: str):
    assert written(Source("x", text), Span(start, end)) == expected


def test_numbers():
    assert [number(value) for value in (3.0, 0.123456, 1e20, float("inf"), -2.5)] == [
        "3",
        "0.1235",
        "1e+20",
        "inf",
        "-2.5",
    ]
    assert between(1.0, 1.0) == "1"
    assert between(None, 2.0) == "-inf .. 2"
    assert bounds(0.0, None) == "[0, inf]"
    assert [size(value) for value in (12, 9_888_000, 2 * 10**12)] == ["12 B", "9.89 MB", "2 TB"]


def test_columns_are_aligned_and_empty_ones_are_left_out():
    assert table([("a", "", "bb"), ("ccc", "", "d")]) == ["a    bb", "ccc  d"]
    assert table([]) == []
