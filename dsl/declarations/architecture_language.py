"""``causal_lm`` and ``graph_pair``: a language model, token by token; a graph matched with a vector."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import Field

from pdual.dsl.declarations.architecture import Architecture, Complaint
from pdual.dsl.declarations.architecture_vectors import affine, vector
from pdual.dsl.declarations.references import Settings
from pdual.dsl.declarations.signature import Signature, Sizes, width
from pdual.dsl.types import REAL, TEXT, ArrayType, GraphType, Kind, OpenAxis, RaggedAxis


class CausalLmSettings(Settings):
    """``causal_lm(base, template = "chat")``.

    ``base`` is any causal language model that transformers loads, by name or folder. ``template`` says how
    prompt and answer become one text. ``lora`` is the rank of the adapter that is trained (0: every weight
    is), ``lora_alpha`` its scale. ``max_tokens`` bounds prompt and answer together.
    """

    base: str
    template: str = "chat"
    lora: int = Field(default=0, ge=0)
    lora_alpha: float = Field(default=16.0, gt=0)
    max_tokens: int = Field(default=512, ge=2)


class GraphPairSettings(Settings):
    """``graph_pair(convolutions = 2, width = 2048)``: all layers have this width.

    ``dropout`` follows every ReLU while the network is trained. None by default: a constraint that has to hold on each row
    is then measured on the network that is evaluated. What multipliers read has none of it in any case, at the price of a
    second forward pass.
    """

    convolutions: int = Field(default=2, ge=1)
    width: int = Field(default=2048, ge=1)
    dropout: float = Field(default=0.0, ge=0, lt=1)


def _lm_complaints(signature: Signature, settings: Settings) -> Iterable[Complaint]:
    if len(signature.inputs) != 2:
        yield Complaint("inputs", "a prompt and an answer, both `text`", f"{len(signature.inputs)} inputs")
    else:
        for name, array in signature.inputs:
            if array != TEXT:
                yield Complaint(name, "text", str(array))
    if len(signature.outputs) != 1:
        yield Complaint("outputs", "one output `logprob: real[token]`", f"{len(signature.outputs)} outputs")
        return
    (output,) = signature.outputs
    per_token = len(output.type.axes) == 1 and isinstance(output.type.axes[0], RaggedAxis)
    if output.type.element is not Kind.REAL or not per_token:
        yield Complaint(output.name or "output", "real[token], one number for every token", str(output.type))
    elif output.low is not None or output.high is not None:
        yield Complaint(output.name or "output", "an output without a range: a log-probability has its own", "a range")


def _lm_features(signature: Signature, settings: Settings, sizes: Sizes) -> ArrayType:
    (axis,) = signature.outputs[0].type.axes
    name = axis.name if isinstance(axis, RaggedAxis) else "token"
    return ArrayType(Kind.REAL, (RaggedAxis(name), OpenAxis()))


def _lm_parameters(signature: Signature, settings: Settings, sizes: Sizes) -> None:
    return None  # only the base model's own files tell


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


CAUSAL_LM = Architecture(
    name="causal_lm",
    summary="a pretrained causal language model: the log-probability of every token of the answer",
    settings=CausalLmSettings,
    positional=("base",),
    complaints=_lm_complaints,
    features=_lm_features,
    parameters=_lm_parameters,
    builder="pdual.runtime.architectures.language:build_causal_lm",
)

GRAPH_PAIR = Architecture(
    name="graph_pair",
    summary="graph convolutions on one input, a perceptron on the other, a perceptron on both: one score",
    settings=GraphPairSettings,
    positional=(),
    complaints=_pair_complaints,
    features=_pair_features,
    parameters=_pair_parameters,
    builder="pdual.runtime.architectures.graph_pair:build",
)
