"""A model's place in a program, taken by numbers: what the program says of outputs that no network made."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor, nn

from pdual.runtime.architectures.interface import ModelOutput


class StandIn(nn.Module):
    """Answers with ``outputs`` where they are set, else as the model does; its features are the model's either way.

    ``inputs`` and ``said`` are those of the last call: None before the first.
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model
        self.outputs: Mapping[str, Tensor] | None = None
        self.inputs: Mapping[str, Tensor] | None = None
        self.said: Mapping[str, Tensor] | None = None

    def forward(self, inputs: Mapping[str, Tensor]) -> ModelOutput:
        """[batch, *axes] each."""
        found: ModelOutput = self.model(inputs)
        self.inputs = inputs
        self.said = found.outputs if self.outputs is None else self.outputs
        return ModelOutput(self.said, found.features)
