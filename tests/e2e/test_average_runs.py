"""A spec with constraints on averages from the command line: run, report, compare, verify, Python."""

from __future__ import annotations

from pathlib import Path

import pytest
from running import say

from pdual.cli.progress import iteration
from pdual.runtime.records import LogLine

SPEC = """problem shares "A fit whose mean is held down, overall and between two groups"
data people = csv("people.csv", split = [0.8, 0, 0.2]) { x: real, y: real, young: bool }
model f(x: real) -> real = linear()
subject to
  low:  mean[p in people](f(p.x)) <= 0.2
  even: -0.5 <= mean[p in people where p.young](f(p.x)) - mean[q in people where not q.young](f(q.x)) <= 0.5
dual low, even = shared(cap = 20)
over p in people {
  minimize (f(p.x) - p.y)^2
  METRIC
}
solve { outer = 12, rho = 4, descent = adam(lr = 0.03, batch = 16, epochs = 6) }
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    lines = [f"{(n * 7 % 40) / 20 - 1},{(n * 7 % 40) / 20},{str(n % 3 == 0).lower()}" for n in range(40)]
    (tmp_path / "people.csv").write_text("x,y,young\n" + "\n".join(lines) + "\n")
    (tmp_path / "shares.pdual").write_text(SPEC.replace("METRIC", "metric guess = f(p.x)"))
    return tmp_path


@pytest.mark.usefixtures("here")
def test_run_report_and_python(capsys: pytest.CaptureFixture[str]) -> None:
    said = say(capsys, "run", "shares.pdual", "--out", "out", "--json")
    assert said.code == 0, said.err
    train = said.json["metrics"]["splits"]["train"]
    low = train["averages"]["low"]
    assert low["means"] == pytest.approx([train["metrics"]["guess"]["mean"]], abs=1e-5)
    assert low["residual"] == pytest.approx(low["means"][0] - 0.2, abs=1e-6)
    assert low["multiplier"] > 0.1
    assert train["families"]["low"]["multiplier"] == low["multiplier"]
    assert train["violation"] is None
    assert said.json["metrics"]["multipliers"] == {
        "per_row": 0, "rows": 0, "families": {"low": 1, "even": 2}, "parameters": 3, "bytes": 12, "tolerance": 1e-3,
    }  # fmt: skip
    assert said.json["metrics"]["dual"] == "shared"
    verdict = said.json["verdict"]
    assert verdict["feasible"] == (not any(item["violated"] for item in train["averages"].values()))
    assert set(said.json["metrics"]["splits"]["test"]["averages"]) == {"low", "even.lower", "even.upper"}
    say(capsys, "report", "out", "--out", "page.html")
    page = Path("page.html").read_text(encoding="utf-8")
    assert "low: mean" in page
    assert "even.upper: violation" in page

    import pdual

    run = pdual.load("shares.pdual").solve(out="again")
    held = run.multipliers()
    assert {name: tuple(values.shape) for name, values in held.items()} == dict.fromkeys(
        ("low", "even.lower", "even.upper"), (1, 1)
    )
    assert float(held["low"]) == pytest.approx(low["multiplier"], rel=1e-3)
    assert repr(pdual.load("shares.pdual")) == "<Problem shares: 0 multipliers a row of people, 3 of averages>"


@pytest.mark.usefixtures("here")
def test_the_table_of_a_run_and_its_end(capsys: pytest.CaptureFixture[str]) -> None:
    said = say(capsys, "run", "shares.pdual", "--out", "out", "--dual", "none")
    assert said.code == 0, said.err
    assert "not feasible: an average over train rows is not met (tolerance 0.001, scaled)" in said.out
    assert "train: low, an average, is missed by" in said.out
    rows = [line.split("  ")[0] for line in said.out.splitlines()]
    assert {"low, mean", "low, violation", "even.upper, means", "even.upper, violation"} <= set(rows)
    assert "low, multiplier" not in rows


@pytest.mark.usefixtures("here")
def test_kinds_of_duals_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    said = say(capsys, "compare", "shares.pdual", "--duals", "spec,none", "--seeds", "1", "--out", "runs")
    assert said.code == 0, said.err
    lines = [line.split() for line in said.out.splitlines()]
    assert ["constraint", "unit", "spec", "none"] in lines
    (low,) = [line for line in lines if line[:1] == ["low"]]
    assert low[1] == "1"


@pytest.mark.usefixtures("here")
def test_a_table_for_an_average_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    said = say(capsys, "run", "shares.pdual", "--dual", "low=pointwise")
    assert said.code == 2
    assert "error[PD738]: `low` bounds an average, whose one multiplier cannot be `pointwise`" in said.err
    assert say(capsys, "explain", "shares.pdual", "--dual", "low=penalty").code == 0


@pytest.mark.usefixtures("here")
def test_claims_stand_and_bounds_are_not_claimed(capsys: pytest.CaptureFixture[str]) -> None:
    said = say(capsys, "verify", "shares.pdual", "--examples", "10")
    assert said.code == 0, said.out
    said = say(capsys, "bounds", "shares.pdual")
    assert said.code == 0
    assert "certificate: not covered, since an assumption fails" in said.out
    (line,) = [line for line in said.out.splitlines() if "constraints on every row" in line]
    assert "low, even.lower, even.upper bounds an average" in line
    rows = {line.split()[0]: line.split() for line in said.out.splitlines() if line.startswith("  ")}
    assert rows["low"][-3:] == ["1", "affine", "20"]  # L of a mean of predictions is 1


@pytest.mark.usefixtures("here")
def test_a_spec_whose_only_rows_are_averaged_over(capsys: pytest.CaptureFixture[str]) -> None:
    """No block at all: a norm is minimised while a mean is held up."""
    Path("norm.pdual").write_text(
        'problem norm "the smallest weights that keep a mean"\n'
        'data people = csv("people.csv", split = [1, 0, 0]) { x: real }\n'
        "model f(x: real) -> real = linear()\n"
        "minimize squared_norm(f)\nsubject to up: mean[p in people](f(p.x)) >= 1\ndual up = shared(cap = 20)\n"
        "solve { outer = 20, rho = 4, descent = sgd(lr = 0.05, batch = 40, steps = 40) }\n"
    )
    said = say(capsys, "run", "norm.pdual", "--out", "norm", "--json")
    assert said.code == 0, said.err
    train = said.json["metrics"]["splits"]["train"]
    mean = -0.025  # of x: the smallest (w, b) with w mean + b = 1 has norm 1 / (1 + mean^2), and lambda = 2 of that
    assert train["objective"] == pytest.approx(1 / (1 + mean**2), abs=5e-3)
    assert train["averages"]["up"]["multiplier"] == pytest.approx(2 / (1 + mean**2), abs=2e-2)


def test_an_iteration_in_one_line_with_averages() -> None:
    average = {
        "residual": 0.01, "means": [0.21], "unit": "1", "violation": 0.01, "violated": True,
        "multiplier": 1.5, "price": 1.5, "at_cap": False,
    }  # fmt: skip
    numbers = {"mean": 0.01, "max": 0.01, "violated": 1, "mean_violated": 0.01, "at_cap": 0, "multiplier": 1.5}
    line = LogLine.model_validate(
        {
            "outer": 3, "step": 10, "seconds": 2, "loss": 1, "objective": {"d": 5}, "violation_mean": 0,
            "violation_max": 0, "feasible_rows": 1, "rows_at_cap": 0, "rho": 1, "rho_equal": 1, "multiplier": 1.5,
            "moved": 0, "fit_error": {}, "families": {"low": {"unit": "1", "parts": {}, **numbers}},
            "averages": {"low": average},
        }
    )  # fmt: skip
    assert iteration(line) == "outer 3: objective 5, low 0.21 off by 1.00e-02, 2 s"
