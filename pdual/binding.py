"""Rows from Python: arrays, data frames, torch and Hugging Face data sets, written once as a file that runs read.

A file is what a run records, resumes from and compares by content; so rows from Python become one, named by their content.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pdual.dsl import typed
from pdual.dsl.diagnostics import refuse

if TYPE_CHECKING:
    import numpy as np

    Columns = dict[str, "np.ndarray[Any, Any]"]


def bound(rows: Any, data: typed.TypedData, folder: Path) -> Path:
    """The file of some rows, in ``folder``; a path is that file itself.

    ``rows``: a path; a mapping of columns to arrays (lists, numpy, torch); a data frame or table with named columns (pandas,
    polars, pyarrow, Hugging Face); a sequence of mappings; a torch ``Dataset`` whose items are mappings, or tuples in the
    order of the declared fields. Raises PD590.
    """
    if isinstance(rows, str | Path):
        return Path(rows)
    import numpy as np

    columns = _split_complex(_columns(rows, data))
    if not columns:
        raise _unlike(data, "columns", type(rows).__name__)
    content = io.BytesIO()
    np.savez(content, **columns)  # type: ignore[arg-type]
    digest = hashlib.sha256(b"".join(name.encode() + array.tobytes() for name, array in columns.items())).hexdigest()
    place = folder / f"{data.name}-{digest[:24]}.npz"
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        beside = place.with_suffix(".part")
        beside.write_bytes(content.getvalue())
        beside.replace(place)
    return place


def _columns(rows: Any, data: typed.TypedData) -> Columns:
    if isinstance(rows, Mapping):
        return {str(name): _array(values, str(name), data) for name, values in rows.items()}
    names = getattr(rows, "column_names", None)  # Hugging Face, pyarrow
    if names is None:
        names = getattr(rows, "columns", None)  # pandas, polars
    if names is not None:
        read = rows.column if hasattr(rows, "column") and not hasattr(rows, "to_numpy") else rows.__getitem__
        return {str(name): _array(_plain(read(name)), str(name), data) for name in names}
    if not (hasattr(rows, "__len__") and hasattr(rows, "__getitem__")):
        raise _unlike(data, "columns, or rows with a length", type(rows).__name__)
    return _of_items([rows[place] for place in range(len(rows))], data)


def _of_items(items: Sequence[Any], data: typed.TypedData) -> Columns:
    """Columns of items that are mappings, or tuples in the order of the fields."""
    fields = [field.column or field.name for field in data.fields]
    records = []
    for place, item in enumerate(items):
        if not isinstance(item, Mapping):
            values = item if isinstance(item, tuple | list) else (item,)
            if len(values) != len(fields):
                raise _unlike(data, f"{len(fields)} values a row", f"{len(values)} in row {place + 1}")
            item = dict(zip(fields, values, strict=True))
        records.append(item)
    names = dict.fromkeys(name for record in records for name in record)
    missing = next((name for name in names for record in records if name not in record), None)
    if missing is not None:
        raise _unlike(data, f"`{missing}` in every row", "rows without it")
    return {str(name): _array([_plain(record[name]) for record in records], str(name), data) for name in names}


def _plain(values: Any) -> Any:
    """Values as numpy takes them: of a tensor, a series or a chunked column."""
    for method in ("detach", "cpu"):
        values = getattr(values, method)() if hasattr(values, method) else values
    for method in ("to_numpy", "numpy"):
        if hasattr(values, method):
            return getattr(values, method)()
    return values


def _array(values: Any, name: str, data: typed.TypedData) -> np.ndarray[Any, Any]:
    import numpy as np

    try:
        plain = _plain(values)
        array = plain if isinstance(plain, np.ndarray) and plain.dtype != object else np.array(list(plain))
    except (TypeError, ValueError) as error:
        raise _unlike(data, f"`{name}` as an array", str(error).splitlines()[0]) from None
    if array.dtype == object or array.ndim == 0:
        raise _unlike(data, f"`{name}` of one type and one shape a row", "values of several")
    return array


def _split_complex(columns: Columns) -> Columns:
    found: Columns = {}
    for name, array in columns.items():
        found |= {f"{name}.re": array.real, f"{name}.im": array.imag} if array.dtype.kind == "c" else {name: array}
    return found


def _unlike(data: typed.TypedData, expected: str, found: str) -> Exception:
    return refuse("PD590", data.span, data=data.name, expected=expected, found=found)
