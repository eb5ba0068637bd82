"""``gnn``: residual graph convolutions on a graph that all rows share."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from pdual.dsl.declarations.architecture_gnn import (
    GnnSettings,
    GraphSets,
    feature_width,
    graph_sets,
    member_set,
    member_width,
)
from pdual.dsl.declarations.architecture_vectors import arrays
from pdual.dsl.declarations.known import Known
from pdual.dsl.declarations.references import GivenField, Settings
from pdual.dsl.declarations.signature import Output, Signature, Sizes, part_names, shape
from pdual.runtime.data.context import ArchitectureContext
from pdual.runtime.models.graph_convolution import DENSE_LIMIT, Adjacency, Layer, Structure
from pdual.runtime.models.interface import ModelOutput
from pdual.runtime.models.squash import squash
from pdual.runtime.models.values import Column, columns, joined


class Readout(nn.Module):
    """One output on a set: an affine map of its own for every member.

    [batch, members, width] to [batch, members, numbers]: ``y_n = W_n^T x_n + b_n``.
    """

    def __init__(self, output: Output, sizes: Sizes, width: int) -> None:
        super().__init__()
        name, numbers = member_set(output.type), member_width(output.type, sizes)
        assert numbers is not None
        members = 1 if name is None else sizes[name]
        bound = width**-0.5
        self.weight = nn.Parameter(torch.empty(members, width, numbers).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(members, numbers).uniform_(-bound, bound))
        self.parts = part_names(output.name, output.type)
        self.low, self.high = output.low, output.high
        self.shape = tuple(side for side in shape(output.type, sizes) if side is not None)

    def forward(self, features: Tensor) -> dict[str, Tensor]:
        """The output's tensors, [batch, *axes] each, squashed into its bounds."""
        raw = torch.einsum("bnw,nwk->bnk", features, self.weight) + self.bias
        bounded = squash(raw, self.low, self.high).chunk(len(self.parts), dim=-1)
        return {part: value.reshape(-1, *self.shape) for part, value in zip(self.parts, bounded, strict=True)}


class Gnn(nn.Module):
    """Read-in, a learned embedding of each node, residual layers, a last norm, and a readout an output.

    Values on the attached set are added up at their nodes; values of the whole row are given to every node.
    Features: a node's last state; an attached member has its node's; an edge both ends'.
    """

    ends: Tensor
    at: Tensor

    def __init__(self, signature: Signature, settings: GnnSettings, context: ArchitectureContext) -> None:
        super().__init__()
        sets = graph_sets(settings)
        assert sets is not None
        self.sets: GraphSets = sets
        structure = read_structure(settings, sets, context)
        ends = torch.stack((structure.source, structure.target), dim=1).flatten()
        self.register_buffer("ends", ends, persistent=False)
        self.register_buffer("at", structure.at, persistent=False)
        self.columns: tuple[tuple[str | None, Column], ...] = tuple(
            (member_set(array), column)
            for name, array in arrays(signature)
            for column in columns(name, array, context.sizes)
        )
        self.nodes = structure.nodes
        width = settings.width
        inputs = [member_width(array, context.sizes) or 0 for _, array in arrays(signature)]
        self.read_in = nn.Linear(sum(inputs), width)
        self.embedding = nn.Parameter(torch.randn(self.nodes, width) * 0.1)
        self.adjacency = Adjacency(structure, dense=self.nodes <= DENSE_LIMIT)
        self.layers = nn.ModuleList(Layer(self.adjacency, width) for _ in range(settings.layers))
        self.norm = nn.LayerNorm(width)
        self.outputs = tuple(member_set(output.type) for output in signature.outputs)
        self.readouts = nn.ModuleList(
            Readout(output, context.sizes, _readout_width(output, sets, width)) for output in signature.outputs
        )

    def forward(self, inputs: Mapping[str, Tensor]) -> ModelOutput:
        """Arguments [batch, members, ...] to outputs alike and features [batch, members, width]."""
        states = self.read_in(self._at_nodes(inputs)) + self.embedding
        for layer in self.layers:
            states = layer(states, self.adjacency)
        states = self.norm(states)
        features = self._features(states)
        outputs: dict[str, Tensor] = {}
        for name, readout in zip(self.outputs, self.readouts, strict=True):
            seen = states.mean(1, keepdim=True) if name is None else features[name]
            outputs.update(readout(seen))
        return ModelOutput(outputs, features)

    def _at_nodes(self, inputs: Mapping[str, Tensor]) -> Tensor:
        read: list[Tensor] = []
        for name, column in self.columns:
            value = column.read(inputs, 1 if name is None else 2, self.embedding.dtype)
            if name is None:
                value = value.unsqueeze(1).expand(-1, self.nodes, -1)
            elif name == self.sets.attached:
                empty = value.new_zeros(value.shape[0], self.nodes, value.shape[2])
                value = empty.index_add(1, self.at, value)
            read.append(value)
        return joined(read)

    def _features(self, states: Tensor) -> dict[str, Tensor]:
        ends = states.index_select(1, self.ends).reshape(states.shape[0], -1, 2 * states.shape[2])
        found = {self.sets.node: states, self.sets.edge: ends}
        if self.sets.attached is not None:
            found[self.sets.attached] = states.index_select(1, self.at)
        return found


def read_structure(settings: GnnSettings, sets: GraphSets, context: ArchitectureContext) -> Structure:
    """The maps of the settings as tensors, from what is known."""

    def values(field: GivenField) -> Tensor:
        known: Known = context.knowns[field.given]
        return torch.tensor(known.fields[field.field], dtype=torch.int64)

    source, target = (values(end) for end in settings.edges)
    at = values(settings.at) if settings.at is not None else torch.empty(0, dtype=torch.int64)
    return Structure(context.sizes[sets.node], source, target, at)


def _readout_width(output: Output, sets: GraphSets, width: int) -> int:
    name = member_set(output.type)
    return width if name is None else feature_width(sets, name, width)


def build(signature: Signature, settings: Settings, context: ArchitectureContext) -> nn.Module:
    """The builder of ``gnn``."""
    assert isinstance(settings, GnnSettings)
    return Gnn(signature, settings, context)
