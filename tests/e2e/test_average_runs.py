"""A spec with constraints on averages from the command line: run, report, compare, verify, Python."""

from __future__ import annotations

from pathlib import Path

import pytest
from running import say

from pdual.cli.progress import iteration
from pdual.runtime.storage.records import LogLine

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


def test_what_is_expected_of_averages(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The values of statements are what the predictions say by hand; what does not hold is told where it stands."""
    import pdual

    said = ["viol(low) <= 1e-9", "viol(even) >= 0", "rate(low) == 1", "rate(even) <= 0.5", "rate(even, 100) == 0"]
    text = SPEC.replace("METRIC", "") + "".join(f"expect e{n} on people.test: {item}\n" for n, item in enumerate(said))
    (here / "e.pdual").write_text(text)
    run = pdual.load("e.pdual", dual="none").solve(out="out")
    (training_set,) = run.outcome.run.training_sets
    rows = training_set.table.batch(training_set.table.splits["test"]).values
    guess = run.predict("f", {"x": rows["x"]})[""].double()
    gap = float(guess[rows["young"]].mean() - guess[~rows["young"]].mean())
    low, even = max(0.0, float(guess.mean()) - 0.2), max(0.0, abs(gap) - 0.5)
    width = 1.0  # `even` lies between two bounds, and its violation is a share of what lies between them
    expected = [low, even / width, float(low > 1e-3), float(even > 1e-3) / 2, 0.0]
    assert [item.values[0] for item in run.outcome.expectations] == pytest.approx(expected, abs=1e-6)
    assert low > 0.01, "something is missed"
    assert [item.holds for item in run.outcome.expectations] == [False, True, True, True, True]
    told = say(capsys, "run", "e.pdual", "--dual", "none", "--out", "again", "-q")
    assert (told.code, told.err.count("error[PD650]")) == (4, 1)


def test_an_average_that_is_misspelt_and_one_without_rows(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from math import isnan

    import pdual
    from pdual.runtime.evaluation.expectations import check_expectation

    text = SPEC.replace("METRIC", "")
    (here / "e.pdual").write_text(f"{text}expect held on people.test: viol(lwo) <= 1\n")
    assert "did you mean `low`?" in say(capsys, "check", "e.pdual").out
    (here / "e.pdual").write_text(f"{text}expect held on people.test: mean(viol(low)) <= 1\n")
    assert "PD256" in say(capsys, "check", "e.pdual").out  # one number for the split already
    (here / "e.pdual").write_text(f"{text}expect held on people.test: viol(low) <= 100\n")
    run = pdual.load("e.pdual").solve(out="out", quick=True)
    (expect,) = pdual.load("e.pdual").graph.spec.expects
    measured = run.outcome.run.measure("test")
    assert check_expectation(expect, measured, {}, run.outcome.run.averaged(measured)).holds
    without = check_expectation(expect, measured, {}, None)
    assert (without.holds, isnan(without.values[0])) == (False, True)


@pytest.mark.usefixtures("here")
def test_rows_show_averages(capsys: pytest.CaptureFixture[str]) -> None:
    said = say(capsys, "explain", "shares.pdual", "--rows", "2")
    assert said.code == 0
    assert "low, an average over the first 8 train rows of people, models untrained" in said.out
    document = say(capsys, "explain", "shares.pdual", "--rows", "2", "--json").json["rows"]
    low, even = (next(item for item in document if item["average"] == name) for name in ("low", "even"))
    assert (low["rows"], low["data"]) == (8, "people")

    import torch

    from pdual.finding import find
    from pdual.runtime.data.context import SourceContext
    from pdual.runtime.problem.prepare import load_tables, prepare
    from pdual.runtime.training.averages import means_of
    from pdual.understanding import understand

    found = find("shares.pdual")
    graph = understand(found.source).graph
    torch.manual_seed(0)
    tables = load_tables(graph.spec, graph.knowns, SourceContext(limit=8))
    problem = prepare(graph, tables, torch.float64, {})
    rows = tables["people"].batch(tables["people"].splits["train"])
    evaluation = problem.blocks[0].program.evaluate(rows.values, rows.ids)
    plan, means = problem.averages, means_of(evaluation.averaged.detach(), evaluation.kept)
    expected = (plan.weights["people"] @ means + plan.offsets).tolist()
    shown = [*low["entries"], *even["entries"]]
    scales = [part.scale[0] for part in plan.layout.parts]
    assert [item["part"] for item in shown] == ["low", "even.lower", "even.upper"]
    for item, residual, scale in zip(shown, expected, scales, strict=True):
        assert item["left"] - item["right"] == pytest.approx(residual * scale, abs=1e-6)
        assert item["violated"] == (residual > 1e-3)
    assert ("INFES" in said.out) == any(item["violated"] for item in shown)
