"""Constraints and metrics over groups of rows, from the command line and from Python: a convex one against CVXPY."""

from __future__ import annotations

from pathlib import Path

import cvxpy
import numpy as np
import pytest
import torch
from running import say

import pdual

SPEC = """problem fair "A line that serves each town"
data people = csv("people.csv", split_by = none, split = [0.75, 0, 0.25]) { x: real[2], town: id, y: real }
model f(x: real[2]) -> real = linear()
over p in people {
  minimize (f(p.x) - p.y)^2
  metric miss = abs(f(p.x) - p.y)
  metric near = abs(f(p.x) - p.y) < 1
}
over group t of people by town {
  let guess[p in t] = f(p.x)
  subject to
    served: mean[p in t](guess[p]) >= 0.3
    calm:   mean[p in t where p.y > 0](guess[p]^2) <= 2
  dual served, calm = pointwise(cap = 50)
  metric worst = max[p in t](abs(guess[p] - p.y))
}
solve { outer = 150, rho = 8, descent = adam(lr = 0.02, batch = 60, epochs = 12, schedule = cosine(final = 0.01)) }
expect close on people.test: mean(near) >= 0.1
expect far on people.train: max(worst) - max(miss) <= 0.0001
expect held on people.train: max(viol(served)) <= 0.05
"""


def rows() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features, towns and what is to be told, of 80 people; a town whose people are told too little has to be raised."""
    random = np.random.default_rng(5)
    towns = random.integers(0, 4, 80)
    x = random.normal(size=(80, 2)) + np.stack([towns == 1, towns == 3], 1)
    y = x @ [0.8, -0.5] - 0.4 * (towns == 3) + 0.1 * random.normal(size=80)
    return x, towns, y


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    x, towns, y = rows()
    lines = [f"{a!r},{b!r},{t},{v!r}" for (a, b), t, v in zip(x.tolist(), towns, y.tolist(), strict=True)]
    (tmp_path / "people.csv").write_text("x.0,x.1,town,y\n" + "\n".join(lines) + "\n")
    (tmp_path / "fair.pdual").write_text(SPEC)
    return tmp_path


def optimum(train: list[int]) -> tuple[float, dict[str, list[float]]]:
    """The least objective, and the multipliers of every group, in the order of towns."""
    x, towns, y = rows()
    x, towns, y = x[train], towns[train], y[train]
    w, b = cvxpy.Variable(2), cvxpy.Variable()
    guess = x @ w + b
    present = sorted(set(towns.tolist()))
    served = [cvxpy.sum(guess[towns == town]) / int((towns == town).sum()) >= 0.3 for town in present]
    calm = [
        cvxpy.sum_squares(guess[(towns == town) & (y > 0)]) / int(((towns == town) & (y > 0)).sum()) <= 2
        for town in present
    ]
    problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(guess - y) / len(y)), served + calm)
    value = problem.solve(solver=cvxpy.CLARABEL)
    # The Lagrangian of a run takes the mean over groups where this one takes the sum.
    many = len(present)
    duals = {"served": served, "calm": calm}
    return value, {name: [float(np.sum(item.dual_value)) * many for item in items] for name, items in duals.items()}


@pytest.mark.usefixtures("here")
def test_the_optimum_and_the_multipliers_of_groups_are_those_of_cvxpy() -> None:
    run = pdual.load("fair.pdual").solve(precision="float64")
    rows_training_set, groups_training_set = run.outcome.run.training_sets
    assert (rows_training_set.name, groups_training_set.name) == ("people", "people by town")
    value, multipliers = optimum(sorted(rows_training_set.train_ids.tolist()))
    train = run.metrics.splits["train"]
    assert train.rows == 60
    assert train.objective == pytest.approx(value, rel=1e-6)
    held = run.multipliers("train")
    assert {name: tuple(found.shape) for name, found in held.items()} == dict.fromkeys(("served", "calm"), (4, 1))
    scales = {part.name: part.scale[0] for part in groups_training_set.program.layout.parts}
    for name, expected in multipliers.items():
        assert (held[name][:, 0] / scales[name]).tolist() == pytest.approx(expected, abs=1e-5)
    assert max(multipliers["served"]) > 0.1
    assert all(item.holds for item in run.outcome.expectations)


@pytest.mark.usefixtures("here")
def test_a_run_is_told_of_groups_and_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    said = say(capsys, "run", "fair.pdual", "--out", "out")
    assert said.code == 0, said.err
    assert "train groups are not met" in said.out or "every train group is met" in said.out
    assert "of the groups are met" in said.out
    assert {"miss", "near", "worst"} <= {line.split()[0] for line in said.out.splitlines() if line}
    for command in (("report", "out"), ("explain", "fair.pdual", "--rows", "1"), ("bounds", "--run", "out")):
        assert say(capsys, *command).code == 0
    assert "served[town 0]" in say(capsys, "explain", "fair.pdual", "--rows", "1").out
    assert "2 multipliers a group of people by town" in say(capsys, "explain", "fair.pdual").out
    assert repr(pdual.load("fair.pdual")) == (
        "<Problem fair: 0 multipliers a row of people, 2 multipliers a group of people by town>"
    )
    assert say(capsys, "export", "out", "--out", "programs").code == 0
    assert say(capsys, "predict", "out", "--data", "people=people.csv", "--out", "said.csv").code == 0


@pytest.mark.usefixtures("here")
def test_a_stopped_run_goes_on_bit_for_bit() -> None:
    Path("short.pdual").write_text(SPEC.replace("outer = 150", "outer = 6").replace("expect ", "# "))
    whole = pdual.load("short.pdual").solve(out="whole")
    assert pdual.load("short.pdual").solve(out="parts", budget=1e-6).outcome.run.status == "budget"
    resumed = pdual.load("short.pdual").solve(out="parts", resume=True)
    for name, found in whole.multipliers("train").items():
        assert torch.equal(found, resumed.multipliers("train")[name])
    assert whole.metrics.splits == resumed.metrics.splits


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    "dual", ["shared(cap = 9)", "hybrid(cap = 9)", "penalty()", "learned(mlp([4]), on = mean[p in t](p.y), cap = 9)"]
)
def test_multipliers_of_groups_may_be_held_in_any_way(dual: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = SPEC.replace("pointwise(cap = 50)", dual).replace("outer = 150", "outer = 3").replace("expect ", "# ")
    Path("other.pdual").write_text(text)
    said = say(capsys, "run", "other.pdual", "--out", "out", "--json")
    assert said.code == 0, said.err
    assert said.json["metrics"]["splits"]["train"]["families"]["served"]["unit"] == "1"


@pytest.mark.usefixtures("here")
def test_claims_stand(capsys: pytest.CaptureFixture[str]) -> None:
    said = say(capsys, "verify", "fair.pdual", "--examples", "25", "--json")
    assert said.code == 0, said.out
    found = {item["claim"]: item for item in said.json["claims"]}
    for name in ("ranges", "rows", "values", "gradients"):
        assert found[name]["silent"] < found[name]["cases"]
    run = pdual.load("fair.pdual").solve(out="out")
    assert run.folder is not None
    assert say(capsys, "verify", "fair.pdual", "--run", "out", "--examples", "10").code == 0


@pytest.mark.usefixtures("here")
def test_rows_that_are_asked_about_in_groups_only(capsys: pytest.CaptureFixture[str]) -> None:
    start, end = SPEC.index("over p in"), SPEC.index("over group")
    text = SPEC[:start] + SPEC[end : SPEC.index("expect")].replace("outer = 150", "outer = 2")
    text = text.replace("  subject to", "  minimize mean[p in t]((guess[p] - p.y)^2)\n  subject to")
    Path("grouped.pdual").write_text(text)
    assert say(capsys, "run", "grouped.pdual", "--out", "out").code == 0
    assert say(capsys, "run", "grouped.pdual", "--out", "none", "--minimize", "none").code == 0
    only = text.replace("  minimize mean[p in t]((guess[p] - p.y)^2)\n", "")
    Path("only.pdual").write_text(only)
    assert say(capsys, "run", "only.pdual", "--out", "only").code == 0
    said = say(capsys, "predict", "only", "--data", "people.csv", "--out", "said.csv")
    assert said.code != 0
    assert "error[PD293]: rows of `people` are asked about in groups only" in said.err


@pytest.mark.usefixtures("here")
def test_a_group_with_nothing_to_average(capsys: pytest.CaptureFixture[str]) -> None:
    Path("empty.pdual").write_text(SPEC.replace("where p.y > 0", "where p.y > 1.5"))
    said = say(capsys, "run", "empty.pdual", "--out", "out")
    assert said.code == 4
    assert "PD601" in said.err
    assert "calm[town" in said.err


TOKENS = """problem told "Answers of each kind stay likely"
data rows { question: text, answer: text, kind: id, weight: real in [0, 2] }
model lm(prompt: text, answer: text) -> { logprob: real[token] } = causal_lm("base")
over group g of rows by kind {
  let likely[r in g] = r.weight * mean[k in token](lm(r.question, r.answer).logprob[k])
  minimize max[r in g](top_mean(lm(r.question, r.answer).logprob, 0.5))
  subject to
    low: mean[r in g](likely[r]) >= -5
    apart: max[r in g, o in g](likely[r] - o.weight * likely[o]) <= 4
  dual low, apart = pointwise(cap = 10)
}
"""


def test_the_tokens_of_a_row_are_reduced_row_by_row(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("told.pdual").write_text(
        TOKENS.replace("over r in rows { minimize r.weight * lm(r.question, r.answer).logprob[0] }\n", "")
    )
    said = say(capsys, "verify", "told.pdual", "--examples", "40", "--json")
    assert said.code == 0, said.err + said.out
    found = {item["claim"]: item for item in said.json["claims"]}
    assert all(found[name]["silent"] < found[name]["cases"] / 2 for name in ("ranges", "rows", "values", "gradients"))
    both = "mean[k in token](r.weight * lm(o.question, o.answer).logprob[k])"
    Path("told.pdual").write_text(TOKENS.replace("o.weight * likely[o]", both))
    said = say(capsys, "verify", "told.pdual", "--examples", "5")
    assert said.code == 1
    assert "error[PD299]" in said.err


@pytest.mark.usefixtures("here")
def test_a_model_that_nothing_calls_needs_no_width(capsys: pytest.CaptureFixture[str]) -> None:
    text = SPEC.replace("over p in", "model q(x: real[_]) -> real = mlp(hidden = [4])\nover p in").replace(
        "outer = 150", "outer = 1"
    )
    Path("unused.pdual").write_text(text.replace("expect ", "# "))
    said = say(capsys, "run", "unused.pdual", "--out", "out")
    assert said.code == 0, said.err
    assert "warning[PD115]: model `q` is never used" in said.err
