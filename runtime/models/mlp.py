"""``mlp``: a multilayer perceptron on the joined inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise

import torch.nn.functional as functional
from torch import Tensor, nn

from pdual.dsl.declarations.architecture_plain import MlpSettings
from pdual.dsl.declarations.architecture_vectors import input_width, output_width
from pdual.dsl.declarations.references import Settings
from pdual.dsl.declarations.signature import Signature
from pdual.runtime.data.context import ArchitectureContext
from pdual.runtime.models.interface import ModelOutput
from pdual.runtime.models.values import affine, flattened, input_columns, outputs_of, slots

ACTIVATIONS: Mapping[str, Callable[[Tensor], Tensor]] = {
    "relu": functional.relu,
    "gelu": functional.gelu,
    "silu": functional.silu,
    "tanh": functional.tanh,
    "softplus": functional.softplus,
}


class Perceptron(nn.Module):
    """``[..., inputs] -> ([..., last hidden], [..., outputs])``: penultimate representation and output.

    Each hidden layer is ``a(W x + b)``, plus ``x`` where ``skip`` holds and the widths agree; without hidden
    layers the penultimate representation is what the output layer reads, the (normalised) input.
    """

    def __init__(self, inputs: int, outputs: int, settings: MlpSettings) -> None:
        super().__init__()
        widths = (inputs, *settings.hidden)
        self.hidden = nn.ModuleList(affine(a, b) for a, b in pairwise(widths))
        self.skips = tuple(settings.skip and a == b for a, b in pairwise(widths))
        self.last = affine(widths[-1], outputs)
        self.activation = ACTIVATIONS[settings.activation]
        self.normalised = (inputs,) if settings.normalise else None
        if settings.output_bias:
            nn.init.constant_(self.last.bias, settings.output_bias)

    def forward(self, vector: Tensor) -> tuple[Tensor, Tensor]:
        """Apply the layers along the last axis."""
        if self.normalised is not None:
            vector = functional.layer_norm(vector, self.normalised)
        for layer, skips in zip(self.hidden, self.skips, strict=True):
            made = self.activation(layer(vector))
            vector = vector + made if skips else made
        return vector, self.last(vector)


class Mlp(nn.Module):
    """A perceptron between the arguments and the outputs of a model."""

    def __init__(self, signature: Signature, settings: MlpSettings, context: ArchitectureContext) -> None:
        super().__init__()
        inputs = input_width(signature, context.sizes)
        outputs = output_width(signature, context.sizes)
        assert inputs is not None, "the compiler closes open axes before a model is built"
        assert outputs is not None
        self.columns = input_columns(signature, context.sizes)
        self.slots = slots(signature, context.sizes)
        self.has_features = bool(settings.hidden)
        self.perceptron = Perceptron(inputs, outputs, settings)

    def forward(self, inputs: Mapping[str, Tensor]) -> ModelOutput:
        """Arguments [batch, *axes] to outputs [batch, *axes] and the last hidden layer [batch, width]."""
        vector = flattened(inputs, self.columns, self.perceptron.last.bias.dtype)
        features, flat = self.perceptron(vector)
        return ModelOutput(outputs_of(flat, self.slots), {"": features} if self.has_features else {})


def build(signature: Signature, settings: Settings, context: ArchitectureContext) -> nn.Module:
    """The builder of ``mlp``."""
    assert isinstance(settings, MlpSettings)
    return Mlp(signature, settings, context)
