"""``pdual sensitivity``: what rows cost is what their multipliers said, on digits; and every number of the table is what it is said to be."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from running import say

import pdual
from pdual.restoring import restored
from pdual.runtime.data.extended import Extended
from pdual.runtime.data.tables import ColumnTable
from pdual.sensitivity import Plan, sensitivity

SPEC = """problem lever "The smallest slope that lifts every row"
data rows = csv("rows.csv", split = [0.5, 0, 0.5]) { x: real[2], load: real }
model f(x: real[2]) -> real = mlp(hidden = [8])
over r in rows {
  minimize f(r.x)^2
  subject to lifted: f(r.x) >= r.load
  dual lifted = learned(mlp(hidden = [16]), on = features(f), cap = 50)
}
solve { outer = 30, rho = 5.0, descent = adam(lr = 1e-2, batch = 16, steps = 20, schedule = cosine()), ascent = adam(lr = 1e-2, batch = 16, steps = 30) }
"""


@pytest.mark.long
@pytest.mark.timeout(600)
def test_digits(capsys, tmp_path: Path) -> None:
    """The paper's figure: ten groups of a tenth of the unseen rows, each imposed in turn; `docs/benchmarks.md` shows it with more seeds."""
    folder = str(tmp_path / "run")
    assert say(capsys, "run", "digits", "--out", folder, "-q").code == 0
    said = say(capsys, "sensitivity", folder, "--seeds", "1", "-q", "--json")
    assert said.code == 0
    found = said.json
    own = [item for item in found["groups"] if item["kind"] == "by multiplier"]
    random = [item["increase"] for item in found["groups"] if item["kind"] == "random"]
    assert (len(own), len(random)) == (10, 3)
    assert all(len(set(item["rows"])) == 35 for item in found["groups"])
    assert found["spearman"] >= 0.9
    assert found["slope"] > 0
    assert max(random) < own[-1]["increase"] / 2
    assert max(random) - min(random) < own[-1]["increase"] / 3  # flat: rows by chance cost about the same
    assert own[0]["first_order"] < own[-1]["first_order"]
    assert Path(found["figure"]).read_text().startswith("<?xml")
    assert json.dumps(found["groups"][0]["interval"]) == "null"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> pdual.Run:
    folder = tmp_path_factory.mktemp("lever")
    random = torch.Generator().manual_seed(0)
    x = torch.rand(60, 2, generator=random)
    load = x[:, 0]
    text = "x.0,x.1,load\n" + "".join(
        f"{a:.4f},{b:.4f},{c:.4f}\n" for (a, b), c in zip(x.tolist(), load.tolist(), strict=True)
    )
    (folder / "rows.csv").write_text(text)
    (folder / "lever.pdual").write_text(SPEC)
    return pdual.load(folder / "lever.pdual").solve(out=folder / "run")


def test_what_is_said_of_the_groups(capsys, run: pdual.Run) -> None:
    arguments = ["--groups", "3", "--random", "2", "--size", "6", "--seeds", "2", "--outer", "3", "-q"]
    said = say(capsys, "sensitivity", str(run.folder), *arguments, "--json")
    found = said.json
    price = run.multipliers("test")["lifted"][:, 0]
    training_set = run.outcome.run.training_sets[0]
    order = [training_set.table.address(int(row)) for row in training_set.table.splits["test"][price.argsort()]]
    own = [item for item in found["groups"] if item["kind"] == "by multiplier"]
    assert set(own[0]["rows"]) == set(order[:6])
    assert set(own[-1]["rows"]) == set(order[-6:])
    assert own[-1]["multiplier"] == pytest.approx(float(price.sort().values[-6:].mean()), rel=1e-4)
    # the bound is the sum of lam [g]_+, over all 30 + 6 rows
    passed = training_set.evaluate("test")
    chosen = price.argsort()[-6:]
    expected = float((passed.multipliers[chosen, 0] * passed.residuals[chosen, 0].clamp(min=0)).sum()) / 36
    assert own[-1]["first_order"] == pytest.approx(expected, rel=1e-4, abs=1e-9)
    lifted = training_set.evaluate("test").residuals[chosen, 0] * training_set.program.layout.parts[0].scale[0]
    assert own[-1]["before"] == pytest.approx(float(lifted.clamp(min=0).mean()), rel=1e-4)
    assert len(own[-1]["after"]) == 2
    for item in found["groups"]:
        first, second = item["increases"]
        assert item["increase"] == pytest.approx((first + second) / 2)
        assert item["interval"] == pytest.approx(
            12.7062 * abs(first - second) / 2, rel=1e-4
        )  # Student's t, one degree of freedom
    base = found["base"]
    assert found["noise"] == pytest.approx(abs(base[0] - base[1]) / 2**0.5)
    again = say(capsys, "sensitivity", str(run.folder), *arguments[:-1])
    words, progress = again.out, again.err.splitlines()
    assert [line.split(": ")[0] for line in progress] == [f"{n} of 12" for n in range(1, 13)]
    assert f": objective {base[1]:.6g} (" in progress[1]
    assert f"seed 1: increase {found['groups'][0]['increases'][1]:.3g} (" in progress[3]
    assert "groups of 6 test rows of rows, re-solved in 3 outer iterations, 2 seeds" in words
    assert "noise of re-solving the train rows alone" in words


def test_a_longer_descent_is_the_one_that_is_asked_for(capsys, run: pdual.Run) -> None:
    """The spec's 20 steps of 16 rows are 320 / 36 passes over the 36 rows of a group's problem, and 320 / 30 over the 30 of S alone."""
    arguments = ["--groups", "2", "--random", "0", "--size", "6", "--seeds", "1", "--outer", "2", "-q", "--json"]

    def solved(*more: str) -> tuple[list[float], list[float]]:
        found = say(capsys, "sensitivity", str(run.folder), *arguments, *more).json
        return found["base"], [found["base"][0] + item["increases"][0] for item in found["groups"]]

    (base, groups), (same_base, _), (_, same_groups), (other_base, other) = (
        solved(), solved("--epochs", str(320 / 30)), solved("--epochs", str(320 / 36)), solved("--epochs", "40")
    )  # fmt: skip
    assert same_base == base
    assert same_groups == pytest.approx(groups, abs=1e-12)
    assert other_base != base
    assert other != groups


def test_a_re_solve_that_was_cut_counts_for_nothing(run: pdual.Run) -> None:
    """Stopped in the third of five re-solves: of the groups one is whole."""
    assert run.folder is not None
    plan, said = Plan(groups=2, random=2, size=6, seeds=1, outer=2), list[str]()

    def stop() -> bool:
        return len(said) == 2

    answers(run).unlink(missing_ok=True)
    found = sensitivity(restored(run.folder), plan, told=said.append, stop=stop)
    assert (len(found.base), len(found.groups), found.groups[0].kind, found.spearman) == (1, 1, "by multiplier", None)
    answers(run).unlink()
    whole = sensitivity(restored(run.folder), plan)
    assert (whole.base, whole.groups[0]) == (found.base, found.groups[0])
    answers(run).unlink()
    assert sensitivity(restored(run.folder), plan, stop=lambda: True).base == ()


def answers(run: pdual.Run) -> Path:
    """Where the objectives of re-solves are kept."""
    assert run.folder is not None
    return run.folder / "sensitivity.jsonl"


def test_what_has_ended_is_not_solved_again(capsys, run: pdual.Run) -> None:
    """After an interruption, and where more groups or seeds are asked for; another rate, and half a line, are no answer."""
    arguments = ["sensitivity", str(run.folder), "--groups", "2", "--size", "6", "--outer", "2", "--json"]
    answers(run).unlink(missing_ok=True)
    first = say(capsys, *arguments, "--random", "0", "--seeds", "1")
    assert "(kept)" not in first.err
    kept = answers(run).read_text()
    answers(run).write_bytes(kept[: kept.rindex("violation")].encode() + b"\nno answer\n\xff\xfe\n")
    second = say(capsys, *arguments, "--random", "1", "--seeds", "2")
    # by group, seeds 0 and 1: the train rows, the group that costs little, the one whose line was cut, the random one
    assert [line.endswith("(kept)") for line in second.err.splitlines()] == [True, False, True, *[False] * 5]
    assert second.json["base"][0] == first.json["base"][0]
    assert [item["increases"][0] for item in second.json["groups"][:2]] == [
        item["increases"][0] for item in first.json["groups"]
    ]
    again = say(capsys, *arguments, "--random", "1", "--seeds", "2")
    assert (again.err.count("(kept)"), again.json) == (8, second.json)
    assert "(kept)" not in say(capsys, *arguments, "--random", "1", "--seeds", "2", "--rate", "0.2").err


def test_two_processes_say_what_one_does(capsys, run: pdual.Run) -> None:
    arguments = ["sensitivity", str(run.folder), "--groups", "2", "--random", "1", "--size", "6", "--seeds", "1", "--outer", "2", "--json"]  # fmt: skip
    answers(run).unlink(missing_ok=True)
    one = say(capsys, *arguments)
    answers(run).unlink()
    two = say(capsys, *arguments, "--jobs", "2")
    assert (two.code, two.json) == (0, one.json)
    assert [line.split(": ")[0] for line in two.err.splitlines()] == [f"{n} of 4" for n in range(1, 5)]
    assert len([line for line in answers(run).read_text().splitlines() if line]) == 4


def test_a_re_solve_takes_the_rate_that_is_asked_for(capsys, run: pdual.Run) -> None:
    arguments = ["--groups", "2", "--random", "0", "--size", "6", "--seeds", "1", "--outer", "2", "-q", "--json"]
    found = [
        say(capsys, "sensitivity", str(run.folder), *arguments, *more).json
        for more in ([], ["--rate", "0.1"], ["--rate", "0.3"], ["--rate", "0.00001"])
    ]
    assert found[0]["groups"] == found[1]["groups"] != found[2]["groups"]
    assert found[0]["plan"]["rate"] == 0.1
    # Steps that are next to nothing leave the objective of the train rows where it was, whatever is imposed.
    still = found[3]["groups"]
    assert [item["increases"][0] for item in still] == pytest.approx([0.0, 0.0], abs=1e-4)
    assert [item["after"][0] for item in still] == pytest.approx([item["before"] for item in still], abs=1e-4)
    assert still[-1]["before"] > 0.001
    # At three tenths of the rate the rows are met better.
    assert found[2]["groups"][-1]["after"][0] < still[-1]["after"][0]


def test_imposed_rows_are_train_rows() -> None:
    table = ColumnTable(
        {"x": torch.arange(5.0)}, {"train": torch.tensor([0, 1]), "test": torch.tensor([2, 3, 4])}, "hand"
    )
    more = Extended(table, torch.tensor([3]))
    assert more.splits["train"].tolist() == [0, 1, 3]
    assert list(more.splits) == ["train"]
    assert more.to(torch.device("cpu"), torch.float32).batch(torch.tensor([3])).values["x"].tolist() == [3.0]  # type: ignore[attr-defined]
    assert more.fingerprint != table.fingerprint
    assert Extended(table, torch.tensor([], dtype=torch.long)).fingerprint == table.fingerprint
    assert (len(more), more.address(3)) == (5, "3")
    assert more.limited(1).splits["train"].tolist() == [0, 3]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--size", "31"], "error[PD734]: groups of 31 rows cannot be taken from the 30 rows of `test`"),
        (["--split", "val"], "error[PD733]: no held-out row has a multiplier"),
    ],
)
def test_mistakes(capsys, run: pdual.Run, arguments: list[str], error: str) -> None:
    said = say(capsys, "sensitivity", str(run.folder), *arguments, "-q")
    assert (said.code, said.out) == (2, "")
    assert error in said.err
