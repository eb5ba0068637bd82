"""``pdual predict`` and ``pdual score``: rows of the user's own file, and the same from Python."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from running import say

import pdual

SPEC = """problem small "Two curves, one bound that only one kind of row has"
set kind = 0..2
set side = 0..1
data points = csv("points.csv", split = [0.5, 0.25, 0.25]) { x: real[2], is: kind, y: real }
model f(x: real[2]) -> { low: real[side], high: real[kind] } = mlp(hidden = [8])
over p in points {
  let (low, high) = f(p.x)
  minimize mean[k in kind]((high[k] - p.y)^2)
  subject to
    below[s in side]: low[s] <= p.y
    above[k in kind where k != p.is]: high[k] >= p.y - 0.1
  dual default = learned(mlp(hidden = [8]), on = features(f), cap = 3)
}
solve { outer = 5, rho = 5.0, descent = adam(lr = 1e-2, batch = 8, steps = 8), ascent = adam(lr = 5e-2, batch = 8, steps = 20) }
"""


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rows")
    random = np.random.default_rng(1)
    rows = [(*random.normal(size=2).round(4), n % 3, round(float(random.normal()), 4)) for n in range(40)]
    text = "x.0,x.1,is,y\n" + "".join(",".join(str(value) for value in row) + "\n" for row in rows)
    (folder / "points.csv").write_text(text)
    (folder / "small.pdual").write_text(SPEC)
    return folder


@pytest.fixture(scope="module")
def run(here: Path) -> pdual.Run:
    return pdual.load(here / "small.pdual").solve(out=here / "run")


@pytest.fixture(autouse=True)
def _inside(here: Path, run: pdual.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(here)


def table(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def fields(*, without: str | None = None) -> dict[str, torch.Tensor]:
    rows = table(Path("points.csv").read_text())
    found = {
        "x": torch.tensor([[float(row["x.0"]), float(row["x.1"])] for row in rows]),
        "is": torch.tensor([int(row["is"]) for row in rows]),
        "y": torch.tensor([float(row["y"]) for row in rows]),
    }
    return {name: column for name, column in found.items() if name != without}


def test_predictions_are_those_of_the_model(capsys, run: pdual.Run) -> None:
    Path("only-x.csv").write_text("x.0,x.1\n" + "".join(f"{n / 10},{-n / 5}\n" for n in range(7)))
    said = say(capsys, "predict", "run", "--data", "only-x.csv", "-q")
    assert (said.code, said.err) == (0, "")
    rows = table(said.out)
    x = torch.tensor([[n / 10, -n / 5] for n in range(7)])
    expected = run.predict("f", {"x": x})
    assert [row["row"] for row in rows] == [str(n) for n in range(7)]
    for name, column in {
        "f.high.2": expected["high"][:, 2],
        "f.low.0": expected["low"][:, 0],
        "f.low.1": expected["low"][:, 1],
    }.items():
        assert [float(row[name]) for row in rows] == pytest.approx(column.tolist(), abs=1e-6)


def test_scores_of_the_rows_of_a_split_are_its_multipliers(capsys, run: pdual.Run) -> None:
    """The whole file again, as new rows: they have the multipliers that the run gives its test rows."""
    said = say(capsys, "score", "run", "--data", "points=points.csv", "-q", "--json")
    rows = {int(item["row"]): item for item in said.json["rows"]}
    table_ = run.outcome.run.training_sets[0].table
    test = table_.splits["test"].tolist()
    parts = run.multipliers("test")
    total = sum(values.abs().sum(1) for values in parts.values())
    masked = fields()["is"][test]
    held = parts["above"].clone()
    held[torch.arange(len(test)), masked] = 0.0  # `where` leaves this entry out
    total = parts["below"].sum(1) + held.sum(1)
    assert [rows[row]["multiplier"] for row in test] == pytest.approx(total.tolist(), rel=1e-5)
    assert float(total.max()) > 0.1
    prices = [item["multiplier"] for item in said.json["rows"]]
    assert prices == sorted(prices, reverse=True)


def test_a_score_names_the_dearest_entry_and_the_violation(capsys, run: pdual.Run) -> None:
    said = say(capsys, "score", "run", "--data", "points.csv", "-q")
    rows = table(said.out)
    x, kind, y = fields()["x"], fields()["is"], fields()["y"]
    found = run.predict("f", {"x": x})
    new = run.multipliers(fields())
    for item in rows[:5]:
        n = int(item["row"])
        misses = [*(found["low"][n] - y[n]).tolist()]
        misses += [float(y[n] - 0.1 - found["high"][n, k]) for k in range(3) if k != int(kind[n])]
        assert float(item["violation"]) == pytest.approx(max(0.0, *misses), abs=1e-5)
        entries = {f"below[{n}, {s}]": float(new["below"][n, s]) for s in range(2)}
        entries |= {f"above[{n}, {k}]": float(new["above"][n, k]) for k in range(3) if k != int(kind[n])}
        assert float(item["largest"]) == pytest.approx(max(entries.values()), rel=1e-5)
        assert entries[item["entry"]] == pytest.approx(max(entries.values()), rel=1e-5)


def test_a_field_that_multipliers_do_not_depend_on_may_be_missing(capsys, run: pdual.Run) -> None:
    lines = [line.split(",")[:3] for line in Path("points.csv").read_text().splitlines()]
    Path("no-y.csv").write_text("".join(",".join(line) + "\n" for line in lines))
    whole = table(say(capsys, "score", "run", "--data", "points.csv", "-q").out)
    without = table(say(capsys, "score", "run", "--data", "no-y.csv", "-q").out)
    assert [row["row"] for row in whole] == [row["row"] for row in without]
    assert [row["multiplier"] for row in whole] == [row["multiplier"] for row in without]
    assert "violation" not in without[0]
    for name, values in run.multipliers(fields(without="y")).items():
        assert torch.equal(values, run.multipliers(fields())[name])
    with pytest.raises(KeyError, match="is"):
        run.multipliers(fields(without="is"))


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "npz"])
def test_results_go_into_a_file_that_can_be_read_again(capsys, suffix: str) -> None:
    out = Path(f"predicted.{suffix}")
    said = say(capsys, "predict", "run", "--data", "points.csv", "--out", str(out), "-q")
    assert (said.code, said.out) == (0, f"{out}\n")
    printed = [float(row["f.high.1"]) for row in table(say(capsys, "predict", "run", "--data", "points.csv", "-q").out)]
    read: Any
    if suffix == "csv":
        read = [float(row["f.high.1"]) for row in table(out.read_text())]
    elif suffix == "jsonl":
        read = [json.loads(line)["f.high.1"] for line in out.read_text().splitlines()]
    else:
        with np.load(out, allow_pickle=False) as archive:
            read = archive["f.high"][:, 1].tolist()
            assert archive["f.low"].shape == (40, 2)
            assert archive["row"].tolist() == [str(n) for n in range(40)]
    assert read == pytest.approx(printed)


def test_one_row_is_enough(capsys) -> None:
    Path("one.jsonl").write_text('{"x": [0.5, -1.0], "is": 2}\n')
    assert len(table(say(capsys, "predict", "run", "--data", "one.jsonl", "-q").out)) == 1
    assert len(table(say(capsys, "score", "run", "--data", "one.jsonl", "-q").out)) == 1


def test_a_table_of_multipliers_has_none_for_new_rows(capsys, here: Path) -> None:
    arguments = ["run", "small.pdual", "--dual", "below=pointwise", "--out", "tabled", "-q"]
    assert say(capsys, *arguments).code == 0
    said = say(capsys, "score", "tabled", "--data", "points.csv", "-q")
    assert (said.code, said.out) == (2, "")
    assert "error[PD730]" in said.err
    assert "`below` are held as `pointwise`" in said.err
    assert say(capsys, "predict", "tabled", "--data", "points.csv", "-q").code == 0


def test_a_vector_for_every_row_is_none_for_a_new_one(capsys, here: Path) -> None:
    text = SPEC.replace("model f(x: real[2])", "model f(x: real[2])").replace("mlp(hidden = [8])\nover", "free()\nover")
    text = text.replace("learned(mlp(hidden = [8]), on = features(f), cap = 3)", "shared(cap = 3)")
    Path("free.pdual").write_text(text)
    assert say(capsys, "run", "free.pdual", "--out", "free", "-q").code == 0
    said = say(capsys, "predict", "free", "--data", "points.csv", "-q")
    assert (said.code, said.out) == (2, "")
    assert "error[PD732]: model `f` holds a vector for every train row" in said.err


TWO = """problem two "Two data sets, one model"
data ones { x: real }
data others { x: real }
model f(x: real) -> real = mlp(hidden = [4])
over a in ones { minimize (f(a.x) - 1)^2 }
over b in others {
  subject to top: f(b.x) <= 0.5
  dual top = learned(mlp(hidden = [4]), on = features(f), cap = 3)
}
solve { outer = 2, descent = adam(lr = 1e-2, batch = 8, steps = 2), ascent = adam(lr = 1e-2, batch = 8, steps = 2) }
"""


def test_a_data_set_is_named_where_there_are_several(capsys) -> None:
    Path("two.pdual").write_text(TWO)
    Path("x.csv").write_text("x\n" + "".join(f"{n}\n" for n in range(20)))
    arguments = ["--data", "ones=x.csv", "--data", "others=x.csv", "--out", "two", "-q"]
    assert say(capsys, "run", "two.pdual", *arguments).code == 0
    said = say(capsys, "score", "two", "--data", "x.csv", "-q")
    assert said.code == 2
    assert "error[PD731]: `--data` has to say of which data set the rows are: `ones`, `others`" in said.err
    assert say(capsys, "score", "two", "--data", "others=x.csv", "-q").code == 0
    assert "error[PD730]" in say(capsys, "score", "two", "--data", "ones=x.csv", "-q").err
    assert "did you mean `others`?" in say(capsys, "score", "two", "--data", "other=x.csv", "-q").err


@pytest.mark.parametrize(
    ("file", "code", "error", "place"),
    [
        ("nowhere.csv", 3, "PD531", "4:1"),
        ("points.docx", 3, "PD531", "4:1"),
        ("small.pdual", 3, "PD532", "4:1"),
        ("bad.csv", 3, "PD535", "4:62"),
        ("other.csv", 3, "PD534", "4:62"),
    ],
)
@pytest.mark.parametrize("command", ["predict", "score"])
def test_files_that_are_no_rows(capsys, command: str, file: str, code: int, error: str, place: str) -> None:
    """They are told at the data set or the field, in the spec as the run has it."""
    Path("bad.csv").write_text("x.0,x.1,is\n1,nan,0\n")
    Path("other.csv").write_text("y.0,y.1,is\n1,2,0\n")
    said = say(capsys, command, "run", "--data", file, "-q")
    assert (said.code, said.out) == (code, "")
    assert f"error[{error}]" in said.err
    assert f"--> {Path('run') / 'spec.pdual'}:{place}" in said.err
    found = say(capsys, command, "run", "--data", file, "-q", "--json").json["diagnostics"]
    assert [(item["code"], f"{item['start']['line']}:{item['start']['column']}") for item in found] == [(error, place)]


def test_where_results_cannot_go(capsys) -> None:
    assert "PD704" in say(capsys, "predict", "run", "--data", "points.csv", "--out", "x.docx", "-q").err
    assert "PD713" in say(capsys, "predict", "run", "--data", "points.csv", "--out", "no/x.csv", "-q").err
