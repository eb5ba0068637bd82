"""``preconditioned``: outputs as a correction to a point that meets the constraints, in the metric of the constraints."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from pdual.dsl.declarations.architecture_preconditioned import PreconditionedSettings
from pdual.dsl.declarations.references import Settings
from pdual.dsl.declarations.signature import Signature
from pdual.runtime.data.context import ArchitectureContext
from pdual.runtime.models.interface import ModelOutput
from pdual.runtime.models.values import Column, Slot, input_columns, outputs_of, slots


class Preconditioned(nn.Module):
    """``y = anchor + metric^(-1/2) z``, with ``z`` what the proposer says of the standardised inputs; its features.

    A constraint that is stiff in the outputs (a voltage of 0.001 per unit is megawatts of balance) has curvature 1 in ``z``: all
    weights learn at one rate. Until ``settle`` the anchor is the start and the metric the identity. All are part of the state.
    """

    anchor: Tensor
    spread: Tensor

    def __init__(
        self,
        proposer: nn.Module,
        inputs: tuple[Column, ...],
        outputs: tuple[Slot, ...],
        settings: PreconditionedSettings,
    ) -> None:
        super().__init__()
        self.proposer = proposer
        self.rows = settings.rows
        self.slots = outputs
        self._shown = tuple(column.part for column in inputs if column.members is None)
        starts = settings.start * len(outputs) if len(settings.start) == 1 else settings.start
        anchor = torch.cat([_started(item, value) for item, value in zip(outputs, starts, strict=True)])
        self.register_buffer("anchor", anchor)
        self.register_buffer("spread", torch.eye(len(anchor)))
        self.centres = _Named()
        self.scales = _Named()

    def forward(self, inputs: Mapping[str, Tensor]) -> ModelOutput:
        """Arguments and outputs of the model, [batch, *axes] each."""
        found: ModelOutput = self.proposer({**inputs, **self.standardised(inputs)})
        parts = [
            value.reshape(len(value), -1) for item in self.slots for value in map(found.outputs.__getitem__, item.parts)
        ]
        corrected = torch.addmm(self.anchor, torch.cat(parts, 1), self.spread)
        return ModelOutput(outputs_of(corrected, self.slots), found.features)

    def standardised(self, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The real inputs, centred and in units of their own spread over the train rows."""
        return {
            part: (inputs[part] - self.centres[part]) / self.scales[part] if part in self.centres else inputs[part]
            for part in self._shown
        }

    @torch.no_grad()
    def show(self, inputs: Mapping[str, Tensor]) -> None:
        """Take centre and spread of every real input from these rows; what does not vary is only centred."""
        for part in self._shown:
            value = inputs[part]
            if value.is_floating_point():
                spread = value.std(0, correction=0)
                self.centres.put(part, value.mean(0))
                self.scales.put(part, torch.where(spread > 0, spread, torch.ones_like(spread)))

    @torch.no_grad()
    def settle(self, anchor: Tensor, metric: Tensor) -> None:
        """Predict around ``anchor`` [numbers] in the metric [numbers, numbers], positive semidefinite.

        What the constraints do not tell (eigenvalues under 1) keeps its own unit.
        """
        values, vectors = torch.linalg.eigh(metric.double())
        spread = (vectors * values.clamp(min=1.0).rsqrt()) @ vectors.T
        self.anchor.copy_(anchor)
        self.spread.copy_(spread)


class _Named(nn.Module):
    """Tensors by the names of a model's inputs, which may hold dots."""

    def put(self, part: str, value: Tensor) -> None:
        name = _buffer(part)
        if hasattr(self, name):
            getattr(self, name).copy_(value)
        else:
            self.register_buffer(name, value.clone())

    def __contains__(self, part: str) -> bool:
        return hasattr(self, _buffer(part))

    def __getitem__(self, part: str) -> Tensor:
        found: Tensor = getattr(self, _buffer(part))
        return found


def _buffer(part: str) -> str:
    return "of_" + part.replace(".", "__")


def _started(item: Slot, value: float) -> Tensor:
    """The real part at the start, the imaginary one at 0."""
    each = item.width // len(item.parts)
    start = torch.zeros(item.width)
    start[:each] = value
    return start


def build(signature: Signature, settings: Settings, context: ArchitectureContext) -> nn.Module:
    """The builder of ``preconditioned``."""
    assert isinstance(settings, PreconditionedSettings)
    proposer = context.build(settings.proposer, signature)
    return Preconditioned(proposer, input_columns(signature, context.sizes), slots(signature, context.sizes), settings)
