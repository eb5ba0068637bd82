"""A table with more train rows: rows of other splits whose constraints are imposed too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from pdual.runtime.data.tables import RowBatch, Table


@dataclass(frozen=True)
class Extended:
    """The rows of ``table``, of which ``extra`` ([m] int64) are train rows as well; it has no other split."""

    table: Table
    extra: Tensor

    @property
    def splits(self) -> Mapping[str, Tensor]:
        """Only ``train``: the table's own train rows, then the others."""
        own = self.table.splits["train"]
        return {"train": torch.cat([own, self.extra.to(own)])}

    @property
    def fingerprint(self) -> str:
        """The table's, and which rows were added."""
        return f"{self.table.fingerprint}+{self.extra.tolist()}" if len(self.extra) else self.table.fingerprint

    @property
    def multipliers(self) -> Mapping[str, Tensor]:
        """The table's."""
        return self.table.multipliers

    def __len__(self) -> int:
        return len(self.table)

    def batch(self, ids: Tensor) -> RowBatch:
        """The rows at these positions."""
        return self.table.batch(ids)

    def address(self, row: int) -> str:
        """As the table calls it."""
        return self.table.address(row)

    def to(self, device: torch.device, dtype: torch.dtype) -> Extended:
        """The same rows elsewhere."""
        return replace(self, table=self.table.to(device, dtype), extra=self.extra.to(device))

    def limited(self, rows: int) -> Extended:
        """At most this many of the table's own rows of each split, and the others."""
        return replace(self, table=self.table.limited(rows))
