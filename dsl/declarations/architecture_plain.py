"""``mlp``, ``linear`` and ``free``: architectures that see their inputs as one flat vector, or not at all."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from pdual.dsl.declarations.architecture import Architecture, Complaint
from pdual.dsl.declarations.architecture_vectors import (
    affine,
    array_complaints,
    input_width,
    output_complaints,
    output_width,
    vector,
)
from pdual.dsl.declarations.references import Settings
from pdual.dsl.declarations.signature import Signature, Sizes
from pdual.dsl.types import ArrayType

#: The key under which ``free`` looks for the number of rows among the sizes; no set can be called so.
ROWS = "@rows"

Width: TypeAlias = Annotated[int, Field(ge=1)]


class MlpSettings(Settings):
    """``mlp(hidden = [256, 256], activation = gelu)``.

    ``output_bias`` is where the last bias starts. ``normalise`` puts a LayerNorm (without parameters) on the
    input. With ``skip`` a hidden layer as wide as what it reads adds it to what it gives.
    """

    hidden: tuple[Width, ...]
    output_bias: float = 0.0
    activation: Literal["relu", "gelu", "silu", "tanh", "softplus"] = "relu"
    normalise: bool = False
    skip: bool = False


class LinearSettings(Settings):
    """``linear()``: one affine map of the flattened input; ``bias = false`` makes it linear."""

    bias: bool = True


class FreeSettings(Settings):
    """``free(start = 0)``: ``start`` is every value before training, before a declared range squashes it. Rows that are not train rows
    keep it. A model without inputs is one value for all rows.
    """

    start: float = 0.0


def _mlp_complaints(signature: Signature, settings: Settings) -> Iterable[Complaint]:
    assert isinstance(settings, MlpSettings)
    yield from array_complaints(signature)
    if settings.normalise and not signature.inputs:
        yield Complaint("normalise", "an input to normalise", "a model without inputs")


def _linear_complaints(signature: Signature, settings: Settings) -> Iterable[Complaint]:
    assert isinstance(settings, LinearSettings)
    yield from array_complaints(signature)
    if not settings.bias and not signature.inputs:
        yield Complaint("bias", "a bias, which is all that a model without inputs has", "`bias = false`")


def _free_complaints(signature: Signature, settings: Settings) -> Iterable[Complaint]:
    for output in signature.outputs:
        yield from output_complaints(output)


def _mlp_features(signature: Signature, settings: Settings, sizes: Sizes) -> ArrayType | None:
    assert isinstance(settings, MlpSettings)
    return vector(settings.hidden[-1]) if settings.hidden else None


def _no_features(signature: Signature, settings: Settings, sizes: Sizes) -> None:
    return None


def _mlp_parameters(signature: Signature, settings: Settings, sizes: Sizes) -> int | None:
    assert isinstance(settings, MlpSettings)
    inputs, outputs = input_width(signature, sizes), output_width(signature, sizes)
    if inputs is None or outputs is None:
        return None
    return sum(affine(a, b) for a, b in pairwise((inputs, *settings.hidden, outputs)))


def _linear_parameters(signature: Signature, settings: Settings, sizes: Sizes) -> int | None:
    assert isinstance(settings, LinearSettings)
    inputs, outputs = input_width(signature, sizes), output_width(signature, sizes)
    if inputs is None or outputs is None:
        return None
    return affine(inputs, outputs) if settings.bias else inputs * outputs


def _free_parameters(signature: Signature, settings: Settings, sizes: Sizes) -> int | None:
    outputs, rows = output_width(signature, sizes), sizes.get(ROWS) if signature.inputs else 1
    return None if outputs is None or rows is None else rows * outputs


def _has_no_range(signature: Signature) -> bool:
    """What squashes an output into its range makes means of affine maps something else."""
    return all(output.low is None and output.high is None for output in signature.outputs)


MLP = Architecture(
    name="mlp",
    summary="a multilayer perceptron on all inputs, flattened and joined",
    settings=MlpSettings,
    positional=("hidden",),
    complaints=_mlp_complaints,
    features=_mlp_features,
    parameters=_mlp_parameters,
    builder="pdual.runtime.models.mlp:build",
)

LINEAR = Architecture(
    name="linear",
    summary="one affine map of all inputs, flattened and joined",
    settings=LinearSettings,
    positional=(),
    complaints=_linear_complaints,
    features=_no_features,
    parameters=_linear_parameters,
    builder="pdual.runtime.models.linear:build",
    convex=_has_no_range,
)

FREE = Architecture(
    name="free",
    summary="one trainable value for every train row, whatever the inputs are; without inputs, one for all rows",
    settings=FreeSettings,
    positional=(),
    complaints=_free_complaints,
    features=_no_features,
    parameters=_free_parameters,
    builder="pdual.runtime.models.free:build",
    convex=lambda signature: True,
    by_row=lambda signature, settings: bool(signature.inputs),
)
