"""Columns of a file of rows, as lists or arrays: csv, tsv, jsonl, npz, parquet, safetensors. Nothing in a file is executed."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from pdual.dsl.diagnostics import Refusal, refuse
from pdual.dsl.near import nearest
from pdual.dsl.spans import Span
from pdual.runtime.sources.array_files import DAMAGED, DENSEST, HEAD, Arrays
from pdual.runtime.sources.scalars import Coarse
from pdual.runtime.sources.text_files import json_lines, separated
from pdual.runtime.system.memory import check_room

Columns: TypeAlias = Mapping[str, Sequence[Any]]

#: Bytes of a value of a list.
_OBJECT = 40


class Lazy(Mapping[str, Any]):
    """Columns that are made when they are asked for: one that no field reads may be anything."""

    def __init__(self, makers: Mapping[str, Callable[[], Any]]) -> None:
        self._makers = makers

    def __getitem__(self, name: str) -> Any:
        return self._makers[name]()

    def __contains__(self, name: object) -> bool:
        return name in self._makers

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


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
    except DAMAGED as error:
        raise unreadable(path, span, error) from None


def unreadable(path: Path, span: Span, error: Exception) -> Refusal:
    """The refusal (PD533) of a file for what its reader said."""
    said = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    return refuse("PD533", span, file=path, reason=said.splitlines()[0] if said else type(error).__name__)


def _parquet(path: Path) -> Columns:
    from pyarrow import ArrowException, parquet

    try:
        with parquet.ParquetFile(path) as file:
            _check_claim(file.metadata.num_rows, path.stat().st_size)
        names = parquet.read_schema(path).names
    except ArrowException as error:
        raise ValueError(str(error)) from None
    doubled = next((name for name in names if names.count(name) > 1), None)
    if doubled is not None:
        raise ValueError(f"it has two columns `{doubled}`")
    return Lazy({name: functools.partial(_column, path, name) for name in names})


def _check_claim(rows: int, size: int) -> None:
    """Raises ValueError where a few bytes are said to hold very many rows: one value repeated takes no room in this format."""
    if rows > size * DENSEST + HEAD:
        raise ValueError(f"its head claims {rows:,} rows, and {size:,} bytes are there")


def _column(path: Path, name: str) -> Sequence[Any]:
    """One column; of numbers without a gap as an array, which keeps their type."""
    from pyarrow import ArrowException, parquet, types

    try:
        with parquet.ParquetFile(path) as file:
            # Of the head no more than this: pyarrow ends the process where the statistics of a column are damaged.
            _check_claim(file.metadata.num_rows, path.stat().st_size)
            check_room(f"column `{name}` of `{path.name}`", file.metadata.num_rows, _OBJECT)
            column = file.read(columns=[name]).column(name)
        if column.null_count == 0 and (types.is_floating(column.type) or types.is_integer(column.type)):
            array: Sequence[Any] = column.to_numpy()
            return array
        found: list[Any] = column.to_pylist()
    except ArrowException as error:
        raise ValueError(f"its column `{name}` cannot be read: {error}") from None
    return found


def _safetensors(path: Path) -> Columns:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "pt") as file:
            return Lazy({name: functools.partial(_tensor, path, name) for name in file.keys()})  # noqa: SIM118
    except SafetensorError as error:
        raise ValueError(str(error)) from None


def _tensor(path: Path, name: str) -> Any:
    import numpy as np
    import torch
    from safetensors import safe_open

    with safe_open(path, "pt") as file:
        tensor = file.get_tensor(name)
    if tensor.ndim and tensor.shape[0] and not tensor.numel():
        raise ValueError(f"the rows of its tensor `{name}` hold nothing")
    if tensor.dtype != torch.bfloat16:
        return tensor.numpy()
    found = tensor.double().numpy()
    return np.vectorize(Coarse, otypes=[object])(found) if (np.abs(found) > Coarse.EXACT).any() else found


_READERS: Mapping[str, Callable[[Path], Columns]] = {
    ".csv": separated,
    ".jsonl": json_lines,
    ".npz": Arrays,
    ".parquet": _parquet,
    ".safetensors": _safetensors,
    ".tsv": separated,
}
