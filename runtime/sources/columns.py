"""Columns of a file of rows, as lists or arrays: csv, jsonl, npz, parquet, safetensors. Nothing in a file is executed."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from pdual.dsl.diagnostics import refuse
from pdual.dsl.near import nearest
from pdual.dsl.spans import Span

Columns: TypeAlias = Mapping[str, Sequence[Any]]


def read_columns(path: Path, span: Span) -> Columns:
    """The columns of a file by name. Raises PD531 (no file), PD532 (its type), PD533 (it cannot be read)."""
    if not path.is_file():
        beside = [item.name for item in path.parent.glob("*")] if path.parent.is_dir() else []
        raise refuse("PD531", span, file=path, near=nearest(path.name, beside))
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise refuse("PD532", span, file=path, types=", ".join(sorted(_READERS)))
    try:
        return reader(path)
    except (OSError, ValueError, KeyError, TypeError, csv.Error, UnicodeDecodeError) as error:
        raise refuse("PD533", span, file=path, reason=str(error).splitlines()[0] if str(error) else error) from None


def _csv(path: Path) -> Columns:
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file)
        header = next(reader, None)
        if header is None:
            raise ValueError("it is empty")
        rows = [row for row in reader if row]
    for number, row in enumerate(rows, 2):
        if len(row) != len(header):
            raise ValueError(f"line {number} has {len(row)} values, the header has {len(header)}")
    names = [name.strip() for name in header]
    doubled = next((name for name in names if names.count(name) > 1), None)
    if doubled is not None:
        raise ValueError(f"its header names `{doubled}` twice")
    return {name: [row[place].strip() for row in rows] for place, name in enumerate(names)}


def _jsonl(path: Path) -> Columns:
    with path.open(encoding="utf-8") as file:
        rows = [json.loads(line) for line in file if line.strip()]
    if not rows or not all(isinstance(row, dict) for row in rows):
        raise ValueError("every line should be a JSON object, and there should be one")
    return {name: [row.get(name) for row in rows] for name in rows[0]}


def _npz(path: Path) -> Columns:
    with np.load(path, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


def _parquet(path: Path) -> Columns:
    from pyarrow import ArrowException, parquet

    try:
        table = parquet.read_table(path)
    except ArrowException as error:
        raise ValueError(str(error)) from None
    return {name: table.column(name).to_pylist() for name in table.column_names}


def _safetensors(path: Path) -> Columns:
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        return {name: array.tolist() for name, array in load_file(path).items()}
    except SafetensorError as error:
        raise ValueError(str(error)) from None


_READERS: Mapping[str, Callable[[Path], Columns]] = {
    ".csv": _csv,
    ".jsonl": _jsonl,
    ".npz": _npz,
    ".parquet": _parquet,
    ".safetensors": _safetensors,
}
