"""The drawings of a data set's rows, by what its source names for that."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from pdual.compiler.graph import Graph
from pdual.compiler.layout import Layout, Sense
from pdual.dsl.declarations.registry import sources
from pdual.dsl.declarations.source import BOUND_NAME
from pdual.dsl.extensions import named
from pdual.runtime.data.tables import Table
from pdual.runtime.drawings import texts
from pdual.runtime.drawings.drawing import Drawing, RowsToDraw


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
    """What the data set's source draws. Where no row has a multiplier, rows that a model answers in words."""
    own = next(item for item in graph.spec.data if item.name == data)
    if multipliers is None or not multipliers.numel() or bool(multipliers.isnan().all()):
        nothing = torch.zeros(len(ids), layout.columns, dtype=torch.float64)
        return texts.draw(
            RowsToDraw(graph, own, table, layout, split, ids, nothing, nothing.sum(1), models, held=False)
        )
    draw = named(sources()[own.source or BOUND_NAME].drawing)
    there = multipliers.nan_to_num(nan=0.0).double().cpu()
    price = priced(layout, there)
    made: Sequence[Drawing] = draw(RowsToDraw(graph, own, table, layout, split, ids, there, price, models))
    return made


def priced(layout: Layout, multipliers: Tensor) -> Tensor:
    """The sum of a row's multipliers: of its inequalities, of all its constraints where it has none: [n]."""
    limits = layout.columns_in(part for part in layout.parts if part.sense is Sense.AT_MOST)
    return (multipliers[:, limits] if limits else multipliers).abs().sum(1)
