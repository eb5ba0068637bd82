"""Graphs as rows have them: many side by side in a store, those of a batch taken from it, each distinct one once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class GraphBatch:
    """One graph a row; a graph that several rows have is there once.

    ``nodes``: the fields of the nodes, [nodes, *axes] each, graph after graph. ``graph`` [nodes] int64: each node's graph.
    ``edges`` [2, edges] int64: from and to, as positions among the nodes. ``rows`` [batch] int64: each row's graph.
    ``graphs``: how many there are.
    """

    nodes: Mapping[str, Tensor]
    graph: Tensor
    edges: Tensor
    rows: Tensor
    graphs: int


@dataclass(frozen=True, slots=True)
class GraphStore:
    """Graphs side by side. Graph g has the nodes ``node_offsets[g]`` to ``node_offsets[g + 1]``, likewise its edges.

    ``members`` [nodes] int64 says what a node is, as a position among values that are held elsewhere. ``edges`` [2, edges]
    int64 are positions within the own graph.
    """

    members: Tensor
    node_offsets: Tensor
    edges: Tensor
    edge_offsets: Tensor

    def batch(self, rows: Tensor, values: Mapping[str, Tensor]) -> GraphBatch:
        """The graphs at ``rows`` ([batch] int64); ``values``: fields by name, which ``members`` points into."""
        chosen, places = torch.unique(rows, return_inverse=True)
        nodes, graph = _pieces(self.node_offsets, chosen)
        edges, owner = _pieces(self.edge_offsets, chosen)
        sizes = self.node_offsets.diff().index_select(0, chosen)
        starts = sizes.cumsum(0) - sizes
        members = self.members.index_select(0, nodes)
        return GraphBatch(
            {name: value.index_select(0, members) for name, value in values.items()},
            graph,
            self.edges.index_select(1, edges) + starts.index_select(0, owner),
            places,
            len(chosen),
        )

    def to(self, device: torch.device) -> GraphStore:
        """The same graphs in another place."""
        return GraphStore(
            self.members.to(device), self.node_offsets.to(device), self.edges.to(device), self.edge_offsets.to(device)
        )


def _pieces(offsets: Tensor, chosen: Tensor) -> tuple[Tensor, Tensor]:
    """The positions of the chosen pieces of something cut at ``offsets``, and to which of the chosen each belongs."""
    starts = offsets.index_select(0, chosen)
    lengths = offsets.index_select(0, chosen + 1) - starts
    owner = torch.repeat_interleave(torch.arange(len(chosen), device=offsets.device), lengths)
    before = lengths.cumsum(0) - lengths
    return torch.arange(len(owner), device=offsets.device) + (starts - before).index_select(0, owner), owner
