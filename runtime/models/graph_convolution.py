"""Graph convolutions on one graph that all rows share: dense where it is small, else along the edges."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import cast

import torch
import torch.nn.functional as functional
from torch import Tensor, nn

with warnings.catch_warnings():
    # The library scripts some of its classes while it is imported, which recent torch calls deprecated.
    warnings.simplefilter("ignore", DeprecationWarning)
    from torch_geometric.nn import DenseGraphConv, GraphConv

#: Up to this many nodes a dense adjacency is multiplied; beyond, values go along the edges.
DENSE_LIMIT = 512


@dataclass(frozen=True, slots=True)
class Structure:
    """The graph: both ends of every edge ([edges] int64), the node of each attached member ([attached])."""

    nodes: int
    source: Tensor
    target: Tensor
    at: Tensor

    def weighted_edges(self) -> tuple[Tensor, Tensor]:
        """Both directions of every edge ([2, 2 edges]) and the entries of ``D^-1/2 A D^-1/2`` ([2 edges])."""
        edges = torch.stack((torch.cat((self.source, self.target)), torch.cat((self.target, self.source))))
        degree = torch.bincount(edges[1], minlength=self.nodes).to(torch.get_default_dtype())
        root = degree.clamp(min=1).rsqrt()
        return edges, root[edges[0]] * root[edges[1]]


class Adjacency(nn.Module):
    """``D^-1/2 A D^-1/2`` as a dense matrix, or as weighted edges when there are many nodes; a constant."""

    edges: Tensor
    weights: Tensor

    def __init__(self, structure: Structure, *, dense: bool) -> None:
        super().__init__()
        edges, weights = structure.weighted_edges()
        if dense:
            matrix = torch.zeros(structure.nodes, structure.nodes)
            weights = matrix.index_put_((edges[1], edges[0]), weights, accumulate=True)
        self.dense = dense
        self.register_buffer("edges", edges, persistent=False)
        self.register_buffer("weights", weights, persistent=False)

    def convolution(self, width: int) -> nn.Module:
        """A graph convolution that fits; both kinds have the same parameters under the same names."""
        kind = DenseGraphConv if self.dense else GraphConv
        found: nn.Module = kind(width, width)
        return found

    def convolve(self, convolution: nn.Module, states: Tensor) -> Tensor:
        """``W_1 x + W_2 A x + b`` for states [batch, nodes, width]."""
        given = (self.weights,) if self.dense else (self.edges, self.weights)
        return cast(Tensor, convolution(states, *given))


class Layer(nn.Module):
    """``x + W relu(C(n) + P mean(n)) + b``, ``n = norm(x)``: own state, neighbours, mean of all nodes."""

    def __init__(self, adjacency: Adjacency, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.convolution = adjacency.convolution(width)
        self.pooled = nn.Linear(width, width, bias=False)
        self.out = nn.Linear(width, width)

    def forward(self, states: Tensor, adjacency: Adjacency) -> Tensor:
        """[batch, nodes, width] to the same."""
        seen = self.norm(states)
        made = adjacency.convolve(self.convolution, seen) + self.pooled(seen.mean(1, keepdim=True))
        return states.add(self.out(functional.relu(made)))
