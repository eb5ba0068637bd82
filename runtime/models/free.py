"""``free``: one trainable value a row, for problems that are to be solved exactly row by row; one for all rows without inputs."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from pdual.dsl.declarations.architecture_plain import FreeSettings
from pdual.dsl.declarations.architecture_vectors import output_width
from pdual.dsl.declarations.references import Settings
from pdual.dsl.declarations.signature import Signature
from pdual.runtime.data.context import ArchitectureContext
from pdual.runtime.models.interface import Model, ModelOutput
from pdual.runtime.models.values import outputs_of, slots


class Free(Model):
    """A table [rows, output width], of one row where the model has no inputs; it reads the rows' positions and nothing else, and has
    no features."""

    def __init__(self, signature: Signature, settings: FreeSettings, context: ArchitectureContext) -> None:
        super().__init__()
        width = output_width(signature, context.sizes)
        assert width is not None
        self.slots = slots(signature, context.sizes)
        self.by_row = bool(signature.inputs)
        self.table = nn.Parameter(torch.full((context.rows if self.by_row else 1, width), settings.start))

    @property
    def holds_rows(self) -> bool:
        """Whether the table trains and has a row for each row of the data."""
        return self.by_row and self.table.requires_grad

    def forward(self, inputs: Mapping[str, Tensor]) -> ModelOutput:
        """Row positions [batch] to outputs [batch, *axes]."""
        rows = inputs["@row"]
        table = self.table.index_select(0, rows if self.by_row else torch.zeros_like(rows))
        return ModelOutput(outputs_of(table, self.slots), {})


def build(signature: Signature, settings: Settings, context: ArchitectureContext) -> nn.Module:
    """The builder of ``free``."""
    assert isinstance(settings, FreeSettings)
    return Free(signature, settings, context)
