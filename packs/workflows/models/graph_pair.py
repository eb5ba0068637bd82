"""``graph_pair``: graph convolutions on one input, a perceptron on the other, a perceptron on both: one score."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import cast

import torch
import torch.nn.functional as functional
from torch import Tensor, nn

from pdual.dsl.declarations.references import Settings
from pdual.dsl.declarations.signature import Signature, width
from pdual.packs.workflows.declarations.architecture import GraphPairSettings, pair_of
from pdual.packs.workflows.graphs import GraphBatch
from pdual.packs.workflows.models.distinct import distinct_rows
from pdual.runtime.data.context import ArchitectureContext
from pdual.runtime.models.interface import ModelOutput
from pdual.runtime.models.values import outputs_of, slots


class GraphPair(nn.Module):
    """The predictor of FLORA-Bench that joins both sides: graph and vector to one score; features: the last hidden layer.

    Graph: ``convolutions`` GCN layers ``A x W + b`` with ReLU between, the mean over the nodes, length 1. Vector: three linear
    layers with ReLU between, length 1. Both joined: two hidden layers, one number. Dropout follows every ReLU.

    What does not depend on the row is computed once for all rows that have it: a graph, a vector, and what each adds to the
    first joint layer. Nothing else changes but rounding, and masks of dropout, which such rows then share.
    """

    def __init__(self, signature: Signature, settings: GraphPairSettings, context: ArchitectureContext) -> None:
        super().__init__()
        (self.graph, graph), (self.vector, array) = pair_of(signature)
        ((self.field, on_nodes),) = graph.fields
        node, question, side = width(on_nodes, context.sizes), width(array, context.sizes), settings.width
        assert node is not None
        assert question is not None
        self.slots = slots(signature, context.sizes)
        self.dropout = settings.dropout
        widths = (node, *[side] * settings.convolutions)
        self.convolutions = nn.ModuleList(nn.Linear(before, after) for before, after in pairwise(widths))
        for layer in self.convolutions:  # as graph convolutions are by custom
            nn.init.xavier_uniform_(cast(Tensor, layer.weight))
            nn.init.zeros_(cast(Tensor, layer.bias))
        self.task = nn.ModuleList(nn.Linear(before, side) for before in (question, side, side))
        self.joint = nn.Linear(2 * side, side)
        self.hidden = nn.Linear(side, side)
        self.last = nn.Linear(side, 1)

    def forward(self, inputs: Mapping[str, object]) -> ModelOutput:
        """A graph a row and [batch, dim] to [batch], and features [batch, width], in which there is no dropout."""
        graph, vector = inputs[self.graph], inputs[self.vector]
        assert isinstance(graph, GraphBatch)
        assert isinstance(vector, Tensor)
        noise = self.dropout if self.training else 0.0
        seen = self._hidden(graph, vector, noise)
        features = seen
        if noise:
            # A multiplier reads features: noise in them would change it between two looks at the same row.
            with torch.no_grad():
                features = self._hidden(graph, vector, 0.0)
            seen = functional.dropout(seen, noise)
        return ModelOutput(outputs_of(self.last(seen), self.slots), {"": features})

    def _hidden(self, graph: GraphBatch, vector: Tensor, noise: float) -> Tensor:
        """The last hidden layer, [batch, width]."""
        of_graph, of_vector = self.joint.weight.chunk(2, dim=1)
        distinct, places = distinct_rows(vector)
        left = functional.linear(self._graphs(graph, noise), of_graph, self.joint.bias)
        right = functional.linear(self._vectors(distinct, noise), of_vector)
        joined = left.index_select(0, graph.rows) + right.index_select(0, places)
        return functional.relu(self.hidden(_activated(joined, noise)))

    def _graphs(self, graph: GraphBatch, noise: float) -> Tensor:
        """Each distinct graph as a vector of length 1, [graphs, width]."""
        states = graph.nodes[self.field].to(self.joint.weight.dtype)
        links = Links.of(graph, states.dtype)
        *inner, outer = self.convolutions
        for place, layer in enumerate(inner):
            convolved = _convolved_repeated if place == 0 else _convolved
            states = _activated(convolved(cast(nn.Linear, layer), states, links), noise)
        # The mean of the last layer is the layer of the mean, on as many vectors as there are graphs.
        return functional.normalize(outer(links.means(states)), dim=1)

    def _vectors(self, vector: Tensor, noise: float) -> Tensor:
        """Each distinct vector, of length 1: [vectors, width]."""
        *inner, outer = self.task
        states = vector.to(self.joint.weight.dtype)
        for layer in inner:
            states = _activated(layer(states), noise)
        return functional.normalize(outer(states), dim=1)


class Links:
    """``A = D^(-1/2) (E + I) D^(-1/2)`` of some graphs, D the degrees into the nodes; E counts an edge as often as it is there.

    A node has one loop, whether the graph has it or not, as torch-geometric's ``GCNConv`` understands it. ``share`` [nodes]:
    what a node gives to the mean of its graph after one more step.
    """

    def __init__(
        self, source: Tensor, target: Tensor, weight: Tensor, graph: Tensor, share: Tensor, graphs: int
    ) -> None:
        self._source, self._target, self._weight = source, target, weight.unsqueeze(1)
        self._graph, self._share, self._graphs = graph, share.unsqueeze(1), graphs

    @classmethod
    def of(cls, batch: GraphBatch, dtype: torch.dtype) -> Links:
        """The links of a batch of graphs."""
        nodes = len(batch.graph)
        own = torch.arange(nodes, device=batch.graph.device)
        source, target = batch.edges[:, batch.edges[0] != batch.edges[1]]
        source, target = torch.cat((source, own)), torch.cat((target, own))
        root = torch.bincount(target, minlength=nodes).to(dtype).rsqrt()
        weight = root.index_select(0, source) * root.index_select(0, target)
        sizes = torch.bincount(batch.graph, minlength=batch.graphs).to(dtype)
        given = weight.new_zeros(nodes).index_add(0, source, weight)
        return cls(source, target, weight, batch.graph, given / sizes.index_select(0, batch.graph), batch.graphs)

    def passed_on(self, states: Tensor) -> Tensor:
        """``A x``, [nodes, width]."""
        sent = states.index_select(0, self._source) * self._weight
        return torch.zeros_like(states, dtype=sent.dtype).index_add(0, self._target, sent)

    def means(self, states: Tensor) -> Tensor:
        """The mean of ``A x`` over the nodes of each graph, [graphs, width]."""
        given = states * self._share
        return given.new_zeros(self._graphs, given.shape[1]).index_add(0, self._graph, given)


def _convolved(layer: nn.Linear, states: Tensor, links: Links) -> Tensor:
    """``A x W + b``, in the order in which fewer numbers are passed on."""
    if layer.out_features < layer.in_features:
        return links.passed_on(functional.linear(states, layer.weight)) + layer.bias
    found: Tensor = layer(links.passed_on(states))
    return found


def _convolved_repeated(layer: nn.Linear, states: Tensor, links: Links) -> Tensor:
    """The same of nodes of which many have the same state: one agent's prompt stands in many workflows."""
    distinct, places = distinct_rows(states)
    if 2 * len(distinct) > len(states):
        return _convolved(layer, states, links)
    return links.passed_on(functional.linear(distinct, layer.weight).index_select(0, places)) + layer.bias


def _activated(states: Tensor, noise: float) -> Tensor:
    active = functional.relu(states)
    return functional.dropout(active, noise) if noise else active


def build(signature: Signature, settings: Settings, context: ArchitectureContext) -> nn.Module:
    """The builder of ``graph_pair``."""
    assert isinstance(settings, GraphPairSettings)
    return GraphPair(signature, settings, context)
