"""Files of rows and of grids by number: a good one of its kind after some changes of its bytes, cells, heads and words.

A number gives the same bytes everywhere. ``KINDS`` are the kinds, each called by the end of its files' names.
"""

from __future__ import annotations

import io
import json
import math
import operator
import random
import re
import struct
import zipfile
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parent.parent.parent

#: What a number or a word may be replaced by.
VALUES: Sequence[bytes] = (
    b"", b" ", b"0", b"-0", b"1", b"-1", b"1e400", b"1e308", b"-1e-320", b"inf", b"-Inf", b"nan", b"NaN", b"1_0", b"0x10", b"1,5",
    b"9007199254740993", b"18446744073709551616", b"-9223372036854775809", b"9" * 30, b"9" * 500, b"9" * 5000, b"1e99999999999",
    b"1.", b".5", b".", b"1e", b"+1", b"--1", b"1/0", b"007", b"true", b"No", b"null", b"None", b'"', b'""', b"a", b"b", b"c", b"low",
    b"[]", b"{}", b"[1, 2]", b"[[1], [2]]", b'{"re": 1}', b"\"\\ud800\"", b"\\", b"\x00", b"\xff\xfe", b"\xc3\xa9", b"\xe9", b"\xf0\x9f\x98\x80",
    b"\xef\xbb\xbf", b"\x1b[31m", b"\xe2\x80\xae", b"\xd9\xa3", b"</s>", b"[" * 1200, b"{\"a\":" * 1200, b"(" * 1200, b"\xed\xa0\x80",
)  # fmt: skip
#: What is inserted anywhere.
PIECES: Sequence[bytes] = (
    b"\n", b"\r", b"\r\n", b"\n\n", b",", b";", b"\t", b"|", b"#", b"%", b"'", b'"', b"=", b"(", b")", b"[", b"]", b"{", b"}", b":", b".",
    b"...", b"\x0b", b"\x0c", b"\x1c", b"\xc2\x85", b"\xe2\x80\xa8", b"\x00", b"\xef\xbb\xbf", b"\xff", b" ", b"-", b"e", b"1", b"x", b"x.0,x.1",
)  # fmt: skip
#: Statements and operands of a case file.
STATEMENTS: Sequence[bytes] = (
    b"mpc.bus = mpc.bus * 2;", b"mpc.bus(:, 3) = 0;", b"mpc.gen(end, 9) = Inf;", b"mpc.bus(2, :) = [];", b"mpc.branch = mpc.branch';",
    b"mpc.bus = [mpc.bus; mpc.bus];", b"mpc.gencost = [1 0 0 2 0 0 10 100; 1 0 0 2 0 0 1 1];", b"mpc.dcline = [1 2 1];", b"mpc.A = 1;",
    b"mpc.bus = zeros(10000, 1000);", b"mpc.bus = ones(100000, 100);", b"a = 0:1000000; b = a + a';", b"a = 1:0:5;", b"a = 1e300^9;",
    b"mpc.baseMVA = 1/0;", b"mpc.baseMVA = 0;", b"mpc.baseMVA = 'a';", b"mpc.baseMVA = {};", b"mpc.baseMVA = [];", b"mpc.bus = {};",
    b"mpc.bus = {1, 'a'; 2, 'b'};", b"mpc = struct('bus', 1, 'gen');", b"mpc = loadcase('a');", b"%{", b"%}", b"if 1", b"end", b"for i = 1:3",
    b"function a = b", b"mpc.version = '1';", b"mpc.version = 2;", b"define_constants;", b"[PQ, PV] = idx_bus;", b"a = b;", b"mpc.bus(0, 1) = 1;",
    b"mpc.bus(1e400, 1) = 1;", b"mpc.bus(nan, 1) = 1;", b"mpc.bus(1.5, 1) = 1;", b"a = sqrt(-1);", b"a = 0^-1;", b"a = (-8)^(1/3);", b"clear;",
    b"a = " + b"(" * 3000 + b"1" + b")" * 3000 + b";", b"a = " + b"-" * 3000 + b"1;", b"a = 1" + b" + 1" * 3000 + b";", b"a = [" + b"[" * 3000,
    b"a = " + b"{" * 300 + b"}" * 300 + b";", b"a = 1" + b"'" * 3000 + b";", b"a = [1 2; 3];", b"a = [];", b"a = [1 2](1);", b"end end",
    b"mpc.bus" + b".a" * 500 + b" = 1;", b"mpc.gencost(:, 4) = 1e9;", b"mpc.gencost(:, 4) = -1;", b"mpc.gen(:, 1) = 1e30;", b"x = 'a''b';",
    b"mpc.bus_name = {'a'; 'b'};", b"mpc.bus(1, 1) = 1e16;", b"mpc.branch(:, 3:4) = 0;", b"mpc.gencost = [];", b"mpc.branch = [];",
)  # fmt: skip
#: Entries of an array's head.
HEADS: Sequence[str] = (
    "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }", "{'descr': '<f8', 'fortran_order': True, 'shape': (0, 5), }",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000, 0), }",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }", "{'descr': '<f8', 'fortran_order': False, 'shape': (2, -2), }",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296, 4294967296), }", "{}", "[]", "", "(" * 500,
    "{'descr': '<f8', 'fortran_order': False, 'shape': (0, 4294967296, 4294967296, 4294967296), }", "{'descr': '|V8'}", "-" * 5000 + "1",
    "{'descr': '|O', 'fortran_order': False, 'shape': (3,), }", "{'descr': '<U0', 'fortran_order': False, 'shape': (6,), }",
    "{'descr': '|V0', 'fortran_order': False, 'shape': (1000000000,), }", "{'descr': '|S0', 'fortran_order': False, 'shape': (1000000000,), }",
    "{'descr': '<M8[ns]', 'fortran_order': False, 'shape': (6,), }", "{'descr': '<m8', 'fortran_order': False, 'shape': (6,), }",
    "{'descr': '<f16', 'fortran_order': False, 'shape': (3,), }", "{'descr': '<c32', 'fortran_order': False, 'shape': (1,), }",
    "{'descr': '<f2', 'fortran_order': False, 'shape': (24,), }", "{'descr': '|S8', 'fortran_order': False, 'shape': (6,), }",
    "{'descr': '<U2', 'fortran_order': False, 'shape': (6,), }", "{'descr': '|b1', 'fortran_order': False, 'shape': (6,), }",
    "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (6,), }", "{'descr': ('<f8', (2,)), 'fortran_order': False, 'shape': (3,), }",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (6,), 'a': 1}", "{'descr': '<f8', 'fortran_order': 1, 'shape': 6}",
    "{'descr': 5, 'fortran_order': False, 'shape': (6,), }", "{'descr': '<q9', 'fortran_order': False, 'shape': (6,), }",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (True,), }", "{'descr': '<f8', 'fortran_order': False, 'shape': (6L,), }",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (" + "1, " * 70 + "), }", "{'descr': '<u8', 'fortran_order': False, 'shape': (6,), }",
)  # fmt: skip

Change = Callable[[bytes, random.Random], bytes]
_WORD = re.compile(rb"[+-]?[\w.]+|\"[^\"\n]*\"")
_ROWS = 6


def mutated(kind: str, number: int) -> bytes:
    """The bytes of a changed file of a kind."""
    draw = random.Random(f"{kind} {number}")
    good, changes = KINDS[kind]
    data = draw.choice(good())
    for _ in range(draw.choice((1, 1, 2, 3, 8))):
        data = draw.choice(changes)(data, draw)
    return data


# Files that are good


def _columns() -> dict[str, Sequence[Any]]:
    draw = random.Random(0)
    return {
        "x": [draw.uniform(0, 1) for _ in range(_ROWS)],
        "n": [0, 1, -2, 2**53 + 1, 7, 2**63 - 1],
        "k": ["17", "0017", "a b", "é", "-5", "9" * 25],
        "t": ["", " a ", 'say "b"', "two\nlines", "é", "1,5"],
        "b": [True, False, True, True, False, False],
        "c": ["low", "high", "low", "mid", "mid", "high"],
        "v": [[draw.uniform(-9, 9) for _ in range(3)] for _ in range(_ROWS)],
        "m": [[[1.0, 2.0], [3.0, 4.0]] for _ in range(_ROWS)],
    }


def _flattened() -> dict[str, Sequence[Any]]:
    """Arrays as a column for each entry."""
    found: dict[str, Sequence[Any]] = {}
    for name, values in _columns().items():
        if isinstance(values[0], list):
            rows = np.array(values).reshape(_ROWS, -1).tolist()
            found |= {f"{name}.{place}": [row[place] for row in rows] for place in range(len(rows[0]))}
        else:
            found[name] = values
    return found | {"z.re": [1.5] * _ROWS, "z.im": [-2.5] * _ROWS}


def _separated(separator: str) -> bytes:
    def cell(value: Any) -> str:
        text = str(value)
        return '"' + text.replace('"', '""') + '"' if any(sign in text for sign in f'"\n{separator}') else text

    columns = _flattened()
    lines = [separator.join(columns), *(separator.join(map(cell, row)) for row in zip(*columns.values(), strict=True))]
    return ("\n".join(lines) + "\n").encode()


@cache
def _csv() -> Sequence[bytes]:
    whole = _separated(",")
    return whole, b"# made by a tool\n" + whole, whole.replace(b"\n", b"\r\n"), b"x,t\n1,a\n0.5,b\n", b"t\na;b\n"


@cache
def _tsv() -> Sequence[bytes]:
    return _separated("\t"), b"x\tn\n1\t2\n"


@cache
def _jsonl() -> Sequence[bytes]:
    columns = _columns() | {"z.re": [1.5] * _ROWS, "z.im": [-2.5] * _ROWS}
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    whole = "".join(json.dumps(row) + "\n" for row in rows)
    return whole.encode(), b'{"x": 1, "t": "a"}\n\n{"t": "b", "x": 0.5, "y": null}\n'


def _arrays() -> dict[str, np.ndarray[Any, Any]]:
    found = {name: np.array(values) for name, values in _columns().items()}
    return found | {"z": np.array([1 + 2j] * _ROWS), "other": np.array(3.0)}


@cache
def _npz() -> Sequence[bytes]:
    found = []
    for save in (np.savez, np.savez_compressed):
        file = io.BytesIO()
        save(file, **_arrays())  # type: ignore[arg-type]
        found.append(file.getvalue())
    return found


@cache
def _parquet() -> Sequence[bytes]:
    import pyarrow
    from pyarrow import parquet

    found = []
    for options in (
        {"compression": "none", "use_dictionary": False},
        {"compression": "snappy"},
        {"compression": "zstd"},
    ):
        columns = _columns() | {"z.re": [1.5] * _ROWS, "z.im": [-2.5] * _ROWS}
        file = io.BytesIO()
        parquet.write_table(pyarrow.table(columns), file, **options)
        found.append(file.getvalue())
    odd = {
        "x": pyarrow.array([1, None, 3], pyarrow.decimal128(5, 2)),
        "n": pyarrow.array([1, 2, 3], pyarrow.timestamp("ns")),
        "k": pyarrow.array([b"a", b"\xff", None]),
        "t": pyarrow.array(["a", None, "b"]).dictionary_encode(),
        "b": pyarrow.array([None, None, None], pyarrow.bool_()),
        "c": pyarrow.array([1, 2, 3], pyarrow.duration("s")),
        "v": pyarrow.array([[1.0], None, []]),
        "m": pyarrow.array([{"a": 1}, None, {"a": 2}]),
    }
    file = io.BytesIO()
    parquet.write_table(pyarrow.table(odd), file)
    return [*found, file.getvalue()]


@cache
def _safetensors() -> Sequence[bytes]:
    import torch
    from safetensors.torch import save

    numbers = {
        name: torch.from_numpy(array) for name, array in _arrays().items() if array.dtype.kind in "fib" and array.ndim
    }
    return save(numbers), save({"x": torch.ones(3, dtype=torch.bfloat16), "n": torch.ones(3, dtype=torch.uint8)})


@cache
def _grid() -> Sequence[bytes]:
    return ((ROOT / "tests/packs/power/cases/six.m").read_bytes(),)


# Changes


def _flip(data: bytes, draw: random.Random) -> bytes:
    place = draw.randrange(len(data) or 1)
    return data[:place] + bytes([draw.randrange(256)]) + data[place + 1 :]


def _bit(data: bytes, draw: random.Random) -> bytes:
    place = draw.randrange(len(data) or 1)
    return data[:place] + bytes(byte ^ (1 << draw.randrange(8)) for byte in data[place : place + 1]) + data[place + 1 :]


def _cut(data: bytes, draw: random.Random) -> bytes:
    return data[: draw.randrange(len(data) or 1)]


def _drop(data: bytes, draw: random.Random) -> bytes:
    place = draw.randrange(len(data) or 1)
    return data[:place] + data[place + draw.choice((1, 2, 5, 40)) :]


def _double(data: bytes, draw: random.Random) -> bytes:
    place, length = draw.randrange(len(data) or 1), draw.choice((1, 2, 5, 40, 400))
    return data[:place] + data[place : place + length] * 2 + data[place + length :]


def _insert(data: bytes, draw: random.Random) -> bytes:
    place = draw.randrange(len(data) + 1)
    return data[:place] + draw.choice(PIECES) + data[place:]


def _four(data: bytes, draw: random.Random) -> bytes:
    """A length, an offset or a count is another one."""
    size = draw.choice((1, 2, 4, 8))
    place = draw.randrange(len(data) or 1)
    value = draw.choice((0, 1, 2**7, 2**15, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1)) % 256**size
    return data[:place] + value.to_bytes(size, draw.choice(("little", "big"))) + data[place + size :]


def _word(data: bytes, draw: random.Random) -> bytes:
    found = list(_WORD.finditer(data))
    if not found:
        return draw.choice(VALUES)
    word = draw.choice(found)
    other = draw.choice(found).group() if draw.random() < 0.2 else draw.choice(VALUES)
    return data[: word.start()] + other + data[word.end() :]


def _line(data: bytes, draw: random.Random) -> bytes:
    """Lines change places, go, or stand twice."""
    lines = data.split(b"\n")
    first, second = draw.randrange(len(lines)), draw.randrange(len(lines))
    way = draw.randrange(4)
    if way == 0:
        lines[first], lines[second] = lines[second], lines[first]
    elif way == 1:
        del lines[first]
    elif way == 2:
        lines.insert(second, lines[first])
    else:
        lines[first : first + 2] = [b"".join(lines[first : first + 2])]
    return b"\n".join(lines)


def _recoded(data: bytes, draw: random.Random) -> bytes:
    if draw.random() < 0.5:
        return data.replace(b"\n", draw.choice((b"\r", b"\r\n", b"\n\n", b"\x0b", b"\xe2\x80\xa8", b"")))
    text = data.decode("utf-8", "replace")
    return text.encode(draw.choice(("utf-16", "utf-16-le", "utf-16-be", "utf-8-sig", "utf-32", "latin-1")), "replace")


def _json_value(data: bytes, draw: random.Random) -> bytes:
    """What stands between two separators of JSON."""
    breaks = [place for place, byte in enumerate(data[:20_000]) if byte in b":,[]{}\n"]
    if len(breaks) < 2:
        return draw.choice(VALUES)
    at = draw.randrange(len(breaks) - 1)
    return data[: breaks[at] + 1] + draw.choice(VALUES) + data[breaks[at + 1] :]


def _statement(data: bytes, draw: random.Random) -> bytes:
    lines = data.split(b"\n")
    lines.insert(draw.randrange(len(lines) + 1), draw.choice(STATEMENTS))
    return b"\n".join(lines)


@cache
def _column_kinds() -> Sequence[tuple[Any, Sequence[Any]]]:
    """Types of columns, each with values that it can hold."""
    import pyarrow as pa

    kinds = (
        *(
            pa.int8(),
            pa.uint64(),
            pa.float16(),
            pa.float32(),
            pa.float64(),
            pa.bool_(),
            pa.string(),
            pa.large_string(),
            pa.binary(),
            pa.binary(2),
        ),
        *(
            pa.date32(),
            pa.date64(),
            pa.time64("ns"),
            pa.null(),
            pa.timestamp("ns"),
            pa.timestamp("s", "Europe/Berlin"),
            pa.duration("ns"),
        ),
        *(
            pa.decimal128(38, 3),
            pa.decimal256(70, 0),
            pa.list_(pa.float64()),
            pa.list_(pa.float32(), 3),
            pa.list_(pa.list_(pa.int8())),
        ),
        *(pa.struct([("re", pa.float64())]), pa.map_(pa.string(), pa.int8()), pa.dictionary(pa.int8(), pa.string())),
    )
    values = (
        *(
            None,
            0,
            1,
            -1,
            2**62,
            2**63,
            0.5,
            1e300,
            float("nan"),
            True,
            "a",
            "",
            "1",
            b"ab",
            b"\xff\xfe",
            {"re": 1.0},
            [("a", 1)],
        ),
        *([], [1.0, 2.0, 3.0], [None, 1, 2], [[1, 2], [3]]),
    )
    found = []
    for kind in kinds:
        fitting = []
        for value in values:
            try:
                pa.array([value, None], kind)
            except (pa.ArrowException, TypeError, ValueError, OverflowError):
                continue
            fitting.append(value)
        found.append((kind, fitting))
    return found


def _typed(data: bytes, draw: random.Random) -> bytes:
    """A table whose columns have types of any kind, among them those that no field is read from."""
    import pyarrow
    from pyarrow import parquet

    file = io.BytesIO()
    try:
        columns = {}
        for name in draw.sample(("x", "n", "k", "t", "b", "c", "v", "m", "z.re", "v.0", "v.1"), 6):
            kind, values = draw.choice(_column_kinds())
            columns[name] = pyarrow.array(draw.choices(values, k=4), kind)
        parquet.write_table(pyarrow.table(columns), file)
    except pyarrow.ArrowException:  # not everything can be written
        return _flip(data, draw)
    return file.getvalue()


def _members(data: bytes, draw: random.Random) -> bytes:
    """One array of an archive is changed, and the archive is written again: else its check sums alone would answer."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
    except Exception:  # an earlier change took it apart
        return _flip(data, draw)
    if not members:
        return data
    name = draw.choice(list(members))
    member = members[name]
    if draw.random() < 0.5:
        head = draw.choice(HEADS).encode() if draw.random() < 0.8 else _word(member[10:128], draw)
        member = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head) + 1) + head + b"\n" + member[128:]
    else:
        member = draw.choice((_flip, _bit, _cut, _drop, _double, _four))(member, draw)
    members[name] = member
    if draw.random() < 0.1:
        members[draw.choice(("x.npy", "x", "x.re.npy", "z.npy", "../x.npy", "\n.npy", ".npy", "é.npy"))] = member
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", draw.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive:
        for name, member in members.items():
            archive.writestr(name, member)
    return file.getvalue()


#: What a value of JSON may be replaced by, so that it stays JSON.
ODD: Sequence[Any] = (
    None, True, 0, -1, 1.5, 1e308, 2**53 + 1, 2**64, 10**400, float("inf"), float("nan"), "", " ", "a", "1", "1_0", "inf", "\ud800", "\0", "\x1b[31m",
    "é", "007", "x" * 100, [], [[]], [1], [1, 2, 3], [[1, 2], [3, 4]], ["a", None, 1], [[1], [2, 3]], {}, {"re": 1, "im": 2}, {"a": [1]}, [{}],
)  # fmt: skip
#: Types, shapes and places of a tensor.
_TYPES = (
    "F64",
    "F32",
    "F16",
    "BF16",
    "I64",
    "I32",
    "I8",
    "U8",
    "U16",
    "U64",
    "BOOL",
    "F8_E5M2",
    "F8_E4M3",
    "F4",
    "C64",
    "X",
    "",
)
_SHAPES = (
    [],
    [0],
    [6],
    [3, 2],
    [1, 6],
    [6, 1],
    [2**32, 2**32],
    [-1],
    [1.5],
    [6, 0, 2**62],
    [2**64],
    [3] * 40,
    None,
    "6",
)


def _row(data: bytes, draw: random.Random) -> bytes:
    """One value of one object of JSON, or one of its names."""
    lines = data.split(b"\n")
    place = draw.randrange(len(lines))
    try:
        row = json.loads(lines[place])
        name = draw.choice(list(row.keys()))
    except (ValueError, AttributeError, IndexError, RecursionError):  # an earlier change took it apart
        return _json_value(data, draw)
    if draw.random() < 0.2:
        row[draw.choice(("X", "x ", "v.0", "x.re", "", "z"))] = row.pop(name)
    elif isinstance(row[name], list) and row[name] and draw.random() < 0.5:
        row[name][draw.randrange(len(row[name]))] = draw.choice(ODD)
    else:
        row[name] = draw.choice(ODD)
    try:
        lines[place] = json.dumps(row).encode()
    except ValueError:
        return _json_value(data, draw)
    return b"\n".join(lines)


def _tensor(data: bytes, draw: random.Random) -> bytes:
    """One tensor's type, shape or place, in a head that stays a head."""
    length = int.from_bytes(data[:8], "little")
    try:
        head = json.loads(data[8 : 8 + length])
        name = draw.choice(list(head))
        what = draw.choice(list(head[name]))
        head[name][what] = draw.choice(
            {"dtype": _TYPES, "shape": _SHAPES, "data_offsets": ([0, 48], [0, 0], [48, 0], [0, 2**63])}[what]
        )
        pairs = {"dtype": "F64", "shape": [6]} | head[name]
        size = {"F64": 8, "I64": 8, "U64": 8, "C64": 8, "F32": 4, "I32": 4, "F16": 2, "BF16": 2, "U16": 2}
        long = size.get(pairs["dtype"], 1) * math.prod(map(operator.index, pairs["shape"]))
    except (ValueError, TypeError, KeyError, IndexError, RecursionError, AttributeError):
        return _head(data, draw)
    if draw.random() < 0.6 and 0 < long < 5_000:  # what the type and the shape say is what is there
        found = {name: pairs | {"data_offsets": [n * long, (n + 1) * long]} for n, name in enumerate("xnkbvm")}
        return _tensors(found, draw.choice((draw.randbytes(6 * long), bytes(6 * long), b"\x01" * 6 * long)))
    return _tensors(head, data[8 + length :])


def _tensors(head: Mapping[str, Any], content: bytes) -> bytes:
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + content


def _head(data: bytes, draw: random.Random) -> bytes:
    """The JSON at the start of tensors, with its length put right."""
    if len(data) < 8:
        return data
    length = int.from_bytes(data[:8], "little")
    head, rest = data[8 : 8 + length], data[8 + length :]
    head = draw.choice((_word, _json_value, _json_value, _flip, _insert, _drop))(head, draw)
    head += b" " * (-len(head) % 8)
    return len(head).to_bytes(8, "little") + head + rest


_BYTES: tuple[Change, ...] = (_flip, _bit, _cut, _drop, _double, _insert, _four, _four)
_TEXT: tuple[Change, ...] = (
    _word,
    _word,
    _word,
    _word,
    _flip,
    _cut,
    _drop,
    _double,
    _insert,
    _insert,
    _line,
    _line,
    _recoded,
)

KINDS: Mapping[str, tuple[Callable[[], Sequence[bytes]], tuple[Change, ...]]] = {
    "csv": (_csv, _TEXT),
    "tsv": (_tsv, _TEXT),
    "jsonl": (_jsonl, (*_TEXT, _json_value, *(_row,) * 14)),
    "npz": (_npz, (*_BYTES, *(_members,) * 12)),
    "parquet": (_parquet, (*_BYTES, *(_typed,) * 4)),
    "safetensors": (_safetensors, (*_BYTES, *(_head,) * 3, *(_tensor,) * 14)),
    "m": (_grid, (*_TEXT, _statement, _statement, _statement)),
}
