"""From whatever holds rows to the values of its declared columns: by name where there are names, else by position."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

from pdual.dsl import typed
from pdual.dsl.diagnostics import Refusal, refuse
from pdual.dsl.near import nearest
from pdual.dsl.types import ArrayType, Kind, MemberOf

#: Columns of a message.
_SHOWN = 12


def given_columns(rows: Any, data: typed.TypedData, sets: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """The values of every declared column that is there, by name. Raises PD576 where none of a field is, PD579, PD590."""
    fields = getattr(getattr(rows, "dtype", None), "names", None)  # a structured array
    if fields:
        return _by_name(fields, rows.__getitem__, data)
    if isinstance(rows, Mapping):
        _refuse_splits(rows, data)
        return _by_name(list(rows), rows.__getitem__, data)
    if hasattr(rows, "collect"):  # a frame that is yet to be computed
        lazy = f"{type(rows).__name__}: hand over what its `collect()` gives"
        raise _unlike(data, "columns, or rows one after another", lazy)
    if hasattr(rows, "to_frame"):  # one column of a frame
        rows = rows.to_frame()
    names = getattr(rows, "column_names", None)  # Hugging Face, pyarrow
    if names is None:
        names = getattr(rows, "columns", None)  # pandas, polars
    if names is not None and not _streams(rows):
        read = rows.column if hasattr(rows, "column") and not hasattr(rows, "to_numpy") else rows.__getitem__
        found = _by_name(list(names), read, data)
        features = getattr(rows, "features", None)
        if isinstance(features, Mapping):
            found = {name: _labelled(values, features.get(name), name, data, sets) for name, values in found.items()}
        return found
    return _of_items(_items(rows, data), data)


def _streams(rows: Any) -> bool:
    """Whether what has named columns gives rows alone."""
    return hasattr(rows, "__iter__") and not hasattr(rows, "__len__")


def _by_name(names: Sequence[Any], read: Any, data: typed.TypedData) -> dict[str, Any]:
    """The declared ones of named columns, each read once."""
    written = [str(name) for name in names]
    wanted = _wanted(written, data)
    doubled = next((name for name, count in Counter(written).items() if count > 1 and name in wanted), None)
    if doubled is not None:
        raise _unlike(data, f"one column `{doubled}`", f"{written.count(doubled)} of that name")
    return {shown: read(name) for name, shown in zip(names, written, strict=True) if shown in wanted}


def _wanted(names: Iterable[str], data: typed.TypedData) -> set[str]:
    """Of these names those that declared fields are read from. Raises PD576 where a field has none."""
    there, found = list(names), set[str]()
    for field in data.fields:
        base = field.column or field.name
        own = {base} & set(there) or {name for name in there if _is_part(name, base, field)}
        if not own:
            shown = ", ".join(f"`{name}`" for name in there[:_SHOWN]) or None
            raise refuse(
                "PD576", field.span, data=data.name, column=base, field=field.name, columns=shown,
                near=nearest(base, there),
            )  # fmt: skip
        found |= own
    return found


def _is_part(name: str, base: str, field: typed.TypedField) -> bool:
    """Whether a column is an entry (``x.0``) or a part (``x.re``) of a field's own."""
    complex_ = isinstance(field.type, ArrayType) and field.type.element is Kind.COMPLEX
    part = r"\.(re|im)" if complex_ else ""
    return name.startswith(base) and re.fullmatch(rf"{part}(\.\d+)?", name[len(base) :]) is not None


def _refuse_splits(rows: Mapping[Any, Any], data: typed.TypedData) -> None:
    columns = {field.column or field.name for field in data.fields}
    if not rows or columns & set(map(str, rows)):
        return
    if all(
        isinstance(part, Mapping) or hasattr(part, "column_names") or hasattr(part, "columns") for part in rows.values()
    ):
        splits = [repr(name) for name in rows]
        raise refuse("PD579", data.span, data=data.name, splits=", ".join(splits), first=splits[0])


def _items(rows: Any, data: typed.TypedData) -> list[Any]:
    """Row by row. What gives batches, or has no order, is no rows."""
    kind = type(rows)
    expected = "columns, or rows one after another"
    if isinstance(rows, str | bytes | bytearray | Set | type):
        raise _unlike(data, expected, kind.__name__)
    if kind.__name__ == "DataLoader":
        raise _unlike(data, expected, "batches of a DataLoader: hand over its `dataset`")
    if isinstance(rows, list | tuple):
        if hasattr(rows, "_fields") or (not rows):
            raise _unlike(data, expected, f"one {kind.__name__}" if rows else "none")
        return list(rows)
    if hasattr(rows, "__len__") and hasattr(rows, "__getitem__"):
        return [rows[place] for place in range(len(rows))]
    if isinstance(rows, Iterable):
        return list(rows)
    raise _unlike(data, expected, kind.__name__)


def _of_items(items: Sequence[Any], data: typed.TypedData) -> dict[str, list[Any]]:
    """Columns of rows."""
    order = list(dict.fromkeys(field.column or field.name for field in data.fields))
    records = [_record(item, place, order, data) for place, item in enumerate(items)]
    wanted = _wanted(dict.fromkeys(str(name) for record in records for name in record), data)
    for place, record in enumerate(records):
        for name in wanted - record.keys():
            raise _unlike(data, f"`{name}` in every row", f"none in row {place}")
    return {name: [record[name] for record in records] for name in sorted(wanted)}


def _record(item: Any, place: int, order: Sequence[str], data: typed.TypedData) -> Mapping[str, Any]:
    """One row by name; without names its values are those of the declared fields in their order."""
    named = _named(item)
    if named is not None:
        return named
    values = item if isinstance(item, tuple | list) else (item,)
    if len(values) != len(order):
        raise _unlike(data, f"{len(order)} values a row", f"{len(values)} in row {place}")
    odd = next((value for value in values if isinstance(value, Mapping) or hasattr(value, "to_frame")), None)
    if odd is not None:  # as of `iterrows()`
        raise _unlike(data, "values by name, or by position", f"a {type(odd).__name__} within row {place}")
    return dict(zip(order, values, strict=True))


def _named(item: Any) -> Mapping[str, Any] | None:
    """A row whose values have names, as a mapping; None for any other."""
    kind = type(item)
    if isinstance(item, Mapping):
        return item
    if isinstance(item, tuple) and hasattr(item, "_fields"):
        return dict(zip(item._fields, item, strict=True))
    if dataclasses.is_dataclass(item):
        return {field.name: getattr(item, field.name) for field in dataclasses.fields(item)}
    if isinstance(fields := getattr(kind, "model_fields", None), Mapping):  # pydantic
        return {name: getattr(item, name) for name in fields}
    if fields := getattr(kind, "__attrs_attrs__", None):
        return {field.name: getattr(item, field.name) for field in fields}
    if names := getattr(getattr(item, "dtype", None), "names", None):  # one of a structured array
        return {name: item[name] for name in names}
    if hasattr(item, "to_frame") and hasattr(item, "to_dict"):  # a row of a frame
        return {str(name): value for name, value in item.to_dict().items()}
    if hasattr(item, "keys") and hasattr(item, "__getitem__"):  # sqlite3
        return {name: item[name] for name in item.keys()}  # noqa: SIM118 - iterating gives its values
    return None


def _labelled(values: Any, feature: Any, column: str, data: typed.TypedData, sets: Mapping[str, Sequence[str]]) -> Any:
    """A column of class labels, of which -1 is none: their names where the field chooses from a set of such words."""
    names = getattr(feature, "names", None)
    if names is None or not hasattr(feature, "int2str"):
        return values
    labels = [None if value is None else int(value) for value in values]
    for row, label in enumerate(labels):
        if label is not None and not 0 <= label < len(names):
            raise _unlike(data, f"a value of `{column}` in every row", f"the label {label} in row {row}")
    elements = {
        field.type.element
        for field in data.fields
        if isinstance(field.type, ArrayType) and (field.column or field.name) == column
    }
    words = {label for element in elements if isinstance(element, MemberOf) for label in sets.get(element.set, ())}
    if words & set(names) or Kind.TEXT in elements:
        return [None if label is None else names[label] for label in labels]
    return labels


def _unlike(data: typed.TypedData, expected: str, found: str) -> Refusal:
    return refuse("PD590", data.span, data=data.name, expected=expected, found=found)
