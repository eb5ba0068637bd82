"""Rows of the user's own: a file named in the spec (``csv``) or on the command line (``--data NAME=FILE``)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import replace
from math import isfinite, prod
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pdual.dsl.declarations.signature import part_names
from pdual.dsl.declarations.sources_table import BoundSettings, CsvSettings
from pdual.dsl.diagnostics import Refusal, refuse
from pdual.dsl.near import nearest
from pdual.dsl.typed import TypedField
from pdual.dsl.types import TEXT, ArrayType, FixedAxis, Kind, MemberOf, SetAxis
from pdual.runtime.context import SourceContext
from pdual.runtime.data import ColumnTable
from pdual.runtime.limits import bounds_of, limits_of, rows_named
from pdual.runtime.sources.columns import Columns, read_columns
from pdual.runtime.sources.divide import divide
from pdual.runtime.sources.words import advice
from pdual.runtime.standards import learned, standardised

_REAL = (Kind.REAL, Kind.COMPLEX)  # of a complex field, one of its parts


def build(settings: BoundSettings, context: SourceContext) -> ColumnTable:
    """Every declared field as a column, [rows, *axes], or a list of texts; members of sets as positions. Raises PD530 to PD536,
    PD547 and PD548.
    """
    path = _path(settings, context)
    names = [item.name for item in settings.standardised]
    found, texts = read_fields(context, path, set(context.fields), names)
    total = len(next(iter((*found.values(), *texts.values()))))
    if total < 2:
        raise refuse("PD536", context.span, file=path, found=total, needed=2)
    fingerprint = hashlib.sha256(path.read_bytes() + repr(settings).encode()).hexdigest()[:24]
    splits = divide(total, settings.split, settings.seed)
    standards = {name: learned(context.fields[name], found[name], splits["train"], path) for name in names}
    columns = standardised(found, context.fields, standards, path)
    return ColumnTable(columns, splits, fingerprint, texts=texts, standards=standards)


def read_fields(
    context: SourceContext, path: Path, needed: Set[str], unbounded: Collection[str] = ()
) -> tuple[dict[str, Tensor], dict[str, Sequence[str]]]:
    """The declared fields of ``context`` as columns by part, [rows, *axes], and those that are texts: those that are ``needed``,
    and others where the file has them. Ranges of ``unbounded`` fields are not of what stands in the file. Raises PD531 to PD535.
    """
    columns = read_columns(path, context.span)
    found: dict[str, Tensor] = {}
    texts: dict[str, Sequence[str]] = {}
    for name, field in context.fields.items():
        if name in unbounded:
            field = replace(field, low=None, high=None)
        assert isinstance(field.type, ArrayType)
        if field.type == TEXT:
            if name in needed or (field.column or name) in columns:
                texts[name] = _texts(field, columns, path)
            continue
        for part in part_names(name, field.type):
            written = f"{field.column or name}{part.removeprefix(name)}"
            if name in needed or written in columns or f"{written}.0" in columns:
                found[part] = _column(part, field, columns, path, context)
    rows = {len(column) for column in (*found.values(), *texts.values())}
    if len(rows) != 1 or rows == {0}:
        raise refuse(
            "PD533",
            context.span,
            file=path,
            reason="its columns differ in length" if len(rows) > 1 else "it has no rows",
        )
    return found, texts


def _path(settings: BoundSettings, context: SourceContext) -> Path:
    if context.file is not None:
        return context.file
    if isinstance(settings, CsvSettings):
        return context.folder / settings.file
    raise refuse("PD530", context.span, data=context.name)


def _column(part: str, field: TypedField, columns: Columns, path: Path, context: SourceContext) -> Tensor:
    assert isinstance(field.type, ArrayType)
    suffix = part.removeprefix(field.name)
    values = _values(f"{field.column or field.name}{suffix}", field, columns, path)
    element = field.type.element
    shape = _shape(field, context)
    parse: Callable[[Any], Any]
    if isinstance(element, MemberOf):
        labels = context.sets.get(element.set, ())
        parse, kind, what = _member(labels), torch.int64, f"members of `{element.set}`"
    elif element is Kind.BOOL:
        parse, kind, what = _truth, torch.bool, "truth values"
    elif element in (Kind.INT, Kind.ID):
        parse, kind, what = _whole, torch.int64, "whole numbers"
    else:
        parse, kind, what = _number(field), torch.float64, _numbers(field)
    numbers = _numbers_at_once(values, field, shape)
    if numbers is not None:
        return numbers
    if shape:
        what = f"{prod(shape)} {what}"
    parsed = [_flat(value, parse, prod(shape)) for value in values]
    bad = [row for row, value in enumerate(parsed) if value is None]
    if bad:
        raise _misfit(field, what, values, bad, path, context.sets)
    return torch.tensor(parsed, dtype=kind).reshape(len(parsed), *shape)


def _texts(field: TypedField, columns: Columns, path: Path) -> Sequence[str]:
    """A column of texts; what is no text is none: a number that a text is wanted of is likely another column."""
    values = _values(field.column or field.name, field, columns, path)
    found = [value.item() if hasattr(value, "item") else value for value in values]
    bad = [row for row, value in enumerate(found) if not isinstance(value, str)]
    if bad:
        raise _misfit(field, "texts", found, bad, path, {})
    return found


def _values(column: str, field: TypedField, columns: Columns, path: Path) -> Sequence[Any]:
    """One column, or an array from columns ``x.0``, ``x.1``, ..."""
    if column in columns:
        return columns[column]
    spread: list[Sequence[Any]] = []
    while f"{column}.{len(spread)}" in columns:
        spread.append(columns[f"{column}.{len(spread)}"])
    if spread:
        return [list(row) for row in zip(*spread, strict=True)]
    shown = ", ".join(f"`{name}`" for name in list(columns)[:12])
    near = nearest(column, columns)
    raise refuse("PD534", field.span, file=path, column=column, field=field.name, columns=shown, near=near)


def _shape(field: TypedField, context: SourceContext) -> tuple[int, ...]:
    assert isinstance(field.type, ArrayType)
    sizes = []
    for axis in field.type.axes:
        if isinstance(axis, SetAxis):
            sizes.append(len(context.sets[axis.set]))
        elif isinstance(axis, FixedAxis):
            sizes.append(axis.size)
    return tuple(sizes)


def _numbers_at_once(values: Any, field: TypedField, shape: tuple[int, ...]) -> Tensor | None:
    """A real field from an array that holds it as it is; None where that is for the slow way, which says what is wrong."""
    assert isinstance(field.type, ArrayType)
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "fiu" or field.type.element not in _REAL:
        return None
    low, high = bounds_of(field)
    # A comparison with NaN is false.
    inside = np.isfinite(values) & (values >= low) & (values <= high)
    if values.shape != (len(values), *shape) or not inside.all():
        return None
    return torch.tensor(values, dtype=torch.float64)


def _flat(value: Any, parse: Callable[[Any], Any], count: int) -> list[Any] | None:
    """All numbers of one row, None where one does not fit or their count is wrong."""
    pending, found = [value], []
    while pending:
        item = pending.pop(0)
        if isinstance(item, list | tuple) or (hasattr(item, "tolist") and bool(getattr(item, "ndim", 0))):
            pending = [*item, *pending]
            continue
        parsed = parse(item.item() if hasattr(item, "item") else item)
        if parsed is None:
            return None
        found.append(parsed)
    return found if len(found) == count else None


def _number(field: TypedField) -> Callable[[Any], float | None]:
    def parse(value: Any) -> float | None:
        try:
            number = float(value)
        except (TypeError, ValueError):
            return None
        inside = (field.low is None or number >= field.low) and (field.high is None or number <= field.high)
        return number if isfinite(number) and inside else None

    return parse


def _numbers(field: TypedField) -> str:
    limits = limits_of(field)
    return f"finite numbers, {limits}" if limits else "finite numbers"


def _whole(value: Any) -> int | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return int(number) if isfinite(number) and number.is_integer() else None


_TRUTHS = {"true": True, "false": False, "1": True, "0": False, "yes": True, "no": False}


def _truth(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    whole = _whole(value)
    return _TRUTHS.get(str(whole) if whole is not None else str(value).lower())


def _member(labels: Sequence[str]) -> Callable[[Any], int | None]:
    places = {label: place for place, label in enumerate(labels)}

    def parse(value: Any) -> int | None:
        whole = _whole(value)
        found = places.get(str(value).strip())
        return found if found is not None else places.get(str(whole)) if whole is not None else None

    return parse


def _misfit(
    field: TypedField,
    expected: str,
    values: Sequence[Any],
    bad: Sequence[int],
    path: Path,
    sets: Mapping[str, Sequence[str]],
) -> Refusal:
    found = values[bad[0]]
    text = f"`{found}`" if not hasattr(found, "__len__") or len(str(found)) < 40 else "something else"
    return refuse(
        "PD535", field.span, field=field.name, expected=expected, found=text, rows=rows_named(bad), count=len(bad),
        total=len(values), file=path, **advice(field, values, bad, sets),
    )  # fmt: skip
