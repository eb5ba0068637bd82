"""The world's rows and models in tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
import world
from torch import nn

from pdual.dsl.declarations.signature import part_names
from pdual.dsl.types import ArrayType, Kind, RaggedAxis
from pdual.runtime.data.tables import Ragged


def parts_of(name: str, values: Sequence[Any], kind: ArrayType) -> dict[str, Any]:
    """One value a row as the tensors that carry it, [rows, ...]."""
    if any(isinstance(axis, RaggedAxis) for axis in kind.axes):
        ends = torch.tensor([0, *(len(value) for value in values)]).cumsum(0)
        return {name: Ragged(torch.tensor([x for value in values for x in value], dtype=torch.float64), ends)}
    if kind.element is Kind.COMPLEX:
        whole = torch.tensor(values, dtype=torch.complex128)
        return dict(zip(part_names(name, kind), (whole.real.clone(), whole.imag.clone()), strict=True))
    return {name: torch.tensor(values, dtype=torch.float64 if kind.element is Kind.REAL else None)}


class PlainModel(nn.Module):
    """A model of the world: rows to Python values, the plain function, and back."""

    def __init__(self, name: str, function: Callable[[str, tuple[Any, ...]], Any] = world.models) -> None:
        super().__init__()
        self.name = name
        self.function = function

    def forward(self, inputs: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        signature = world.SIGNATURES[self.name]
        count = len(inputs["@row"])
        columns: list[list[Any]] = []
        for name, kind in signature.inputs:
            assert isinstance(kind, ArrayType)
            found = [inputs[part].double() for part in part_names(name, kind)]
            whole = torch.complex(*found) if len(found) == 2 else found[0]
            assert whole.shape[0] == count, "models are called on rows"
            columns.append(whole.tolist())
        results = [self.function(self.name, arguments) for arguments in zip(*columns, strict=True)]
        outputs: dict[str, Any] = {}
        for output in signature.outputs:
            values = [result[output.name] if output.name else result for result in results]
            outputs |= parts_of(output.name, values, output.type)
        return outputs, {}
