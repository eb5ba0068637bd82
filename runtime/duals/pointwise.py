"""``pointwise(cap = G)``: one number per row and constraint, a table.

The update is the pointwise dual update of Boero, Nixon and Ribeiro, "Implementation Details": lam_n <- clip(lam_n + rho g_n, 0, G).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from pdual.runtime.data.features import Features
from pdual.runtime.duals.context import DualContext
from pdual.runtime.duals.store import Bounds, DualStore, Reading, step
from pdual.runtime.system.memory import check_room


class RowTable:
    """A table [rows, c] that begins at 0 and is addressed by row id; only the rows that are named are ever
    touched.
    """

    def __init__(self, rows: Tensor, like: Tensor) -> None:
        if like.device.type == "cpu":  # beside the multipliers themselves, a pass over all rows keeps their residuals
            check_room(
                "a multiplier for every entry of every train row", len(rows) * len(like), 2 * like.element_size()
            )
        self.entries = torch.zeros(len(rows), len(like), dtype=like.dtype, device=like.device)
        self._slots = torch.full((int(rows.max()) + 1 if len(rows) else 0,), -1, device=rows.device)
        self._slots[rows] = torch.arange(len(rows), device=rows.device)

    def read(self, ids: Tensor) -> Tensor:
        """[batch, c]; every id must be one of the table's rows."""
        return self.entries.index_select(0, self._slots.index_select(0, ids))

    def write(self, ids: Tensor, entries: Tensor) -> None:
        """Replace the rows named by ``ids`` ([batch]) by ``entries`` ([batch, c])."""
        self.entries.index_copy_(0, self._slots.index_select(0, ids), entries)


class PointwiseStore(DualStore):
    """lam_n <- clip(lam_n + rho g_n, 0, G), or [-G, G] for an equality. Undefined on rows it was not made
    for.
    """

    def __init__(self, bounds: Bounds, rows: Tensor) -> None:
        self._bounds = bounds
        self._table = RowTable(rows, bounds.high)

    def value(self, ids: Tensor, features: Features, values: Mapping[str, object]) -> Tensor:
        """The rows of the table."""
        return self._table.read(ids)

    def update(self, reading: Reading) -> None:
        """One step of the rows that were read; no other row is touched."""
        self._table.write(reading.ids, step(reading, self._bounds))

    def state(self) -> dict[str, object]:
        """The table."""
        return {"table": self._table.entries}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Replace the table."""
        self._table.entries.copy_(state["table"])

    @property
    def parameters(self) -> int:
        """Rows times columns."""
        return self._table.entries.numel()

    @property
    def bytes(self) -> int:
        """Grows with the rows."""
        return self._table.entries.nbytes


def build(context: DualContext) -> PointwiseStore:
    """The builder of ``pointwise``."""
    return PointwiseStore(context.bounds, context.rows)
