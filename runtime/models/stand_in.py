"""A function in the place of a model, so that a program can be evaluated on given outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from torch import Tensor, nn

from pdual.runtime.models.interface import ModelOutput

Values: TypeAlias = Mapping[str, Tensor]


class StandIn(nn.Module):
    """Answers with ``answer(inputs, outputs)`` of what the model is asked and says, else as the model does; the features are its own.

    ``inputs`` are those of the last call, None before the first.
    """

    def __init__(self, model: nn.Module, answer: Callable[[Values, Values], Values] | None = None) -> None:
        super().__init__()
        self.model = model
        self.answer = answer
        self.inputs: Values | None = None

    def forward(self, inputs: Values) -> ModelOutput:
        """[batch, *axes] each."""
        found: ModelOutput = self.model(inputs)
        self.inputs = inputs
        return found if self.answer is None else ModelOutput(self.answer(inputs, found.outputs), found.features)
