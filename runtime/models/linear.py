"""``linear``: one affine map of the joined inputs."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor, nn

from pdual.dsl.declarations.architecture_plain import LinearSettings
from pdual.dsl.declarations.architecture_vectors import input_width, output_width
from pdual.dsl.declarations.references import Settings
from pdual.dsl.declarations.signature import Signature
from pdual.runtime.data.context import ArchitectureContext
from pdual.runtime.models.interface import ModelOutput
from pdual.runtime.models.values import affine, flattened, input_columns, outputs_of, slots


class Linear(nn.Module):
    """``W x + b`` between the arguments and the outputs of a model; it has no features."""

    def __init__(self, signature: Signature, settings: LinearSettings, context: ArchitectureContext) -> None:
        super().__init__()
        inputs = input_width(signature, context.sizes)
        outputs = output_width(signature, context.sizes)
        assert inputs is not None, "the compiler closes open axes before a model is built"
        assert outputs is not None
        self.columns = input_columns(signature, context.sizes)
        self.slots = slots(signature, context.sizes)
        self.map = affine(inputs, outputs, settings.bias)

    def forward(self, inputs: Mapping[str, Tensor]) -> ModelOutput:
        """Arguments [batch, *axes] to outputs [batch, *axes]."""
        vector = flattened(inputs, self.columns, next(self.map.parameters()).dtype)
        return ModelOutput(outputs_of(self.map(vector), self.slots), {})


def build(signature: Signature, settings: Settings, context: ArchitectureContext) -> nn.Module:
    """The builder of ``linear``."""
    assert isinstance(settings, LinearSettings)
    return Linear(signature, settings, context)
