"""What a source is handed to draw, and what it gives back; and who is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import torch
from torch import Tensor, nn

from pdual.compiler.graph import Graph
from pdual.compiler.layout import Layout, PartLayout, Sense
from pdual.dsl import typed
from pdual.dsl.declarations.registry import named, sources
from pdual.dsl.declarations.source import BOUND_NAME
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


def drawings(
    graph: Graph,
    data: str,
    table: Table,
    layout: Layout,
    split: str,
    ids: Tensor,
    multipliers: Tensor | None,
    models: nn.ModuleDict | None = None,
) -> Sequence[Drawing]:
    """What the data set's source draws. Where no row has a multiplier, rows that a language model is asked about."""
    own = next(item for item in graph.spec.data if item.name == data)
    if multipliers is None or not multipliers.numel() or bool(multipliers.isnan().all()):
        from pdual.runtime.drawings import texts

        nothing = torch.zeros(len(ids), layout.columns, dtype=torch.float64)
        return texts.draw(
            RowsToDraw(graph, own, table, layout, split, ids, nothing, nothing.sum(1), models, held=False)
        )
    draw = named(sources()[own.source or BOUND_NAME].drawing)
    there = multipliers.nan_to_num(nan=0.0).double().cpu()
    price = priced(layout, there)
    found: Sequence[Drawing] = draw(RowsToDraw(graph, own, table, layout, split, ids, there, price, models))
    return found


def priced(layout: Layout, multipliers: Tensor) -> Tensor:
    """The sum of a row's multipliers: of its inequalities, of all its constraints where it has none: [n]."""
    limits = layout.columns_in(part for part in layout.parts if part.sense is Sense.AT_MOST)
    return (multipliers[:, limits] if limits else multipliers).abs().sum(1)
