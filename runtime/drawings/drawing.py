"""What a source is handed to draw, and what it gives back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import torch
from torch import Tensor, nn

from pdual.compiler.graph import Graph
from pdual.compiler.layout import Layout, PartLayout
from pdual.dsl import typed
from pdual.runtime.data.tables import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class RowsToDraw:
    """Some rows of a data set with their multipliers.

    ``multipliers`` [n, columns], scaled, 0 where an entry is masked; ``price`` [n]: the sum over a row's inequalities (over all
    its constraints where it has none) of their absolute values, what its requirements cost. Where rows have no multipliers
    ``held`` is false and both are 0. ``models``: the run's, in evaluation mode.
    """

    graph: Graph
    data: typed.TypedData
    table: Table
    layout: Layout
    split: str
    ids: Tensor
    multipliers: Tensor
    price: Tensor
    models: nn.ModuleDict | None = None
    held: bool = True

    @property
    def ranked(self) -> list[int]:
        """Positions among the rows, the most costly first."""
        return torch.argsort(self.price, descending=True, stable=True).tolist()

    def address(self, position: int) -> str:
        """How a row is called."""
        return self.table.address(int(self.ids[position]))

    def columns(self, parts: Sequence[PartLayout]) -> list[int]:
        """The columns of some parts."""
        return self.layout.columns_in(parts)


@dataclass(frozen=True)
class Picture:
    """A figure, and in words what it shows."""

    title: str
    figure: Figure
    words: str


@dataclass(frozen=True)
class Quotations:
    """Rows in words: the price of each, None where rows have none, and its texts by field."""

    title: str
    words: str
    rows: tuple[tuple[str, float | None, Mapping[str, str]], ...]


Drawing: TypeAlias = Picture | Quotations
