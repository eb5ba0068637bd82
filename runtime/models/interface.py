"""How every model is called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol, runtime_checkable

from torch import Tensor, nn


class ModelOutput(NamedTuple):
    """What a model returns.

    ``outputs``: each output under its part names (``v.re``, ``v.im``; a single unnamed real output is ``""``): [batch, *axes].
    ``features``: the penultimate representation: ``{"": [batch, width]}`` for a vector, ``{"bus": [batch, |bus|, width], ...}``
    per member, ``{"token": Ragged}`` per token. Nothing in it depends on other rows of the batch.

    A model is an ``nn.Module`` with ``forward(inputs: dict[str, Tensor]) -> ModelOutput``; ``inputs`` holds each argument under its
    part names (``load.re``, ``load.im``), and ``"@row"`` the rows' positions ([batch] int64), which only ``free`` reads.
    """

    outputs: Mapping[str, Tensor]
    features: Mapping[str, Tensor]


@runtime_checkable
class Remembers(Protocol):
    """A model that evaluates, before anything trains, what it will be asked and will always answer alike."""

    def remember(self) -> None:
        """Evaluate it; the models are on their device, and nothing was trained yet."""


def remember(models: nn.ModuleDict) -> None:
    """Have every model that remembers do so."""
    for model in models.values():
        if isinstance(model, Remembers):
            model.remember()
