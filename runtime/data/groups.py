"""Groups of rows as a table of its own: what is constrained and measured in each group, one at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from pdual.compiler.graph import Grouping
from pdual.compiler.program import ROWS
from pdual.runtime.data.tables import ColumnTable, RowBatch, Table, with_groups

#: Rows read at once to learn their groups.
PIECE = 4096


@dataclass(frozen=True)
class GroupTable:
    """The groups of the rows of ``table`` whose ``field`` is the same: the rows of each split make groups of their own.

    A batch of groups has their ids, and the fields of their rows, group after group, with where the rows of each are.
    ``rows`` holds the ids of every group's rows, ``called`` what they share, in words.
    """

    table: Table
    field: str
    rows: Sequence[Tensor]
    called: Sequence[str]
    splits: Mapping[str, Tensor]

    @classmethod
    def of(cls, table: Table, grouping: Grouping) -> GroupTable:
        """Every group of every split; groups come in the order of what they share."""
        field, labels = grouping.field, grouping.labels
        rows: list[Tensor] = []
        called: list[str] = []
        splits: dict[str, Tensor] = {}
        for split, ids in table.splits.items():
            codes, names = group_codes(table, ids, field)
            order = torch.argsort(codes, stable=True)
            sizes = torch.bincount(codes, minlength=len(names)).tolist() if len(ids) else []
            splits[split] = torch.arange(len(rows), len(rows) + len(sizes))
            rows += torch.split(ids[order], sizes)
            called += [labels[int(name)] for name in names] if labels is not None else names
        return cls(table, field, rows, called, splits)

    @property
    def fingerprint(self) -> str:
        """The table's, and the field."""
        return f"{self.table.fingerprint}/by {self.field}"

    @property
    def multipliers(self) -> Mapping[str, Tensor]:
        """A source brings along multipliers of rows only."""
        return {}

    def __len__(self) -> int:
        return len(self.rows)

    def batch(self, ids: Tensor) -> RowBatch:
        """These groups."""
        members = [self.rows[group] for group in ids.tolist()]
        rows = self.table.batch(torch.cat(members))
        values = with_groups(rows, [len(item) for item in members]).values
        return RowBatch(ids, {**values, ROWS: rows.ids})

    def address(self, row: int) -> str:
        """The field and what the group's rows share of it."""
        return f"{self.field} {self.called[row]}"

    def to(self, device: torch.device, dtype: torch.dtype) -> GroupTable:
        """The same groups elsewhere."""
        return replace(
            self,
            table=self.table.to(device, dtype),
            rows=[item.to(device) for item in self.rows],
            splits={name: ids.to(device) for name, ids in self.splits.items()},
        )

    def limited(self, rows: int) -> GroupTable:
        """At most this many groups of each split; positions stay what they were."""
        return replace(self, splits={name: ids[:rows] for name, ids in self.splits.items()})

    def rows_in(self, ids: Tensor) -> int:
        """How many rows these groups have together."""
        return sum(len(self.rows[group]) for group in ids.tolist())


def rows_in(table: Table, ids: Tensor) -> int:
    """How many rows of a data set these are, which groups have several of."""
    return table.rows_in(ids) if isinstance(table, GroupTable) else len(ids)


def group_codes(table: Table, ids: Tensor, field: str) -> tuple[Tensor, list[str]]:
    """The group of each of these rows, [n] int64 from 0, in the order of what its rows share, and what that is, in words."""
    pieces = [table.batch(piece).values[field] for piece in torch.split(ids, PIECE)] if len(ids) else []
    if pieces and not isinstance(pieces[0], Tensor):
        codes, names = coded([str(text) for piece in pieces for text in piece])  # type: ignore[attr-defined]
        return codes.to(ids.device), names
    codes, values = coded(torch.cat(pieces) if pieces else ids)  # type: ignore[arg-type]
    called = table.called.get(field, {}) if isinstance(table, ColumnTable) else {}
    return codes, [called.get(v, str(v)) if not isinstance(v, bool) else str(v).lower() for v in values]


def coded(column: Tensor | Sequence[str]) -> tuple[Tensor, list[Any]]:
    """Which rows have the same value, [n] int64 from 0 in the order of values, and the values."""
    if isinstance(column, Tensor):
        found, codes = torch.unique(column, return_inverse=True)
        return codes, found.tolist()
    values = sorted(set(column))
    places = {value: place for place, value in enumerate(values)}
    return torch.tensor([places[value] for value in column], dtype=torch.long), values
