"""Rows and models from Python: every form gives the same rows; what does not fit is a diagnostic."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pyarrow
import pyarrow.parquet
import pytest
import torch
from safetensors.numpy import save_file
from torch import Tensor, nn
from torch.utils.data import Dataset

import pdual

SPEC = """problem bound
set side = { left, right }
data d {
  x:    real
  z:    real[2]
  s:    side
  goal: real from "Goal"
  split = [0.5, 0, 0.5]
}
model f(x: real, z: real[2]) -> realMODEL
over r in d {
  let y = f(r.x, r.z)
  minimize (y - r.goal)^2 + (1 if r.s == left else 0)
  subject to near: y <= r.goal + 100
  dual near = DUAL
}
solve { outer = 1, descent = adam(lr = 1e-2, batch = 4, steps = 2) }
"""
ROWS = 12
X = np.linspace(0, 1, ROWS)
Z = np.stack([X, 1 - X], 1)
S = np.array(["left", "right"] * (ROWS // 2))
GOAL = 2 * X


class Items(Dataset[dict[str, Any]]):
    def __len__(self) -> int:
        return ROWS

    def __getitem__(self, place: int) -> dict[str, Any]:
        return {
            "x": torch.tensor(X[place]),
            "z": torch.tensor(Z[place]),
            "s": str(S[place]),
            "Goal": float(GOAL[place]),
        }


class Tuples(Dataset[tuple[Any, ...]]):
    def __len__(self) -> int:
        return ROWS

    def __getitem__(self, place: int) -> tuple[Any, ...]:
        return X[place], Z[place], S[place], GOAL[place]


class HuggingFace:
    """What of a `datasets.Dataset` is used: names of columns, and a column by name."""

    column_names = ("x", "z", "s", "Goal")

    def __getitem__(self, name: str) -> list[Any]:
        return {"x": X.tolist(), "z": Z.tolist(), "s": S.tolist(), "Goal": GOAL.tolist()}[name]


class TwoOutputs(nn.Module):
    def forward(self, x: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
        return x, z


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(3, 8), nn.Linear(8, 1)

    def forward(self, x: Tensor, z: Tensor) -> Tensor:
        out: Tensor = self.fc2(torch.tanh(self.fc1(torch.cat([x, z], 1))))
        return out


ARRAYS: dict[str, Any] = {"x": X, "z": Z, "s": S, "Goal": GOAL}
FORMS: dict[str, Callable[[], Any]] = {
    "numpy": lambda: ARRAYS,
    "torch": lambda: {**ARRAYS, "x": torch.tensor(X, requires_grad=True), "z": torch.tensor(Z)},
    "lists": lambda: {name: array.tolist() for name, array in ARRAYS.items()},
    "positions of members": lambda: [{**Items()[n], "s": Items()[n]["s"]} for n in range(ROWS)],
    "torch, mappings": Items,
    "torch, tuples": Tuples,
    "pandas": lambda: pandas.DataFrame({"x": X, "z": list(Z), "s": S, "Goal": GOAL}),
    "pyarrow": lambda: pyarrow.table({"x": X, "z": Z.tolist(), "s": S, "Goal": GOAL}),
    "Hugging Face": HuggingFace,
}


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PDUAL_CACHE", str(tmp_path / "cache"))


def spec(folder: Path, model: str = " = linear()", dual: str = "pointwise(cap = 1)") -> Path:
    path = folder / "bound.pdual"
    path.write_text(SPEC.replace("MODEL", model).replace("DUAL", dual))
    return path


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_rows(tmp_path: Path, form: str) -> None:
    problem = pdual.load(spec(tmp_path), data={"d": FORMS[form]()})
    (training_set,) = problem.solve(out=tmp_path / "out").outcome.run.training_sets
    values = training_set.table.batch(torch.arange(ROWS)).values
    for name, expected in {"x": X, "z": Z, "goal": GOAL, "s": S == "right"}.items():
        column = values[name]
        assert isinstance(column, Tensor)
        np.testing.assert_allclose(column.numpy(), expected.astype(float), rtol=1e-6)


@pytest.mark.parametrize("kind", [None, "numpy", "torch"])
def test_a_data_set_of_the_library(tmp_path: Path, kind: str | None) -> None:
    library = pytest.importorskip("datasets", reason="the library `datasets` is not installed")
    rows = library.Dataset.from_dict({name: array.tolist() for name, array in ARRAYS.items()})
    for given in (rows.with_format(kind), rows.select(range(ROWS)).with_format(kind)):
        problem = pdual.load(spec(tmp_path), data={"d": given})
        with np.load(problem.options.data["d"]) as file:
            for name, expected in ARRAYS.items():
                found = file[name]
                assert found.shape == expected.shape
                assert (found == expected).all() if name == "s" else np.allclose(found, expected, rtol=1e-6)
    assert problem.solve(out=tmp_path / "out").metrics.splits["train"].rows > 0


def test_rows_from_python_are_a_file_by_content(tmp_path: Path) -> None:
    first, again = (
        pdual.load(spec(tmp_path), data={"d": FORMS[form]()}).options.data["d"] for form in ("numpy", "lists")
    )
    other = pdual.load(spec(tmp_path), data={"d": {**ARRAYS, "x": X + 1}}).options.data["d"]
    assert first == again
    assert first != other
    assert first.parent == tmp_path / "cache" / "bound"


def test_complex_columns_become_their_parts(tmp_path: Path) -> None:
    path = tmp_path / "c.pdual"
    path.write_text(
        "problem c\ndata d { c: complex }\nmodel f(c: complex) -> real = linear()\n"
        "over r in d { minimize (f(r.c) - im(r.c))^2 }\nsolve { outer = 1, descent = adam(lr = 1e-2, steps = 1) }\n"
    )
    run = pdual.load(path, data={"d": {"c": X + 2j * X}}).solve(out=tmp_path / "out")
    values = run.outcome.run.training_sets[0].table.batch(torch.arange(ROWS)).values
    np.testing.assert_allclose(values["c.im"], 2 * X, rtol=1e-6)


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (
            {**ARRAYS, "z": [[1, 2], [3]]},
            "`z` as an array of one shape a row, found shape [2] in row 0 and shape [1] in row 1",
        ),
        ({**ARRAYS, "x": [1, None, *X[2:]]}, "a value of `x` in every row, found None in row 1"),
        ([{**Items()[0]}, {"x": 2.0}], "in every row, found none in row 1"),
        ([(1.0, 2.0)], "4 values a row, found 2 in row 0"),
        (3, "found int"),
        ([], "rows one after another, found none"),
    ],
)
def test_rows_that_do_not_fit(tmp_path: Path, rows: Any, told: str) -> None:
    with pytest.raises(pdual.ProblemError, match="PD590") as refused:
        pdual.load(spec(tmp_path), data={"d": rows})
    assert told in str(refused.value)


def test_a_data_set_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(pdual.ProblemError, match="PD707"):
        pdual.load(spec(tmp_path), data={"e": ARRAYS})


def test_rows_of_a_source_that_has_its_own(tmp_path: Path) -> None:
    rows = {"image": np.zeros((20, 1, 8, 8)), "label": np.zeros(20, dtype=int)}
    with pytest.raises(pdual.ProblemError, match=r"PD718.*`digits`"):
        pdual.load("digits", data={"digits": rows})
    text = spec(tmp_path).read_text().replace("data d {", 'data d = csv("not_there.csv") {')
    text = text.replace("  split = [0.5, 0, 0.5]\n", "")
    (tmp_path / "csv.pdual").write_text(text)
    pdual.load(tmp_path / "csv.pdual", data={"d": ARRAYS})


# --- models ------------------------------------------------------------------------------------------------------


def test_a_plain_module_is_trained_and_its_layer_read(tmp_path: Path) -> None:
    torch.manual_seed(0)
    net = Net()
    before = net.fc1.weight.detach().clone()
    path = spec(tmp_path, ' { features = "fc1" }', "learned(mlp([4]), on = features(y), cap = 1)")
    run = pdual.load(path, data={"d": ARRAYS}, models={"f": net}).solve(out=tmp_path / "out")
    assert not torch.equal(before, net.fc1.weight)
    x, z = torch.tensor(X, dtype=torch.float32), torch.tensor(Z, dtype=torch.float32)
    (found,) = run.predict("f", {"x": x, "z": z}).values()
    torch.testing.assert_close(found, net(x[:, None], z).squeeze(1).detach())
    assert run.multipliers("test")["near"].shape == (ROWS // 2, 1)


@pytest.mark.parametrize(
    ("model", "module", "told"),
    [
        (' { features = "fc3" }', Net(), "PD691]: module `f` has no layer `fc3`"),
        ("", nn.Linear(3, 1), "PD692]: module `f` fails on inputs of shape"),
        ("", TwoOutputs(), "PD690]: module `f` should return 1 tensors, found tuple"),
        ("", nn.Bilinear(1, 2, 5), "PD690]: module `f` should return a tensor"),
    ],
)
def test_modules_that_do_not_fit(tmp_path: Path, model: str, module: nn.Module, told: str) -> None:
    with pytest.raises(pdual.ProblemError) as refused:
        pdual.load(spec(tmp_path, model), data={"d": ARRAYS}, models={"f": module}).solve(out=tmp_path / "out")
    assert told in str(refused.value)


# --- files -------------------------------------------------------------------------------------------------------


def write(path: Path) -> Path:
    """The same rows as a file of the type that its name ends with."""
    columns = {"x": X.tolist(), "z": Z.tolist(), "s": S.tolist(), "Goal": GOAL.tolist()}
    match path.suffix:
        case ".csv":
            flat = {"x": X, "z.0": Z[:, 0], "z.1": Z[:, 1], "s": S, "Goal": GOAL}
            pandas.DataFrame(flat).to_csv(path, index=False)
        case ".parquet":
            pyarrow.parquet.write_table(pyarrow.table(columns), path)
        case ".jsonl":
            rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        case ".npz":
            np.savez(path, **ARRAYS)
        case ".safetensors":
            positions = {**ARRAYS, "s": (S == "right").astype(np.int64)}
            save_file({name: np.ascontiguousarray(array) for name, array in positions.items()}, path)
    return path


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".jsonl", ".npz", ".safetensors"])
def test_every_type_of_file_gives_the_same_rows(tmp_path: Path, suffix: str) -> None:
    path = spec(tmp_path)
    if suffix == ".safetensors":  # it holds numbers alone, so members have to be numbers too
        path.write_text(path.read_text().replace("{ left, right }", "0..1").replace("r.s == left", "r.s == 0"))
    run = pdual.load(path, data={"d": write(tmp_path / f"rows{suffix}")}).solve(out=tmp_path / "out")
    values = run.outcome.run.training_sets[0].table.batch(torch.arange(ROWS)).values
    for name, expected in {"x": X, "z": Z, "goal": GOAL, "s": S == "right"}.items():
        column = values[name]
        assert isinstance(column, Tensor)
        np.testing.assert_allclose(column.numpy(), expected.astype(float), rtol=1e-6)
    sizes = {split: len(ids) for split, ids in run.outcome.run.training_sets[0].table.splits.items()}
    assert sizes == {"train": ROWS // 2, "test": ROWS // 2}


@pytest.mark.parametrize("wrong", [np.nan, np.inf, 1.5])
def test_arrays_are_checked_like_lists(tmp_path: Path, wrong: float) -> None:
    path = spec(tmp_path)
    path.write_text(path.read_text().replace("x:    real", "x:    real in [0, 1]"))
    changed = X.copy()
    changed[[3, 7]] = wrong
    for x in (changed, changed.tolist()):
        with pytest.raises(pdual.ProblemError, match=r"(?s)PD535.*rows 3, 7"):
            pdual.load(path, data={"d": {**ARRAYS, "x": x}}).solve(out=tmp_path / "out")


def test_a_large_array_is_read_at_once(tmp_path: Path) -> None:
    path = tmp_path / "large.pdual"
    path.write_text(
        "problem large\ndata d { x: real[500] }\nmodel f(x: real[500]) -> real = linear()\n"
        "over r in d { minimize f(r.x)^2 }\nsolve { outer = 1, descent = adam(lr = 1e-3, steps = 1) }\n"
    )
    start = time.monotonic()
    pdual.load(path, data={"d": {"x": np.ones((20_000, 500))}}).solve(out=tmp_path / "out")
    assert time.monotonic() - start < 30  # ten million numbers; one by one they take minutes


@pytest.mark.parametrize("on", ["r.x", "r.count", "r.new", "r.z"])
def test_multipliers_are_learned_on_numbers_of_the_row(tmp_path: Path, on: str) -> None:
    """One number, a whole one, a truth value, an array: rows that differ in it may differ in their multipliers."""
    path = tmp_path / "on.pdual"
    path.write_text(
        "problem on\ndata d { x: real, z: real[2], count: int, new: bool }\nmodel f(x: real) -> real = linear()\n"
        "over r in d {\n  minimize (f(r.x) - r.x)^2 + r.z[0] + r.count + (1 if r.new else 0)\n"
        f"  subject to low: f(r.x) <= r.x - 1\n  dual low = learned(mlp(hidden = [8]), on = {on}, cap = 3)\n}}\n"
        "solve { outer = 2, descent = adam(lr = 1e-2, batch = 4, steps = 4), "
        "ascent = adam(lr = 1e-1, batch = 4, steps = 20) }\n"
    )
    rows = {"x": X, "z": Z, "count": np.arange(ROWS), "new": np.arange(ROWS) % 2 == 0}
    run = pdual.load(path, data={"d": rows}).solve(out=tmp_path / "out")
    found = run.multipliers("train")["low"].squeeze(1)
    assert float(found.min()) > 0
    assert float(found.std()) > 0
