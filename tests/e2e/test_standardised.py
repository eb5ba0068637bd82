"""Standardised fields: by the train rows alone, whatever the rows are read from, and the same for rows that come later."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from running import say
from safetensors.numpy import save_file

import pdual
from pdual.dsl.diagnostics import Refusal
from pdual.dsl.typed import TypedField
from pdual.dsl.types import ArrayType, Kind
from pdual.runtime.data.standards import learned

ROWS = 40
RANDOM = np.random.default_rng(3)
SIZE = RANDOM.uniform(40, 160, ROWS).round(2)
AT = (RANDOM.normal(size=(ROWS, 2)) * [3, 200] + [50, -1000]).round(3)
PRICE = (2 * SIZE + AT[:, 0]).round(1)

SPEC = """problem houses "Standardised"
data houses {
  split = [0.5, 0.25, 0.25]
  standardised = [size, at]
  size: real in [-9, 9] from "Size (m2)"
  at: real[2]
  price: real
  metres: real in [0, 1000] from "Size (m2)"
}
model f(size: real, at: real[2]) -> real = mlp(hidden = [8])
over h in houses {
  minimize (100 * f(h.size, h.at) - h.price)^2 scale 1e4
  subject to close: 100 * f(h.size, h.at) <= h.price - h.metres
  dual close = learned(mlp(hidden = [8]), on = h.size, cap = 3)
}
solve { outer = 2, descent = adam(lr = 1e-2, batch = 8, steps = 8), ascent = adam(lr = 1e-2, batch = 8, steps = 8) }
"""


def columns() -> dict[str, Any]:
    return {"Size (m2)": SIZE, "at": AT, "price": PRICE}


def of_rows() -> list[dict[str, Any]]:
    return [{"Size (m2)": float(SIZE[n]), "at": AT[n].tolist(), "price": float(PRICE[n])} for n in range(ROWS)]


def a_csv(path: Path) -> None:
    lines = [f"{SIZE[n]},{AT[n, 0]},{AT[n, 1]},{PRICE[n]}\n" for n in range(ROWS)]
    path.write_text("Size (m2),at.0,at.1,price\n" + "".join(lines))


WRITERS: dict[str, Callable[[Path], Any]] = {
    "csv": a_csv,
    "jsonl": lambda path: path.write_text("".join(json.dumps(row) + "\n" for row in of_rows())),
    "npz": lambda path: np.savez(path, **columns()),
    "parquet": lambda path: pyarrow.parquet.write_table(pyarrow.Table.from_pylist(of_rows()), path),
    "safetensors": lambda path: save_file({name: np.ascontiguousarray(item) for name, item in columns().items()}, path),
}


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("standardised")
    (folder / "houses.pdual").write_text(SPEC)
    a_csv(folder / "houses.csv")
    return folder


@pytest.fixture(scope="module")
def run(here: Path) -> pdual.Run:
    return pdual.load(here / "houses.pdual", data={"houses": here / "houses.csv"}).solve(out=here / "run")


@pytest.fixture(autouse=True)
def _inside(here: Path, run: pdual.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(here)
    monkeypatch.setenv("PDUAL_CACHE", str(here / "cache"))


def seen(run: pdual.Run) -> Any:
    return run.outcome.run.training_sets[0].table


def test_the_statistics_are_those_of_the_train_rows(run: pdual.Run) -> None:
    table = seen(run)
    train = table.splits["train"].numpy()
    assert len(train) == ROWS // 2
    values = table.batch(torch.arange(ROWS)).values
    np.testing.assert_allclose(values["size"], (SIZE - SIZE[train].mean()) / SIZE[train].std(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(values["at"], (AT - AT[train].mean(0)) / AT[train].std(0), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(values["metres"], SIZE, rtol=1e-6)
    np.testing.assert_allclose(values["price"], PRICE, rtol=1e-6)
    assert abs(float(SIZE.mean() - SIZE[train].mean())) > 1  # all rows would say something else


@pytest.mark.parametrize("suffix", WRITERS)
def test_every_file_gives_the_same(run: pdual.Run, here: Path, suffix: str) -> None:
    file = here / f"other.{suffix}"
    WRITERS[suffix](file)
    other = pdual.load("houses.pdual", data={"houses": file}).solve(out=here / f"run-{suffix}", limit=3)
    expected, found = (seen(item).batch(torch.arange(ROWS)).values for item in (run, other))
    for name in ("size", "at", "metres"):
        torch.testing.assert_close(found[name], expected[name])


def test_rows_from_python_give_the_same(run: pdual.Run, here: Path) -> None:
    other = pdual.load("houses.pdual", data={"houses": columns()}).solve(out=here / "run-python")
    torch.testing.assert_close(seen(other).columns["size"], seen(run).columns["size"])


def test_the_record_says_by_what(here: Path, run: pdual.Run) -> None:
    train = seen(run).splits["train"].numpy()
    found = json.loads((here / "run" / "run.json").read_text())["standardised"]["houses"]
    assert found["size"]["mean"] == pytest.approx([SIZE[train].mean()])
    assert found["size"]["deviation"] == pytest.approx([SIZE[train].std()])
    assert found["at"]["mean"] == pytest.approx(AT[train].mean(0).tolist())
    assert set(found) == {"size", "at"}


def test_new_rows_are_standardised_by_the_train_rows(capsys, here: Path, run: pdual.Run) -> None:
    """Two rows of another file, whose own mean and deviation are others: the model is asked what training would have."""
    Path("new.csv").write_text("Size (m2),at.0,at.1\n100,50,-1000\n150,55,-900\n")
    train = seen(run).splits["train"].numpy()
    size = (np.array([100.0, 150.0]) - SIZE[train].mean()) / SIZE[train].std()
    at = (np.array([[50.0, -1000.0], [55.0, -900.0]]) - AT[train].mean(0)) / AT[train].std(0)
    expected = run.predict("f", {"size": torch.tensor(size), "at": torch.tensor(at)})[""]
    said = say(capsys, "predict", "run", "--data", "new.csv", "-q")
    assert (said.code, said.err) == (0, "")
    found = [float(row["f"]) for row in csv.DictReader(io.StringIO(said.out))]
    assert found == pytest.approx(expected.tolist(), abs=1e-6)


def test_scores_of_the_rows_of_a_split_are_its_multipliers(capsys, run: pdual.Run) -> None:
    said = say(capsys, "score", "run", "--data", "houses.csv", "-q", "--json")
    rows = {int(item["row"]): item["multiplier"] for item in said.json["rows"]}
    test = seen(run).splits["test"].tolist()
    own = run.multipliers("test")["close"].squeeze(1)
    assert [rows[row] for row in test] == pytest.approx(own.tolist(), rel=1e-5)
    new = run.multipliers({"size": torch.tensor(SIZE[test])})["close"].squeeze(1)
    torch.testing.assert_close(new, own, rtol=1e-5, atol=1e-6)
    assert float(own.std()) > 0


def test_a_limit_takes_rows_away_and_leaves_the_statistics(run: pdual.Run, here: Path) -> None:
    few = pdual.load("houses.pdual", data={"houses": here / "houses.csv"}).solve(out=here / "few", limit=4)
    assert len(seen(few)) < len(seen(run))
    assert torch.equal(seen(few).standards["size"].mean, seen(run).standards["size"].mean)


def test_explain_says_so(capsys) -> None:
    said = say(capsys, "explain", "houses.pdual")
    assert 'size: real in [-9, 9] from "Size (m2)" standardised' in " ".join(said.out.split())
    found = say(capsys, "explain", "houses.pdual", "--json").json["explanation"]["data"][0]["fields"]
    assert {item["name"]: item["standardised"] for item in found} == {
        "size": True,
        "at": True,
        "price": False,
        "metres": False,
    }


def test_a_declared_range_is_of_what_the_spec_sees(capsys, tmp_path: Path, run: pdual.Run) -> None:
    Path("narrow.pdual").write_text(SPEC.replace("in [-9, 9]", "in [-1, 1]"))
    said = say(capsys, "run", "narrow.pdual", "--data", "houses=houses.csv", "--out", str(tmp_path / "run"), "-q")
    train = seen(run).splits["train"].numpy()
    values = (SIZE - SIZE[train].mean()) / SIZE[train].std()
    outside = np.abs(values) > 1
    assert said.code == 3
    assert "error[PD547]: `size` should be at least -1 and at most 1 once it is standardised" in said.err
    assert f"found {values[outside][0]:.6g} in rows {int(np.argmax(outside))}, " in said.err
    assert f"{outside.sum()} of {ROWS} rows of `houses.csv`; in the file it is {SIZE[outside][0]:g}" in said.err
    assert "--> narrow.pdual:5:3" in said.err


def test_a_new_row_is_held_to_the_range(capsys) -> None:
    Path("far.csv").write_text("Size (m2),at.0,at.1\n100,50,-1000\n900,50,-1000\n")
    said = say(capsys, "predict", "run", "--data", "far.csv", "-q")
    assert said.code == 3
    assert "error[PD547]" in said.err
    assert "in row 1" in said.err


@pytest.mark.parametrize(
    ("place", "value", "told"),
    [
        (1, "7", "entry 0 is 7 in every train row"),
        (0, "0.1", "`size` is 0.1 in every train row"),
    ],
)
def test_what_has_no_spread_is_refused(capsys, tmp_path: Path, place: int, value: str, told: str) -> None:
    lines = [line.split(",") for line in Path("houses.csv").read_text().splitlines()]
    for line in lines[1:]:
        line[place] = value
    flat = tmp_path / "flat.csv"
    flat.write_text("".join(",".join(line) + "\n" for line in lines))
    said = say(capsys, "run", "houses.pdual", "--data", f"houses={flat}", "--out", str(tmp_path / "run"), "-q")
    assert said.code == 3
    assert "error[PD548]" in said.err
    assert told in said.err
    assert f"`{flat}` has 20 train rows" in said.err


def field(name: str = "x") -> TypedField:
    return TypedField(name, ArrayType(Kind.REAL))


def test_a_spread_that_is_no_number_is_refused() -> None:
    with pytest.raises(Refusal) as refusal:
        learned(field(), torch.tensor([1e200, -1e200, 0.0], dtype=torch.float64), torch.arange(3), Path("f.csv"))
    assert refusal.value.diagnostics[0].fact["reason"] == "the spread of `x` is no number"


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(-1e6, 1e6, width=32), min_size=3, max_size=30).filter(lambda found: max(found) - min(found) > 1),
    st.integers(2, 30),
)
def test_train_rows_have_mean_0_and_deviation_1(values: list[float], count: int) -> None:
    column = torch.tensor(values, dtype=torch.float64)
    train = torch.arange(min(count, len(values)))
    if float(column[train].max() - column[train].min()) < 1e-3:
        return
    found = learned(field(), column, train, Path("f.csv")).of(column)[train].numpy()
    assert found.mean() == pytest.approx(0, abs=1e-6)
    assert found.std() == pytest.approx(1, abs=1e-6)


def test_an_export_says_what_its_user_does_first(capsys, here: Path, run: pdual.Run) -> None:
    assert say(capsys, "export", "run").code == 0
    found = json.loads((here / "run" / "export" / "export.json").read_text())["standardised"]["houses"]
    train = seen(run).splits["train"].numpy()
    assert found["size"]["mean"] == pytest.approx(SIZE[train].mean())
    assert found["at"]["deviation"] == pytest.approx(AT[train].std(0).tolist())
