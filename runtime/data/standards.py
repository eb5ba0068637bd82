"""Columns in units of their own spread: ``(value - mean) / deviation``, both of the train rows, also for rows of other files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import torch
from torch import Tensor

from pdual.dsl.diagnostics import Refusal, refuse
from pdual.dsl.typed import TypedField
from pdual.runtime.data.limits import bounds_of, limits_of, rows_named


@dataclass(frozen=True, slots=True)
class Standard:
    """Of one field: ``mean`` and ``deviation`` [*axes] float64, in the units of the file.

    The deviation divides by the number of rows.
    """

    mean: Tensor
    deviation: Tensor

    def of(self, values: Tensor) -> Tensor:
        """[rows, *axes] as the spec sees them."""
        mean, deviation = self.mean.to(values.device), self.deviation.to(values.device)
        return ((values.to(torch.float64) - mean) / deviation).to(values.dtype)


def learned(field: TypedField, column: Tensor, train: Tensor, file: Path) -> Standard:
    """The standard of a column [rows, *axes] by its rows ``train``; raises PD548 where an entry has no spread there."""
    rows = column.index_select(0, train)
    found = Standard(rows.mean(0), rows.std(0, correction=0))
    usable = (found.deviation > 0) & found.deviation.isfinite() & (rows.amin(0) < rows.amax(0))
    if not usable.all():
        place = _first(~usable)
        low, high = float(rows.amin(0)[place]), float(rows.amax(0)[place])
        reason = f"{_entry(field, place)} is {low:g} in every train row"
        if low < high:
            reason = f"the spread of {_entry(field, place)} is no number"
        raise refuse("PD548", field.span, field=field.name, reason=reason, file=file, rows=len(rows))
    return found


def standardised(
    columns: Mapping[str, Tensor], fields: Mapping[str, TypedField], standards: Mapping[str, Standard], file: Path
) -> dict[str, Tensor]:
    """The columns with those of ``standards`` standardised and held to the ranges of their fields. Raises PD547."""
    found = dict(columns)
    for name, standard in standards.items():
        if name in columns:
            found[name] = standard.of(columns[name])
            _check(fields[name], columns[name], found[name], standard, file)
    return found


def _check(field: TypedField, raw: Tensor, values: Tensor, standard: Standard, file: Path) -> None:
    low, high = bounds_of(field)
    outside = (values < low) | (values > high)
    if not outside.any():
        return
    rows = outside.reshape(len(outside), -1).any(1).nonzero().flatten().tolist()
    place = _first(outside[rows[0]])
    raise _misfit(field, raw, values, standard, rows, place, file)


def _misfit(
    field: TypedField,
    raw: Tensor,
    values: Tensor,
    standard: Standard,
    rows: Sequence[int],
    place: tuple[int, ...],
    file: Path,
) -> Refusal:
    at = (rows[0], *place)
    return refuse(
        "PD547",
        field.span,
        field=field.name,
        expected=limits_of(field),
        found=f"{float(values[at]):.6g}",
        raw=f"{float(raw[at]):.6g}",
        mean=f"{float(standard.mean[place]):.6g}",
        deviation=f"{float(standard.deviation[place]):.6g}",
        rows=rows_named(rows),
        count=len(rows),
        total=len(values),
        column=field.column or field.name,
        file=file,
    )


def _first(mask: Tensor) -> tuple[int, ...]:
    """The first place of a mask [*axes] that is true."""
    return next(place for place in product(*(range(size) for size in mask.shape)) if bool(mask[place]))


def _entry(field: TypedField, place: tuple[int, ...]) -> str:
    return f"`{field.name}`" if not place else f"entry {', '.join(str(item) for item in place)}"
