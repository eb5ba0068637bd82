"""Rows in memory: a table of columns, and the batch that is drawn from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import torch
from torch import Tensor

from pdual.compiler.program import MEMBERS, PRESENT
from pdual.runtime.data.sampling import members_of
from pdual.runtime.data.standards import Standard


@dataclass(frozen=True, slots=True)
class Ragged:
    """Values on an axis whose length differs by row.

    ``values`` is [total, ...]; row n owns ``values[offsets[n]:offsets[n + 1]]``; ``offsets`` is [rows + 1] int64.
    """

    values: Tensor
    offsets: Tensor

    def rows(self) -> Sequence[Tensor]:
        """Row by row: [length, ...]."""
        return torch.tensor_split(self.values, self.offsets[1:-1].cpu())

    def cpu(self) -> Ragged:
        """The same in the machine's own memory."""
        return Ragged(self.values.cpu(), self.offsets.cpu())


def joined(chunks: Sequence[Ragged]) -> Ragged:
    """The rows of all chunks, at least one; one after another."""
    lengths = torch.cat([chunk.offsets.diff() for chunk in chunks])
    return Ragged(torch.cat([chunk.values for chunk in chunks]), offsets_of(lengths))


def offsets_of(lengths: Tensor) -> Tensor:
    """Where rows of these lengths, [rows] int64, begin and end: [rows + 1]."""
    return torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])


@dataclass(frozen=True, slots=True)
class RowBatch:
    """Some rows of one data set.

    ``ids`` is [batch] int64, the rows' positions in the data set. ``values`` holds each field under its part name
    (``load.re``): [batch, *axes], members of sets as int64 positions; what is ragged is a ``Ragged``; what only its
    architecture reads (texts, graphs) is any object of the source's own.
    """

    ids: Tensor
    values: Mapping[str, object]


def with_groups(rows: RowBatch, sizes: Sequence[int]) -> RowBatch:
    """The same rows, which are whole groups of these sizes one after another, with where the rows of each group are; a batch
    of groups stays what it is.
    """
    if MEMBERS in rows.values:
        return rows
    members, present = members_of(sizes, rows.ids.device)
    return RowBatch(rows.ids, {**rows.values, MEMBERS: members, PRESENT: present})


class Table(Protocol):
    """What a data source builds."""

    @property
    def splits(self) -> Mapping[str, Tensor]:
        """Row positions (int64) of each split; ``train`` is always there."""

    @property
    def fingerprint(self) -> str:
        """Identifies the content; stored in the run record."""

    @property
    def multipliers(self) -> Mapping[str, Tensor]:
        """A solver's own multipliers by part (``voltage.upper``): [rows, entries], in the problem's units; may be empty."""

    def __len__(self) -> int:
        """Rows in all splits together."""

    def batch(self, ids: Tensor) -> RowBatch:
        """The rows at these positions."""

    def address(self, row: int) -> str:
        """How a row is called in tables and diagnostics."""

    def to(self, device: torch.device, dtype: torch.dtype) -> Table:
        """The same rows with floating-point columns in another precision and place."""

    def limited(self, rows: int) -> Table:
        """At most this many rows of each split, the first ones."""


@dataclass(frozen=True)
class ColumnTable:
    """A table whose columns are plain tensors: [rows, *axes] each.

    A column named in ``levels`` is held as bytes, and a batch has byte / level - shift in their place, of type ``dtype``:
    images take a quarter of the memory. Whoever wants values reads batches. ``texts``: columns of texts, of which a batch has a
    list. ``standards``: by what the standardised fields among the columns were, and fields of new rows are to be. ``called``: of ids
    that are texts, the text by the number that stands for it.
    """

    columns: Mapping[str, Tensor]
    splits: Mapping[str, Tensor]
    fingerprint: str
    multipliers: Mapping[str, Tensor] = field(default_factory=dict)
    labels: Sequence[str] | None = None
    levels: Mapping[str, float] = field(default_factory=dict)
    shifts: Mapping[str, float] = field(default_factory=dict)
    dtype: torch.dtype = torch.float64
    texts: Mapping[str, Sequence[str]] = field(default_factory=dict)
    standards: Mapping[str, Standard] = field(default_factory=dict)
    called: Mapping[str, Mapping[int, str]] = field(default_factory=dict)

    def __len__(self) -> int:
        return int(sum(len(ids) for ids in self.splits.values()))

    def batch(self, ids: Tensor) -> RowBatch:
        """The rows at these positions, gathered column by column."""
        values: dict[str, object] = {name: self._rows(name, ids) for name in self.columns}
        if self.texts:
            places = ids.tolist()
            values |= {name: [column[place] for place in places] for name, column in self.texts.items()}
        return RowBatch(ids, values)

    def _rows(self, name: str, ids: Tensor) -> Tensor:
        rows = self.columns[name].index_select(0, ids)
        level = self.levels.get(name)
        if level is None:
            return rows
        values = rows.to(self.dtype).div_(level)
        return values.sub_(self.shifts[name]) if name in self.shifts else values

    def address(self, row: int) -> str:
        """The row's label, or its position."""
        return self.labels[row] if self.labels is not None else str(row)

    def to(self, device: torch.device, dtype: torch.dtype) -> ColumnTable:
        """Floating-point columns in ``dtype``, all of it on ``device``; bytes stay bytes and are read in ``dtype``."""

        def moved(column: Tensor) -> Tensor:
            return column.to(device=device, dtype=dtype if column.is_floating_point() else column.dtype)

        return replace(
            self,
            columns={name: moved(column) for name, column in self.columns.items()},
            splits={name: ids.to(device) for name, ids in self.splits.items()},
            multipliers={name: moved(column) for name, column in self.multipliers.items()},
            dtype=dtype,
        )

    def limited(self, rows: int) -> ColumnTable:
        """At most ``rows`` rows of each split; row positions stay what they were."""
        splits = {name: ids[:rows] for name, ids in self.splits.items()}
        return replace(self, splits=splits, fingerprint=f"{self.fingerprint}/limit={rows}")
