"""How the groups of rows fell into splits: what is learnt of a group should not be tested on rows of the same group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import torch

from pdual.dsl import typed
from pdual.dsl.declarations.sources_table import ONE_BY_ONE, BoundSettings
from pdual.dsl.declarations.splits import SPLITS
from pdual.dsl.diagnostics import Diagnostic, diagnostic
from pdual.dsl.types import TEXT, ArrayType, Kind
from pdual.runtime.data.groups import group_codes
from pdual.runtime.data.tables import Table

#: Fields whose values are keys; of a category (a member of a set, a truth value) every split should have rows.
KEYS = (ArrayType(Kind.ID), TEXT)
_MAY_BE_KEYS = (*KEYS, ArrayType(Kind.INT))
#: Groups that a warning names.
_TOLD = 5


def kept_together(spec: typed.TypedSpec, data: typed.TypedData) -> str | None:
    """The field whose rows stay together in one split: what ``split_by`` names, else the first key that a block groups by."""
    settings = data.settings
    if isinstance(settings, BoundSettings) and settings.split_by is not None:
        name = settings.split_by.name
        return None if name == ONE_BY_ONE and all(item.name != name for item in data.fields) else name
    kinds = {item.name: item.type for item in data.fields}
    return next((field for field, _ in _grouped(spec, data) if kinds[field] in KEYS), None)


def split_warnings(spec: typed.TypedSpec, tables: Mapping[str, Table]) -> tuple[Diagnostic, ...]:
    """Warnings of groups with rows in several splits (PD553), and of splits that no group was left for (PD554)."""
    found: list[Diagnostic] = []
    for data in spec.data:
        if data.name in tables:
            found += _apart(spec, data, tables[data.name])
            found += _without_groups(spec, data, tables[data.name])
    return tuple(found)


def _grouped(spec: typed.TypedSpec, data: typed.TypedData) -> Iterator[tuple[str, typed.TypedBlock]]:
    for block in spec.blocks:
        if block.data == data.name and block.group_by is not None:
            yield block.group_by, block


def _apart(spec: typed.TypedSpec, data: typed.TypedData, table: Table) -> Iterator[Diagnostic]:
    own = data.settings if isinstance(data.settings, BoundSettings) else None
    together = kept_together(spec, data)
    if own is not None and together is None and own.split_by is not None:
        return  # as it was asked for
    kinds = {item.name: item.type for item in data.fields}
    for field, block in dict(_grouped(spec, data)).items():
        if field == together or kinds[field] not in _MAY_BE_KEYS or len(table.splits) < 2:
            continue
        splits = torch.cat([torch.full_like(ids, place) for place, ids in enumerate(table.splits.values())])
        codes, called = group_codes(table, torch.cat(list(table.splits.values())), field)
        there = torch.zeros(len(called), len(table.splits), dtype=torch.bool)
        there[codes, splits] = True
        several = (there.sum(1) > 1).nonzero().flatten().tolist()
        if several:
            shown = ", ".join(f"`{called[place]}`" for place in several[:_TOLD])
            yield diagnostic(
                "PD553", block.span, data=data.name, field=field, count=f"{len(several):,}", total=f"{len(called):,}",
                shown=shown + (", ..." if len(several) > _TOLD else ""), splits=", ".join(table.splits),
                by=field if own is not None and together is None else None, other=together,
            )  # fmt: skip


def _without_groups(spec: typed.TypedSpec, data: typed.TypedData, table: Table) -> Iterator[Diagnostic]:
    field = kept_together(spec, data)
    if field is None or not isinstance(data.settings, BoundSettings):
        return
    shares = dict(zip(SPLITS, data.settings.split, strict=True))
    empty = [name for name, share in shares.items() if share and name not in table.splits]
    if empty:
        values = len(group_codes(table, torch.cat(list(table.splits.values())), field)[1])
        named = " and ".join(f"`{name}`" for name in empty)
        yield diagnostic("PD554", data.span, data=data.name, empty=named, field=field, values=values)
