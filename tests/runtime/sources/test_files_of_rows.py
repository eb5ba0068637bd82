"""What stands in a file is read as it stands, or the file is refused with what is wrong and where."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from pdual.dsl.diagnostics import Refusal
from pdual.dsl.typed import TypedField
from pdual.dsl.types import TEXT, ArrayType, FixedAxis, Kind, MemberOf
from pdual.runtime.data.context import SourceContext
from pdual.runtime.sources.columns import _check_claim
from pdual.runtime.sources.table import read_fields

KINDS = {
    "x": ArrayType(Kind.REAL),
    "n": ArrayType(Kind.INT),
    "k": ArrayType(Kind.ID),
    "t": TEXT,
    "b": ArrayType(Kind.BOOL),
    "v": ArrayType(Kind.REAL, (FixedAxis(3),)),
    "m": ArrayType(Kind.REAL, (FixedAxis(3), FixedAxis(2))),
}


def read(path: Path, fields: str) -> dict[str, list[Any]]:
    """The fields of a file, each called by its kind."""
    declared = {name: TypedField(name, KINDS[name], None, None) for name in fields}
    found = read_fields(SourceContext(fields=declared), path, set(declared))
    return {
        **{name: column.tolist() for name, column in found.columns.items()},
        **{k: list(v) for k, v in found.texts.items()},
    }


def reason(path: Path, fields: str) -> tuple[str, str]:
    """The code of the refusal, and what it says of the cause."""
    with pytest.raises(Refusal) as refused:
        read(path, fields)
    (item,) = refused.value.diagnostics
    return item.code, item.fact.get("reason", item.fact.get("rows", ""))


READ: dict[str, tuple[str, bytes, str, dict[str, list[Any]]]] = {
    "plain": ("a.csv", b"x,t\n1,a\n2,b\n", "xt", {"x": [1, 2], "t": ["a", "b"]}),
    "a mark": ("a.csv", b"\xef\xbb\xbfx,t\n1,a\n", "xt", {"x": [1], "t": ["a"]}),
    "utf-16": ("a.csv", "x,t\n1,é\n".encode("utf-16"), "xt", {"x": [1], "t": ["é"]}),
    "utf-16, other end": ("a.csv", b"\xfe\xff" + "x,t\n1,é\n".encode("utf-16-be"), "xt", {"x": [1], "t": ["é"]}),
    "old line ends": ("a.csv", b"x,t\r1,a\r2,b\r", "xt", {"x": [1, 2], "t": ["a", "b"]}),
    "line ends of Windows": ("a.csv", b"x,t\r\n1,a\r\n2,b\r\n", "xt", {"x": [1, 2], "t": ["a", "b"]}),
    "blanks of a text": ("a.csv", b"t,x\n Paris ,1\n\"Rome\n\",2\n", "tx", {"t": [" Paris ", "Rome\n"], "x": [1, 2]}),
    "blanks of a number": ("a.csv", b"x, n\n 1.5 , 2\n", "xn", {"x": [1.5], "n": [2]}),
    "a comment first": ("a.csv", b"# made by\n# a tool\nx,n\n1,2\n", "xn", {"x": [1], "n": [2]}),
    "blank lines": ("a.csv", b"\nx,n\n\n1,2\n\n\n3,4\n", "xn", {"x": [1, 3], "n": [2, 4]}),
    "trailing commas": ("a.csv", b"x,n,,\n1,2,,\n3,4,,\n", "xn", {"x": [1, 3], "n": [2, 4]}),
    "an index without a name": ("a.csv", b",x,n\n0,1,2\n1,3,4\n", "xn", {"x": [1, 3], "n": [2, 4]}),
    "tabs": ("a.tsv", b"x\tt\n1\ta,b\n", "xt", {"x": [1], "t": ["a,b"]}),
    "one column": ("a.csv", b"t\na;b\n", "t", {"t": ["a;b"]}),
    "quotes": ("a.csv", b't,x\n"say ""a"", b",1\n', "tx", {"t": ['say "a", b'], "x": [1]}),
    "other columns may be anything": ("a.csv", b"x,y\n1,1_5\n", "x", {"x": [1]}),
    "exponents": ("a.csv", b"x\n1e3\n-.5\n+2.\n", "x", {"x": [1000, -0.5, 2]}),
    "large whole numbers": ("a.csv", b"n\n9007199254740993\n-9223372036854775808\n", "n", {"n": [2**53 + 1, -(2**63)]}),
    "truths": ("a.csv", b"b\ntrue\nNo\n 1 \n0\n", "b", {"b": [True, False, True, False]}),
    "json lines": ("a.jsonl", b'\xef\xbb\xbf{"x": 1, "t": " a "}\r\n\r\n{"t": "b", "x": 2}', "xt", {"x": [1, 2], "t": [" a ", "b"]}),
    "one column, blank lines last": ("a.csv", b"x\n1\n3\n\n\n", "x", {"x": [1, 3]}),
    "one column, a text of nothing": ("a.csv", b't\na\n""\nb\n', "t", {"t": ["a", "", "b"]}),
    "axes in their order": ("a.jsonl", b'{"m": [[1, 2], [3, 4], [5, 6]]}', "m", {"m": [[[1, 2], [3, 4], [5, 6]]]}),
    "an axis of one entry more": ("a.jsonl", b'{"v": [[1], [2], [3]]}', "v", {"v": [[1, 2, 3]]}),
    "axes in one line": ("a.jsonl", b'{"m": [1, 2, 3, 4, 5, 6]}', "m", {"m": [[[1, 2], [3, 4], [5, 6]]]}),
    "the largest of a double": ("a.jsonl", b'{"n": 9007199254740991.0, "k": -9.0}', "nk", {"n": [2**53 - 1], "k": [-9]}),
    "a key that comes late": ("a.jsonl", b'{"x": 1}\n{"x": 2, "y": 3}\n', "x", {"x": [1, 2]}),
}  # fmt: skip


@pytest.mark.parametrize("name", READ)
def test_a_file_that_is_read(tmp_path: Path, name: str) -> None:
    file, content, fields, expected = READ[name]
    (tmp_path / file).write_bytes(content)
    assert read(tmp_path / file, fields) == expected


REFUSED: dict[str, tuple[str, bytes, str, str, str]] = {
    "semicolons": ("a.csv", b"x;n\n1,5;2\n", "xn", "PD533", "line 1 is one column, `x;n`: separate columns by `,`, not `;`"),
    "tabs": ("a.csv", b"x\tn\n1\t2\n", "xn", "PD533", "separate columns by `,`, not `\\t` (or name it .tsv)"),
    "latin-1": ("a.csv", "x,t\n1,München\n".encode("latin-1"), "xt", "PD533", "line 2 is not UTF-8; read as Windows-1252 it says `1,München`"),
    "latin-1 in json": ("a.jsonl", '{"t": "a"}\n{"t": "é"}\n'.encode("latin-1"), "t", "PD533", "line 2 is not UTF-8"),
    "utf-16 without a mark": ("a.csv", "x,t\n1,a\n".encode("utf-16-le"), "xt", "PD533", "line 1 holds a zero byte"),
    "a short line": ("a.csv", b"x,n\n\n1,2\n\n\n3\n", "xn", "PD533", "line 6 has 1 values, the header has 2"),
    "a long line after a quoted one": ("a.csv", b'x,t\n1,"a\nb"\n2,c,d\n', "xt", "PD533", "line 4 has 3 values, the header has 2"),
    "an open quote": ("a.csv", b'x,t\n1,"a\n2,b\n', "xt", "PD533", "line 2: unexpected end of data"),
    "a doubled name": ("a.csv", b"x,x\n1,2\n", "x", "PD533", "its header names `x` twice"),
    "only comments and numbers": ("a.csv", b"# x,n\n1,2\n3,4\n", "xn", "PD533", "line 2 should name the columns"),
    "nothing": ("a.csv", b"", "x", "PD533", "it is empty"),
    "underscores": ("a.csv", b"x\n2\n1_5\n", "x", "PD535", "row 1"),
    "digits of others": ("a.csv", "x\n１\n".encode(), "x", "PD535", "row 0"),
    "infinity": ("a.csv", b"x\n1\n2\ninfinity\n", "x", "PD535", "row 2"),
    "no number": ("a.csv", b"x\n1\nnan\n", "x", "PD535", "row 1"),
    "a decimal comma": ("a.csv", b'x\n"1,5"\n', "x", "PD535", "row 0"),
    "hexadecimal": ("a.csv", b"n\n0x10\n", "n", "PD535", "row 0"),
    "a rounded whole number": ("a.jsonl", b'{"n": 9007199254740994.0}\n', "n", "PD535", "row 0"),
    "more than 64 bits": ("a.csv", b"n\n9223372036854775808\n", "n", "PD535", "row 0"),
    "no id": ("a.csv", b"k,x\na,1\n,2\n", "k", "PD535", "row 1"),
    "a fraction as an id": ("a.jsonl", b'{"k": 1}\n{"k": 1.5}\n', "k", "PD535", "row 1"),
    "a rounded id": ("a.jsonl", b'{"k": 1e300}\n', "k", "PD535", "row 0"),
    "a truth value as an id": ("a.jsonl", b'{"k": true}\n', "k", "PD535", "row 0"),
    "a missing key": ("a.jsonl", b'{"y": 2}\n{"x": 3, "y": 4}\n', "x", "PD535", "row 0"),
    "half a letter": ("a.jsonl", b'{"t": "a"}\n{"t": "\\ud800"}\n', "t", "PD535", "row 1"),
    "a key twice": ("a.jsonl", b'{"x": 1}\n{"x": 1, "x": 2}\n', "x", "PD533", "line 2: `x` stands twice"),
    "one column, a blank line": ("a.csv", b"x\n1\n\n3\n", "x", "PD533", "line 3 is blank"),
    "a value behind the named columns": ("a.csv", b"x,n,,\n1,2,,\n1,5,2,5\n", "xn", "PD533", "line 3 has a value in a column without a name"),
    "half of a utf-16 letter": ("a.csv", "x,t\n1,é\n".encode("utf-16")[:-1], "xt", "PD533", "line 2 is not UTF-16"),
    "an id that a spreadsheet shortened": ("a.csv", b"k\n7\n1.54266E+18\n", "k", "PD535", "row 1"),
    "an id that a program rounded": ("a.csv", b"k\n7\n1542657904481796096.0\n", "k", "PD535", "row 1"),
    "an id that may be the next, rounded": ("a.jsonl", b'{"k": 9007199254740993.0}\n', "k", "PD535", "row 0"),
    "an id of half a letter": ("a.jsonl", b'{"k": "\\ud800"}\n', "k", "PD535", "row 0"),
    "axes in another order": ("a.jsonl", b'{"m": [[1, 2, 3], [4, 5, 6]]}', "m", "PD535", "row 0"),
    "an axis of several lengths": ("a.jsonl", b'{"v": [1, 2, 3]}\n{"v": [[1], [2, 3]]}', "v", "PD535", "row 1"),
    "no object": ("a.jsonl", b'{"x": 1}\n\n[2]\n', "x", "PD533", "line 3 should be a JSON object"),
    "a broken line": ("a.jsonl", b'{"x": 1}\n{"x": \n', "x", "PD533", "line 2: "),
    "nested too deep": ("a.jsonl", b'{"x": 1}\n{"x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}\n", "x", "PD533", "line 2: "),
    "no parquet": ("a.parquet", b"PAR1 or not", "x", "PD533", ""),
    "no archive": ("a.npz", b"PK\x03\x04", "x", "PD533", ""),
    "no tensors": ("a.safetensors", b"\xff" * 20, "x", "PD533", ""),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_that_is_refused(tmp_path: Path, name: str) -> None:
    file, content, fields, code, cause = REFUSED[name]
    (tmp_path / file).write_bytes(content)
    found, told = reason(tmp_path / file, fields)
    assert found == code
    assert cause in told


ARRAYS: dict[str, tuple[Any, list[float]]] = {
    "other byte order": (np.array([1.5, 2.0], ">f8"), [1.5, 2.0]),
    "other byte order, whole": (np.array([1, 2], ">i4"), [1, 2]),
    "long double": (np.array([1.5, 2.0], np.longdouble), [1.5, 2.0]),
    "half": (np.array([1.5, 2.0], np.float16), [1.5, 2.0]),
    "unsigned": (np.array([1, 2**63], np.uint64), [1, 2.0**63]),
    "strided": (np.arange(4.0)[::2], [0, 2]),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_an_array_that_is_read(tmp_path: Path, name: str) -> None:
    array, expected = ARRAYS[name]
    np.savez(tmp_path / "a.npz", x=array, other=np.array(7), odd=np.array([("a", 1)], [("s", "U1"), ("i", "i4")]))
    assert read(tmp_path / "a.npz", "x")["x"] == expected


def test_a_complex_array_is_two_columns(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", z=np.array([1 + 2j, 3 - 4j], ">c16"))
    field = TypedField("z", ArrayType(Kind.COMPLEX), None, None)
    found = read_fields(SourceContext(fields={"z": field}), tmp_path / "a.npz", {"z"}).columns
    assert {name: column.tolist() for name, column in found.items()} == {"z.re": [1, 3], "z.im": [2, -4]}


def test_arrays_of_columns_in_fortran_order(tmp_path: Path) -> None:
    array = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    np.savez(tmp_path / "a.npz", x=array)
    field = TypedField("x", ArrayType(Kind.REAL, (FixedAxis(3),)), None, None)
    found = read_fields(SourceContext(fields={"x": field}), tmp_path / "a.npz", {"x"}).columns["x"]
    assert torch.equal(found, torch.arange(6, dtype=torch.float64).reshape(2, 3))


def _claiming(shape: str) -> bytes:
    """An archive whose array claims this shape and holds a few bytes."""
    head = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".ljust(117).encode() + b"\n"
    member = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + b"\0" * 32
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", member)
    return content.getvalue()


@pytest.mark.parametrize(
    ("array", "cause"),
    [
        (np.array(3.0), "it is one value and has no rows"),
        (np.array([("a", 1)], [("s", "U1"), ("i", "i4")]), "it holds records of s, i"),
        (np.array(["2020-01-01", "2021-01-01"], "M8[ns]"), "it holds dates or durations"),
        (np.array([1, 2], "m8[ns]"), "it holds dates or durations"),
        (np.array([b"1", b"2"], "V1"), "it holds plain bytes"),
        ("(1000000000000,)", "its head claims 8,000,000,000,000 bytes"),
        ("(4294967296, 4294967296)", "its head claims"),
        ("(5,)", "its head claims 40 bytes"),
    ],
)
def test_an_array_that_is_refused(tmp_path: Path, array: Any, cause: str) -> None:
    path = tmp_path / "a.npz"
    if isinstance(array, str):
        path.write_bytes(_claiming(array))
    else:
        np.savez(path, x=array)
    code, told = reason(path, "x")
    assert code == "PD533"
    assert cause in told


def test_objects_are_never_unpickled(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.array([1, "a", None], dtype=object), n=np.arange(3))
    assert "Python objects" in reason(tmp_path / "a.npz", "x")[1]
    assert read(tmp_path / "a.npz", "n") == {"n": [0, 1, 2]}  # what no field reads may be anything


def _ids(path: Path) -> list[int]:
    found: list[int] = read(path, "k")["k"]
    return found


def test_ids_are_one_number_in_every_kind_of_file(tmp_path: Path) -> None:
    """Neighbours above 2^53 stay apart, and an id is the same whatever holds it."""
    import pyarrow
    from pyarrow import parquet
    from safetensors.numpy import save_file

    ids = [2**53, 2**53 + 1, 1542657904481796101, 1542657904481796102, -(2**63), 2**63 - 1, 7]
    (tmp_path / "a.csv").write_text("k\n" + "".join(f"{value}\n" for value in ids))
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"k": value}) + "\n" for value in ids))
    (tmp_path / "b.jsonl").write_text("".join(json.dumps({"k": str(value)}) + "\n" for value in ids))
    np.savez(tmp_path / "a.npz", k=np.array(ids))
    save_file({"k": np.array(ids)}, tmp_path / "a.safetensors")
    parquet.write_table(pyarrow.table({"k": ids}), tmp_path / "a.parquet")
    for name in ("a.csv", "a.jsonl", "b.jsonl", "a.npz", "a.safetensors", "a.parquet"):
        assert _ids(tmp_path / name) == ids, name


def test_ids_that_are_written_otherwise_are_others(tmp_path: Path) -> None:
    written = [
        "01234",
        "1234",
        "+1234",
        "1234.0",
        "1.10",
        "1.1",
        "1e3",
        "1000",
        "A",
        "a",
        "a ",
        "1542657904481796101e",
        str(2**63),
        str(2**64),
    ]
    (tmp_path / "a.csv").write_text("k\n" + "".join(f"{value}\n" for value in written))
    found = _ids(tmp_path / "a.csv")
    assert len(set(found)) == len(written)
    np.savez(tmp_path / "a.npz", k=np.array(written))
    assert _ids(tmp_path / "a.npz") == found
    np.savez(tmp_path / "a.npz", k=np.array([1234, 2**63], np.uint64))
    assert _ids(tmp_path / "a.npz") == [1234, found[written.index(str(2**63))]]


def test_numbers_that_are_no_letters_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", t=np.array([65, 2**31], np.uint32).view("<U1"))
    code, told = reason(tmp_path / "a.npz", "t")
    assert (code, "no letters" in told) == ("PD533", True)


@pytest.mark.parametrize("head", ["(((", "{'descr': '<f8', 'fortran_order': False, 'shape': (2L,)", "-" * 5000 + "1"])
def test_a_head_that_is_no_head_is_refused(tmp_path: Path, head: str) -> None:
    content = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head) + 1) + head.encode() + b"\n" + b"\0" * 16
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("x.npy", content)
    assert reason(tmp_path / "a.npz", "x")[0] == "PD533"


def test_an_array_that_python_2_wrote_is_read(tmp_path: Path) -> None:
    head = b"{'descr': '<f8', 'fortran_order': False, 'shape': (2L,), }\n"
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr(
            "x.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + struct.pack("<2d", 1.5, 2.0)
        )
    assert read(tmp_path / "a.npz", "x")["x"] == [1.5, 2.0]


def test_arrays_where_texts_are_wanted_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", t=np.array([["a", "b"], ["c", "d"]]))
    assert reason(tmp_path / "a.npz", "t") == ("PD535", "rows 0, 1")


@pytest.mark.parametrize("kind", [Kind.REAL, MemberOf("level")])
def test_half_a_letter_where_no_text_is_wanted_is_refused(tmp_path: Path, kind: Any) -> None:
    (tmp_path / "a.jsonl").write_bytes(b'{"c": "\\ud800"}\n{"c": "\\ud800"}\n')
    field = TypedField("c", ArrayType(kind), None, None)
    with pytest.raises(Refusal) as refused:
        read_fields(SourceContext(fields={"c": field}, sets={"level": ("low", "high")}), tmp_path / "a.jsonl", {"c"})
    assert refused.value.diagnostics[0].code == "PD535"


@pytest.mark.parametrize(
    ("kind", "shape"), [("|S0", "(1000000000,)"), ("<U0", "(1000000000,)"), ("<f8", "(1000000000, 0)")]
)
@pytest.mark.parametrize("field", "xktnb")
def test_rows_without_a_byte_are_refused_at_once(tmp_path: Path, kind: str, shape: str, field: str) -> None:
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr(f"{field}.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head)
    assert reason(tmp_path / "a.npz", field)[0] == "PD533"


def test_tensors_without_a_byte_are_refused_at_once(tmp_path: Path) -> None:
    head = b'{"x":{"dtype":"F64","shape":[1000000000,0],"data_offsets":[0,0]}}'
    (tmp_path / "a.safetensors").write_bytes(struct.pack("<Q", len(head)) + head)
    assert reason(tmp_path / "a.safetensors", "x") == ("PD533", "the rows of its tensor `x` hold nothing")


def test_rows_that_a_parquet_file_only_claims_are_not_made(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({"x": np.ones(1000)}), tmp_path / "a.parquet")
    assert read(tmp_path / "a.parquet", "x")["x"] == [1.0] * 1000
    _check_claim(10**6, 2_000)
    with pytest.raises(ValueError, match="its head claims 1,000,000,000,000 rows, and 2,000 bytes are there"):
        _check_claim(10**12, 2_000)


@pytest.mark.parametrize(
    ("kind", "most"),
    [(np.float16, 2**11 - 1), (np.float32, 2**24 - 1), (np.float64, 2**53 - 1), (np.longdouble, 2**53 - 1)],
)
@pytest.mark.parametrize("field", ["k", "n"])
def test_a_whole_number_is_exact_in_every_type_or_refused(tmp_path: Path, kind: Any, most: int, field: str) -> None:
    """One more than the last that a type holds is what it makes of its neighbour, too."""
    import pyarrow
    from pyarrow import parquet

    def written(values: Any) -> list[Path]:
        np.savez(tmp_path / "a.npz", **{field: values})
        if kind is np.longdouble:
            return [tmp_path / "a.npz"]
        parquet.write_table(pyarrow.table({field: values}), tmp_path / "a.parquet")
        return [tmp_path / "a.npz", tmp_path / "a.parquet"]

    for path in written(np.array([3, -most, most], kind)):
        assert read(path, field)[field] == [3, -most, most]
    for path in written(np.array([3, most, most + 1], kind)):
        assert reason(path, field) == ("PD535", "row 2")


@pytest.mark.parametrize("field", ["k", "n"])
def test_a_whole_number_of_bfloat16_is_exact_or_refused(tmp_path: Path, field: str) -> None:
    import torch
    from safetensors.torch import save_file

    path = tmp_path / "a.safetensors"
    for values, found in (([3, -255, 255], [3, -255, 255]), ([3, 255, 256], None)):
        save_file({field: torch.tensor(values, dtype=torch.bfloat16)}, path)
        if found is None:
            assert reason(path, field) == ("PD535", "row 2")
        else:
            assert read(path, field)[field] == found
    save_file({"x": torch.tensor([0.5, 3, 300], dtype=torch.bfloat16)}, path)
    assert read(path, "x")["x"] == [0.5, 3, 300]


def test_numbers_of_a_parquet_file(tmp_path: Path) -> None:
    """Decimal numbers are exact; bytes, dates and gaps are no numbers."""
    import pyarrow
    from pyarrow import parquet

    def of(**columns: Any) -> Path:
        parquet.write_table(pyarrow.table(columns), tmp_path / "a.parquet")
        return tmp_path / "a.parquet"

    exact = pyarrow.array([Decimal(2**53 + 1), Decimal(2**63 - 1)], pyarrow.decimal128(38, 0))
    assert read(of(k=exact, n=exact), "kn") == {"k": [2**53 + 1, 2**63 - 1], "n": [2**53 + 1, 2**63 - 1]}
    assert read(of(x=pyarrow.array([Decimal("1.50")])), "x") == {"x": [1.5]}
    assert read(of(t=pyarrow.array(["a", "b"]).dictionary_encode(), odd=pyarrow.array([{"a": 1}, None])), "t") == {
        "t": ["a", "b"]
    }
    for odd in (
        pyarrow.array([1.0, None]),
        pyarrow.array([b"1_5", b"2"]),
        pyarrow.array([1, 2], pyarrow.timestamp("us")),
        pyarrow.array([[1.0], [1.0, 2.0]]),
    ):
        assert reason(of(x=odd), "x")[0] == "PD535"
    assert reason(of(k=pyarrow.array([Decimal("1.5")])), "k") == ("PD535", "row 0")
    assert reason(of(k=pyarrow.array([7, None])), "k") == ("PD535", "row 1")


def test_a_parquet_file_that_claims_more_rows_than_memory_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pyarrow
    from pyarrow import parquet

    from pdual.runtime.system import memory

    parquet.write_table(pyarrow.table({"x": [0.0] * 1000}), tmp_path / "a.parquet")
    monkeypatch.setattr(memory, "available", lambda: 1000)
    assert reason(tmp_path / "a.parquet", "x")[0] == "PD662"
