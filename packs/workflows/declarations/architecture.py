"""``graph_pair``: a graph matched with a vector."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import Field

from pdual.dsl.declarations.architecture import Architecture, Complaint
from pdual.dsl.declarations.architecture_vectors import affine, vector
from pdual.dsl.declarations.references import Settings
from pdual.dsl.declarations.signature import Signature, Sizes, width
from pdual.dsl.types import REAL, ArrayType, GraphType, Kind, RaggedAxis


class GraphPairSettings(Settings):
    """``graph_pair(convolutions = 2, width = 2048)``: all layers have this width.

    ``dropout`` follows every ReLU while the network is trained. None by default: a constraint that has to hold on each row
    is then measured on the network that is evaluated. What multipliers read has none of it in any case, at the price of a
    second forward pass.
    """

    convolutions: int = Field(default=2, ge=1)
    width: int = Field(default=2048, ge=1)
    dropout: float = Field(default=0.0, ge=0, lt=1)


def pair_of(signature: Signature) -> tuple[tuple[str, GraphType], tuple[str, ArrayType]]:
    """The graph and the vector of a signature without complaints, each with its name."""
    (graph,), (array,) = _pair(signature)
    return graph, array


def _pair(signature: Signature) -> tuple[list[tuple[str, GraphType]], list[tuple[str, ArrayType]]]:
    graphs = [(name, array) for name, array in signature.inputs if isinstance(array, GraphType)]
    vectors = [(name, array) for name, array in signature.inputs if isinstance(array, ArrayType)]
    return graphs, vectors


def _is_vector(array: ArrayType) -> bool:
    return array.element is Kind.REAL and len(array.axes) == 1 and not isinstance(array.axes[0], RaggedAxis)


def _pair_complaints(signature: Signature, settings: Settings) -> Iterable[Complaint]:
    graphs, vectors = _pair(signature)
    if len(graphs) != 1 or len(vectors) != 1:
        found = f"{len(graphs)} graphs and {len(vectors)} arrays"
        yield Complaint("inputs", "one graph and one vector `real[dim]`", found)
    for name, graph in graphs:
        if len(graph.fields) != 1 or not _is_vector(graph.fields[0][1]):
            yield Complaint(name, "a graph with one vector on every node", str(graph))
    for name, array in vectors:
        if not _is_vector(array):
            yield Complaint(name, "a vector `real[dim]`", str(array))
    if len(signature.outputs) != 1:
        yield Complaint("outputs", "one output `real`", f"{len(signature.outputs)} outputs")
    for output in signature.outputs[:1]:
        if output.type != REAL:
            yield Complaint(output.name or "output", "real", str(output.type))


def _pair_features(signature: Signature, settings: Settings, sizes: Sizes) -> ArrayType:
    assert isinstance(settings, GraphPairSettings)
    return vector(settings.width)


def _pair_parameters(signature: Signature, settings: Settings, sizes: Sizes) -> int | None:
    """Convolutions ``node - w ...``, vector ``dim - w - w - w``, head ``2w - w - w - 1``, all with biases."""
    assert isinstance(settings, GraphPairSettings)
    (_, graph), (_, array) = pair_of(signature)
    node, question, side = width(graph.fields[0][1], sizes), width(array, sizes), settings.width
    if node is None or question is None:
        return None
    convolutions = affine(node, side) + (settings.convolutions - 1) * affine(side, side)
    task = affine(question, side) + 2 * affine(side, side)
    head = affine(2 * side, side) + affine(side, side) + affine(side, 1)
    return convolutions + task + head


GRAPH_PAIR = Architecture(
    name="graph_pair",
    summary="graph convolutions on one input, a perceptron on the other, a perceptron on both: one score",
    settings=GraphPairSettings,
    positional=(),
    complaints=_pair_complaints,
    features=_pair_features,
    parameters=_pair_parameters,
    builder="pdual.packs.workflows.models.graph_pair:build",
)
