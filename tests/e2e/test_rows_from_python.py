"""What comes in from Python is what is used: by name, in full, or refused with its row; and its key tells it from anything else."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import sqlite3
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pydantic
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.data import DataLoader

import pdual
from pdual.binding import bound, columns_of, key_of

#: `t` is a field that nothing reads.
pytestmark = pytest.mark.filterwarnings("ignore::pdual.ProblemWarning")

SPEC = """problem s
set side = { left, right }
data d { x: real, n: int, t: text, s: side, b: bool }
model f(x: real) -> real = linear()
over r in d { minimize (f(r.x) - r.n)^2 + (1 if r.s == left else 0) + (1 if r.b else 0) }
solve { outer = 1, descent = adam(lr = 1e-2, steps = 1) }
"""
BASE: dict[str, list[Any]] = {
    "x": [0.5, 1.5, 2.5, 3.5],
    "n": [1, 2, 3, 4],
    "t": ["a", "bb", "c d", " e"],
    "s": ["left", "right", "left", "right"],
    "b": [True, False, True, True],
}
ROWS = [dict(zip(BASE, values, strict=True)) for values in zip(*BASE.values(), strict=True)]
Named = namedtuple("Named", ["b", "s", "x", "t", "n"])


@dataclasses.dataclass
class Data:
    s: str
    t: str
    b: bool
    n: int
    x: float
    junk: object = None


class Model(pydantic.BaseModel):
    t: str
    s: str
    n: int
    b: bool
    x: float


def frame(**changed: Any) -> pd.DataFrame:
    return pd.DataFrame({**BASE, **changed})


def of_sqlite() -> sqlite3.Cursor:
    data = sqlite3.connect(":memory:")
    data.row_factory = sqlite3.Row
    data.execute("create table q(t, b, n, x, s)")
    data.executemany("insert into q values (:t, :b, :n, :x, :s)", ROWS)
    return data.execute("select * from q")


def structured() -> Any:
    kind = [("x", "f8"), ("n", "i2"), ("t", "U5"), ("s", "U5"), ("b", "?")]
    return np.array([tuple(row.values()) for row in ROWS], dtype=kind)


GOOD: dict[str, Callable[[], Any]] = {
    "named tuples": lambda: [Named(row["b"], row["s"], row["x"], row["t"], row["n"]) for row in ROWS],
    "dataclasses": lambda: [Data(**row) for row in ROWS],
    "pydantic": lambda: [Model(**row) for row in ROWS],
    "sqlite": of_sqlite,
    "itertuples": lambda: list(frame().itertuples()),
    "an iterator": lambda: frame().itertuples(),
    "rows of a frame": lambda: [row for _, row in frame().iterrows()],
    "a generator": lambda: (row for row in ROWS),
    "another order of keys": lambda: [dict(reversed(row.items())) for row in ROWS],
    "tuples": lambda: [tuple(row.values()) for row in ROWS],
    "structured": structured,
    "nullable": lambda: frame().astype({"n": "Int64", "b": "boolean", "t": "string", "s": "category", "x": "Float32"}),
    "pandas of arrow": lambda: frame().convert_dtypes(dtype_backend="pyarrow"),
    "an index that repeats": lambda: frame().set_index(pd.Index([0, 0, 1, 1])),
    "undeclared, doubled": lambda: pd.concat([frame(), pd.DataFrame([[1, 2]] * 4, columns=["q", "q"])], axis=1),
    "undeclared, unreadable": lambda: frame(q=[None, object(), 1, "x"]),
    "undeclared, in some rows": lambda: [{**row, f"q{row['n']}": None} for row in ROWS],
    "arrow": lambda: pa.table({**BASE, "s": pa.array(BASE["s"]).dictionary_encode()}),
    "half precision": lambda: {**BASE, "x": np.array(BASE["x"], np.float16)},
    "bfloat16": lambda: {**BASE, "x": torch.tensor(BASE["x"], dtype=torch.bfloat16)},
    "whole numbers of few digits": lambda: {**BASE, "n": torch.tensor(BASE["n"], dtype=torch.bfloat16)},
    "a gradient": lambda: {**BASE, "x": torch.tensor(BASE["x"], requires_grad=True) * 1},
    "sparse": lambda: {**BASE, "x": torch.tensor(BASE["x"]).to_sparse()},
    "strided": lambda: {**BASE, "x": np.repeat(BASE["x"], 2)[::2]},
    "big-endian": lambda: {**BASE, "n": np.array(BASE["n"], ">i4")},
    "objects": lambda: {name: np.array(values, object) for name, values in BASE.items()},
    "scalars": lambda: {**BASE, "x": [torch.tensor(x) for x in BASE["x"]], "n": [np.int8(n) for n in BASE["n"]]},
}

BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "None as a text": (lambda: frame(t=["a", None, "b", "c"]), "a value of `t` in every row, found none in row 1"),
    "NaN as a text": (lambda: frame(t=["a", "b", np.nan, "c"]), "a value of `t` in every row, found none in row 2"),
    "NaN in a list": (lambda: {**BASE, "t": ["a", "b", "c", float("nan")]}, "found nan in row 3"),
    "NA": (
        lambda: frame(n=pd.array([1, 2, pd.NA, 3], dtype="Int64")),
        "a value of `n` in every row, found none in row 2",
    ),
    "NaT": (lambda: {**BASE, "t": ["a", pd.NaT, "b", "c"]}, "in row 1"),
    "no category": (lambda: frame(s=pd.Categorical(["left", None, "left", "right"])), "none in row 1"),
    "null": (lambda: pa.table({**BASE, "n": [1, None, 2, 3]}), "none in row 1"),
    "masked": (lambda: {**BASE, "x": np.ma.array(BASE["x"], mask=[0, 0, 1, 0])}, "none in row 2"),
    "None in a list": (lambda: {**BASE, "x": [[1], [None], [1], [1]]}, "found None in row 1"),
    "a date": (lambda: frame(x=pd.date_range("2020", "2023", periods=4)), "found `datetime64"),
    "dates": (lambda: {**BASE, "x": [*BASE["x"][:3], datetime.date(2020, 1, 1)]}, "found a date in row 3"),
    "a duration": (lambda: {**BASE, "x": np.array([1, 2, 3, 4], "m8[s]")}, "found `timedelta64[s]` in row 0"),
    "decimals": (lambda: {**BASE, "x": [decimal.Decimal(1)] * 4}, "found a Decimal in row 0"),
    "bytes": (lambda: {**BASE, "t": np.array(["a", "b", "c", "d"], "S1")}, "found `|S1` in row 0"),
    "texts and numbers": (lambda: {**BASE, "t": ["a", 1, "b", "c"]}, "`t` of one type, found texts, and `1` in row 1"),
    "rounded": (lambda: {**BASE, "n": [2**53 + 1, 2.5, 3, 4]}, "found 9007199254740993 in row 0, beside"),
    "rounded by bfloat16": (
        lambda: {**BASE, "n": torch.tensor([1, 255, 256, 3], dtype=torch.bfloat16)},
        "`n` as whole numbers, found one above 255 in row 2, which `torch.bfloat16` rounds",
    ),
    "rounded by eight bits": (
        lambda: {**BASE, "n": torch.tensor([1, 15, 16, 3]).to(torch.float8_e4m3fn)},
        "found one above 15 in row 2, which `torch.float8_e4m3fn` rounds",
    ),
    "rounded by another bfloat16": (
        lambda: {**BASE, "n": np.array([1, 255, 256, 3], pytest.importorskip("ml_dtypes").bfloat16)},
        "found one above 255 in row 2, which `bfloat16` rounds",
    ),
    "of no type": (lambda: {**BASE, "n": [1, 2**70, 3, 4]}, "found `1180591620717411303424` in row 1"),
    "cut off": (lambda: {**BASE, "t": ["a", "b\0", "c", "d"]}, "ends with a zero character in row 1"),
    "ragged": (lambda: {**BASE, "x": [[1], [1, 2], [1], [1]]}, "shape [1] in row 0 and shape [2] in row 1"),
    "shorter": (lambda: {**BASE, "x": [1.0]}, "columns of one length, found 1 of `x`"),
    "doubled": (lambda: pd.concat([frame(), frame()[["x"]]], axis=1), "one column `x`, found 2 of that name"),
    "two levels": (lambda: pd.concat({"a": frame()}, axis=1), "PD576"),
    "a column": (lambda: frame()["x"], "PD576"),
    "another case": (lambda: frame().rename(columns={"x": "X"}), "their columns are `X`"),
    "none": (dict, "PD576"),
    "splits": (lambda: {"train": frame(), "test": frame()}, "PD579"),
    "a key too few": (lambda: [*ROWS[:2], {"x": 1}], "in every row, found none in row 2"),
    "a value too few": (lambda: [(1, 2)], "5 values a row, found 2 in row 0"),
    "None as a row": (lambda: [*ROWS, None], "5 values a row, found 1 in row 4"),
    "pairs of a frame": (lambda: frame()[["x", "n"]].iterrows(), "found 2 in row 0"),
    "batches": (lambda: DataLoader(ROWS), "batches of a DataLoader"),  # type: ignore[arg-type]
    "no order": (lambda: {1, 2}, "found set"),
    "a scalar": (lambda: {**BASE, "x": 1.0}, "`x` as an array, found float"),
    "a text": (lambda: {**BASE, "t": "abcd"}, "`t` as an array, found str"),
    "a class": (lambda: {**BASE, "x": object}, "`x` as an array, found type"),
    "nothing there": (lambda: {**BASE, "x": torch.zeros(4, device="meta")}, "NotImplementedError"),
}


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PDUAL_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "s.pdual"
    path.write_text(SPEC)
    return path


def read(spec: Path, rows: Any) -> dict[str, list[Any]]:
    with np.load(pdual.load(spec, data={"d": rows}).options.data["d"]) as file:
        return {name: file[name].tolist() for name in file.files}


@pytest.mark.parametrize("form", GOOD)
def test_a_form_that_is_read(spec: Path, form: str) -> None:
    assert read(spec, GOOD[form]()) == BASE


@pytest.mark.parametrize("form", BAD)
def test_a_form_that_is_refused_with_its_row(spec: Path, form: str) -> None:
    make, said = BAD[form]
    with pytest.raises(pdual.ProblemError) as refused:
        pdual.load(spec, data={"d": make()})
    assert said in str(refused.value)
    assert refused.value.diagnostics[0].code in ("PD576", "PD579", "PD590")


def datasets() -> ModuleType:
    library: ModuleType = pytest.importorskip("datasets", reason="the library `datasets` is not installed")
    return library


def classes(labels: list[int]) -> Any:
    library = datasets()
    kinds = {"x": "float64", "n": "int64", "t": "string", "b": "bool"}
    features = library.Features(
        {name: library.Value(kind) for name, kind in kinds.items()} | {"s": library.ClassLabel(names=["right", "left"])}
    )
    return library.Dataset.from_dict({**BASE, "s": labels}, features=features)


def test_what_the_library_datasets_holds(spec: Path) -> None:
    whole = datasets().Dataset.from_dict(BASE)
    assert read(spec, whole.to_iterable_dataset()) == BASE
    assert read(spec, classes([1, 0, 1, 0])) == BASE
    for rows, said in (
        (classes([1, -1, 1, 0]), "the label -1 in row 1"),
        (datasets().Dataset.from_dict({**BASE, "t": ["a", None, "b", "c"]}), "found None in row 1"),
        (datasets().DatasetDict(train=whole, test=whole), r"PD579.*'train', 'test'"),
    ):
        with pytest.raises(pdual.ProblemError, match=said):
            pdual.load(spec, data={"d": rows})


def test_what_polars_holds(spec: Path) -> None:
    library = pytest.importorskip("polars", reason="polars is not installed")
    assert read(spec, library.DataFrame(BASE)) == BASE
    assert read(spec, library.DataFrame(BASE).with_columns(library.col("s").cast(library.Categorical))) == BASE
    for rows, said in (
        (library.DataFrame({**BASE, "n": [1, None, 2, 3]}), "none in row 1"),
        (library.DataFrame(BASE).lazy(), "hand over what its `collect"),
    ):
        with pytest.raises(pdual.ProblemError, match=said):
            pdual.load(spec, data={"d": rows})


# --- keys --------------------------------------------------------------------------------------------------------

KINDS = ("int8", "uint8", "int16", "int64", "uint64", "float16", "float32", "float64", "bool", "U1", "U3")


@st.composite
def columns(draw: st.DrawFn) -> dict[str, np.ndarray[Any, Any]]:
    """Few bytes in many guises, so that equal bytes are common."""
    found = {}
    for name in draw(st.lists(st.sampled_from(["a", "b", "ab", "a.re"]), min_size=1, max_size=3, unique=True)):
        shape = draw(st.sampled_from([(4,), (4, 1), (2, 2), (1, 4), (2,), (8,)]))
        kind = draw(st.sampled_from(KINDS))
        values = draw(st.lists(st.sampled_from([0, 1]), min_size=int(np.prod(shape)), max_size=int(np.prod(shape))))
        found[name] = np.array(values).astype(kind).reshape(shape, order=draw(st.sampled_from(["C", "F"])))
    return found


def same(first: dict[str, Any], second: dict[str, Any]) -> bool:
    """Whether two inputs are one; texts are as wide as the longest."""

    def kind(array: Any) -> str:
        return "U" if array.dtype.kind == "U" else str(array.dtype)

    return first.keys() == second.keys() and all(
        kind(array) == kind(second[name])
        and array.shape == second[name].shape
        and array.tolist() == second[name].tolist()
        for name, array in first.items()
    )


@given(st.lists(columns(), min_size=2, max_size=6))
@settings(max_examples=200, deadline=None)
def test_inputs_share_a_key_exactly_where_they_are_one(found: list[dict[str, np.ndarray[Any, Any]]]) -> None:
    found.append({name: np.asfortranarray(found[0][name]) for name in reversed(found[0])})
    found.append({name: np.repeat(array, 2, 0)[::2] for name, array in found[0].items()})
    keys = [key_of(item) for item in found]
    for place, item in enumerate(found):
        for other, there in zip(keys, found, strict=True):
            assert (keys[place] == other) == same(item, there)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (np.array([-1, 1, 2, 3], np.int8), np.array([255, 1, 2, 3], np.uint8)),
        (np.zeros(4, np.float32), np.zeros(4, np.int32)),
        (np.array([True, False, True, True]), np.array([1, 0, 1, 1], np.int8)),
    ],
)
def test_rows_that_were_corrected_are_read_anew(spec: Path, first: Any, second: Any) -> None:
    for values in (first, second, first):
        assert read(spec, {**BASE, "n": values})["n"] == values.tolist()


def test_a_file_of_the_cache_that_was_cut_is_written_anew(spec: Path) -> None:
    path = pdual.load(spec, data={"d": BASE}).options.data["d"]
    path.write_bytes(path.read_bytes()[:50])
    assert read(spec, BASE) == BASE
    assert [item.suffix for item in path.parent.iterdir()] == [".npz"]


def test_undeclared_columns_are_no_part_of_the_key(spec: Path) -> None:
    paths = {pdual.load(spec, data={"d": {**BASE, "q": values}}).options.data["d"] for values in ([1], "no", object())}
    assert paths == {pdual.load(spec, data={"d": BASE}).options.data["d"]}


def test_a_path_is_the_file_itself(spec: Path, tmp_path: Path) -> None:
    (data,) = pdual.load(spec, data={"d": BASE}).graph.spec.data
    assert bound("rows.csv", data, tmp_path) == bound(Path("rows.csv"), data, tmp_path) == Path("rows.csv")
    assert set(columns_of(frame(q=1), data, {})) == set(BASE)
