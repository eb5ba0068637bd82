"""Rows from Python: arrays, data frames, torch and Hugging Face data sets, written once as a file that runs read.

A file is what a run records, resumes from and compares by content; so rows from Python become one, named by their content.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from pdual.dsl import typed
from pdual.dsl.declarations.signature import part_names
from pdual.dsl.diagnostics import Refusal, refuse
from pdual.dsl.near import nearest
from pdual.dsl.types import ArrayType

if TYPE_CHECKING:
    import numpy as np

    Columns: TypeAlias = Mapping[str, np.ndarray[Any, Any]]


def bound(rows: Any, data: typed.TypedData, folder: Path, sets: Mapping[str, Sequence[str]] | None = None) -> Path:
    """The file of some rows, in ``folder``; a path is that file itself. ``sets``: the labels of the spec's sets.

    ``rows``: a path; a mapping of columns to arrays (lists, numpy, torch); a data frame or table with named columns (pandas,
    polars, pyarrow, Hugging Face); a sequence or an iterator of rows with names (mappings, named tuples, dataclasses, ...), or of tuples in the
    order of the declared fields, as of a torch ``Dataset``. Columns that the spec does not declare are not looked at. Raises PD576, PD579, PD590.
    """
    if isinstance(rows, str | os.PathLike):
        return Path(os.fspath(rows))
    import numpy as np

    columns = columns_of(rows, data, sets or {})
    content = io.BytesIO()
    np.savez(content, **columns)  # type: ignore[arg-type]
    place = folder / f"{data.name}-{key_of(columns)[:24]}.npz"
    written = content.getvalue()
    if not (place.is_file() and place.stat().st_size == len(written)):
        _write(place, written)
    return place


def columns_of(rows: Any, data: typed.TypedData, sets: Mapping[str, Sequence[str]]) -> Columns:
    """The declared columns as arrays of numbers, truth values or texts, by name. Raises PD576, PD579, PD590."""
    from pdual.bound_rows import given_columns
    from pdual.bound_values import array_of

    try:
        given = given_columns(rows, data, sets)
        arrays = {name: array_of(values, name, data) for name, values in given.items()}
    except Refusal:
        raise
    except Exception as error:  # of an object of the user's own, which may do anything
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        raise refuse(
            "PD590", data.span, data=data.name, expected="rows that can be read", found=f"`{reason}`"
        ) from error
    columns = _split_complex(arrays)
    _refuse_missing(columns, data)
    lengths = {name: len(array) for name, array in columns.items()}
    if len(set(lengths.values())) > 1:
        found = ", ".join(f"{length} of `{name}`" for name, length in lengths.items())
        raise refuse("PD590", data.span, data=data.name, expected="columns of one length", found=found)
    return {name: _canonical(columns[name]) for name in sorted(columns)}


def key_of(columns: Columns) -> str:
    """What names a file: equal columns (names, types, shapes, values) have one, and others never the same."""
    digest = hashlib.sha256()
    for name in sorted(columns):
        array = _canonical(columns[name])
        for part in (
            name.encode("utf-8", "surrogatepass"),
            f"{array.dtype.str} {array.shape}".encode(),
            array.tobytes(),
        ):
            digest.update(len(part).to_bytes(8, "little"))
            digest.update(part)
    return digest.hexdigest()


def _canonical(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The same values in one layout: rows one after another, little-endian, texts as wide as the longest of them."""
    import numpy as np

    kind = array.dtype.newbyteorder("<")
    if kind.kind == "U":
        kind = np.dtype(f"<U{max(1, int(np.char.str_len(array).max(initial=1)))}")
    return np.ascontiguousarray(array, kind)


def _write(place: Path, content: bytes) -> None:
    """Whole or not there, since another thread or process may write the same rows. Raises PD713."""
    from pdual.runtime.storage.outputs import write_whole

    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        write_whole(place, content)
    except OSError as error:
        raise refuse("PD713", file=place, reason=(error.strerror or str(error)).lower()) from None


def _refuse_missing(columns: Columns, data: typed.TypedData) -> None:
    for field in data.fields:
        if not isinstance(field.type, ArrayType):
            continue
        for part in part_names(field.name, field.type):
            column = f"{field.column or field.name}{part.removeprefix(field.name)}"
            if column not in columns and f"{column}.0" not in columns:
                raise _missing(column, list(columns), field, data)


def _missing(column: str, there: list[str], field: typed.TypedField, data: typed.TypedData) -> Refusal:
    shown = ", ".join(f"`{name}`" for name in there[:12]) or None
    return refuse(
        "PD576", field.span, data=data.name, column=column, field=field.name, columns=shown, near=nearest(column, there)
    )


def _split_complex(columns: Columns) -> dict[str, np.ndarray[Any, Any]]:
    found: dict[str, np.ndarray[Any, Any]] = {}
    for name, array in columns.items():
        found |= {f"{name}.re": array.real, f"{name}.im": array.imag} if array.dtype.kind == "c" else {name: array}
    return found
