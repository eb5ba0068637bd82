"""Rows of the user's own: a file named in the spec (``csv``) or on the command line (``--data NAME=FILE``)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from pdual.dsl.declarations.signature import part_names
from pdual.dsl.declarations.sources_table import BoundSettings, CsvSettings
from pdual.dsl.diagnostics import Refusal, refuse
from pdual.dsl.near import nearest
from pdual.dsl.typed import TypedField
from pdual.dsl.types import TEXT, ArrayType, FixedAxis, Kind, MemberOf, SetAxis
from pdual.runtime.data.context import SourceContext
from pdual.runtime.data.groups import coded
from pdual.runtime.data.limits import bounds_of, limits_of, rows_named
from pdual.runtime.data.standards import learned, standardised
from pdual.runtime.data.tables import ColumnTable
from pdual.runtime.sources import scalars
from pdual.runtime.sources.array_files import DAMAGED
from pdual.runtime.sources.columns import Columns, read_columns, unreadable
from pdual.runtime.sources.divide import divide
from pdual.runtime.sources.words import advice

_REAL = (Kind.REAL, Kind.COMPLEX)  # of a complex field, one of its parts


class Fields(NamedTuple):
    """Declared fields of some rows: ``columns`` by part, [rows, *axes]; ``texts``; ``called``: of fields that are ids, the texts of those
    that are no whole numbers, by the number that stands for them.
    """

    columns: dict[str, Tensor]
    texts: dict[str, Sequence[str]]
    called: dict[str, Mapping[int, str]]


def build(settings: BoundSettings, context: SourceContext) -> ColumnTable:
    """Every declared field as a column, [rows, *axes], or a list of texts; members of sets as positions. Raises PD530 to PD536,
    PD547 and PD548.
    """
    path = _path(settings, context)
    names = [item.name for item in settings.standardised]
    found, texts, called = read_fields(context, path, set(context.fields), names)
    total = len(next(iter((*found.values(), *texts.values()))))
    if total < 2:
        raise refuse("PD536", context.span, file=path, found=total, needed=2)
    together = context.grouped_by
    content = path.read_bytes() + repr(settings).encode() + (f"by {together}".encode() if together else b"")
    fingerprint = hashlib.sha256(content).hexdigest()[:24]
    groups = coded(found[together] if together in found else texts[together])[0] if together else None
    splits = divide(total, settings.split, settings.seed, groups)
    standards = {name: learned(context.fields[name], found[name], splits["train"], path) for name in names}
    columns = standardised(found, context.fields, standards, path)
    return ColumnTable(columns, splits, fingerprint, texts=texts, standards=standards, called=called)


def read_fields(context: SourceContext, path: Path, needed: Set[str], unbounded: Collection[str] = ()) -> Fields:
    """The declared fields of ``context``: those that are ``needed``, and others where the file has them.

    Ranges of ``unbounded`` fields are not of what stands in the file. Raises PD531 to PD535.
    """
    columns = read_columns(path, context.span)
    found: dict[str, Tensor] = {}
    texts: dict[str, Sequence[str]] = {}
    called: dict[str, Mapping[int, str]] = {}
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
                values = _values(written, field, columns, path)
                found[part] = _column(values, field, path, context)
                if field.type.element is Kind.ID:
                    called[part] = _called(values, found[part], field, path)
    rows = {len(column) for column in (*found.values(), *texts.values())}
    if len(rows) != 1 or rows == {0}:
        raise refuse(
            "PD533",
            context.span,
            file=path,
            reason="its columns differ in length" if len(rows) > 1 else "it has no rows",
        )
    return Fields(found, texts, called)


def _called(values: Sequence[Any], codes: Tensor, field: TypedField, path: Path) -> Mapping[int, str]:
    """What the ids of a column are called. Raises PD533 in the one case of many billions in which two cannot be told apart."""
    flat = [item for value in values for item in scalars.flat(value)]
    called = scalars.named(flat, codes.reshape(-1).tolist())
    if called is None:
        raise unreadable(path, field.span, ValueError(f"two ids of `{field.name}` have the same digest: rename one"))
    return called


def _path(settings: BoundSettings, context: SourceContext) -> Path:
    if context.file is not None:
        return context.file
    if isinstance(settings, CsvSettings):
        return context.folder / settings.file
    raise refuse("PD530", context.span, data=context.name)


def _column(values: Sequence[Any], field: TypedField, path: Path, context: SourceContext) -> Tensor:
    assert isinstance(field.type, ArrayType)
    element = field.type.element
    shape = _shape(field, context)
    parse: Callable[[Any], Any]
    if isinstance(element, MemberOf):
        labels = context.sets.get(element.set, ())
        parse, kind, what = scalars.member(labels), torch.int64, f"members of `{element.set}`"
    elif element is Kind.BOOL:
        parse, kind, what = scalars.truth, torch.bool, "truth values"
    elif element is Kind.ID:
        parse, kind, what = scalars.identity, torch.int64, "ids: texts, or whole numbers"
    elif element is Kind.INT:
        parse, kind, what = scalars.whole, torch.int64, "whole numbers of 64 bits"
    else:
        parse, kind, what = scalars.within(field.low, field.high), torch.float64, _numbers(field)
    numbers = _numbers_at_once(values, field, shape)
    if numbers is not None:
        return numbers
    if shape:
        what = f"{' x '.join(map(str, shape))} {what}"
    parsed = [_parsed(value, parse, shape) for value in values]
    bad = [row for row, value in enumerate(parsed) if value is None]
    if bad:
        raise _misfit(field, what, values, bad, path, context.sets)
    return torch.tensor(parsed, dtype=kind).reshape(len(parsed), *shape)


def _texts(field: TypedField, columns: Columns, path: Path) -> Sequence[str]:
    """A column of texts; what is no text is none: a number that a text is wanted of is likely another column."""
    values = _values(field.column or field.name, field, columns, path)
    found = [value.item() if getattr(value, "ndim", None) == 0 else value for value in values]
    bad = [row for row, value in enumerate(found) if not isinstance(value, str) or not scalars.is_text(value)]
    if bad:
        raise _misfit(field, "texts", found, bad, path, {})
    return found


def _values(column: str, field: TypedField, columns: Columns, path: Path) -> Sequence[Any]:
    """One column, or an array from columns ``x.0``, ``x.1``, ..."""
    try:
        if column in columns:
            return _with_rows(columns[column])
        spread: list[Sequence[Any]] = []
        while f"{column}.{len(spread)}" in columns:
            spread.append(_with_rows(columns[f"{column}.{len(spread)}"]))
    except DAMAGED as error:
        raise unreadable(path, field.span, error) from None
    if spread:
        return [list(row) for row in zip(*spread, strict=True)]
    shown = ", ".join(f"`{name}`" for name in list(columns)[:12])
    near = nearest(column, columns)
    raise refuse("PD534", field.span, file=path, column=column, field=field.name, columns=shown, near=near)


def _with_rows(values: Any) -> Sequence[Any]:
    if getattr(values, "ndim", 1) == 0:
        raise ValueError("a column that a field reads is one value and has no rows")
    found: Sequence[Any] = values
    return found


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
    return torch.from_numpy(np.array(values, dtype=np.float64))


def _parsed(value: Any, parse: Callable[[Any], Any], shape: tuple[int, ...]) -> list[Any] | None:
    """All numbers of one row, None where one does not fit or they are of another shape."""
    if not scalars.fits(scalars.extent(value), shape):
        return None
    found = [parse(item) for item in scalars.flat(value)]
    return found if None not in found else None


def _numbers(field: TypedField) -> str:
    limits = limits_of(field)
    return f"finite numbers, {limits}" if limits else "finite numbers"


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
