"""From the arguments of a model to vectors that a layer reads, and from a layer's vectors to outputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from pdual.dsl.declarations.architecture_vectors import arrays, encoded_width
from pdual.dsl.declarations.signature import Output, Signature, Sizes, part_names, shape
from pdual.dsl.types import ArrayType, MemberOf
from pdual.runtime.models.squash import squash


@dataclass(frozen=True, slots=True)
class Column:
    """One real tensor of an argument: its name, and how many members it chooses from where it names one."""

    part: str
    members: int | None

    def read(self, inputs: Mapping[str, Tensor], axes: int, dtype: torch.dtype) -> Tensor:
        """The value as [*first axes, numbers]: members one-hot, booleans 0 or 1, the other axes flattened."""
        value = inputs[self.part]
        if self.members is not None:
            value = value.unsqueeze(-1) == torch.arange(self.members, device=value.device)
        return value.to(dtype).reshape(*value.shape[:axes], -1)


def columns(name: str, array: ArrayType, sizes: Sizes) -> tuple[Column, ...]:
    """The tensors that carry an argument, in order: the real part, then the imaginary one."""
    members = sizes[array.element.set] if isinstance(array.element, MemberOf) else None
    return tuple(Column(part, members) for part in part_names(name, array))


def input_columns(signature: Signature, sizes: Sizes) -> tuple[Column, ...]:
    """The tensors of all arguments in the order of the signature."""
    return tuple(column for name, array in arrays(signature) for column in columns(name, array, sizes))


def joined(read: list[Tensor]) -> Tensor:
    """Side by side along the last axis."""
    return read[0] if len(read) == 1 else torch.cat(read, dim=-1)


def flattened(inputs: Mapping[str, Tensor], given: tuple[Column, ...], dtype: torch.dtype) -> Tensor:
    """All arguments as one vector a row: [batch, input width]."""
    if not given:
        return inputs["@row"].new_zeros((len(inputs["@row"]), 0), dtype=dtype)
    return joined([column.read(inputs, 1, dtype) for column in given])


class Bias(nn.Module):
    """What is left of an affine layer without inputs: numbers that start at 0."""

    def __init__(self, outputs: int) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, vector: Tensor) -> Tensor:
        """[batch, 0] to [batch, outputs]."""
        return self.bias.expand(len(vector), -1)


def affine(inputs: int, outputs: int, bias: bool = True) -> nn.Linear | Bias:
    """An affine layer; of no inputs its bias, since optimisers and norms mind weights without numbers."""
    return nn.Linear(inputs, outputs, bias=bias) if inputs else Bias(outputs)


@dataclass(frozen=True, slots=True)
class Slot:
    """One output among the numbers of a layer: its tensors, the shape of each, its bounds."""

    parts: tuple[str, ...]
    shape: tuple[int, ...]
    width: int
    low: float | None
    high: float | None


def slot(output: Output, sizes: Sizes) -> Slot:
    """How an output is cut from a vector."""
    sides = shape(output.type, sizes)
    known = tuple(side for side in sides if side is not None)
    assert len(known) == len(sides), "complaints refuse outputs without a fixed shape"
    width = encoded_width(output.type, sizes)
    assert width is not None
    return Slot(part_names(output.name, output.type), known, width, output.low, output.high)


def slots(signature: Signature, sizes: Sizes) -> tuple[Slot, ...]:
    """How all outputs are cut from one vector, one after the other."""
    return tuple(slot(output, sizes) for output in signature.outputs)


def outputs_of(flat: Tensor, given: tuple[Slot, ...]) -> dict[str, Tensor]:
    """Cut [batch, output width] into outputs [batch, *shape], each squashed into its bounds."""
    found: dict[str, Tensor] = {}
    # Cutting into one piece is a copy backward, which a small model notices.
    pieces = (flat,) if len(given) == 1 else torch.split(flat, [item.width for item in given], dim=-1)
    for item, piece in zip(given, pieces, strict=True):
        bounded = squash(piece, item.low, item.high)
        values = (bounded,) if len(item.parts) == 1 else bounded.chunk(len(item.parts), dim=-1)
        for part, value in zip(item.parts, values, strict=True):
            found[part] = value if value.shape[1:] == item.shape else value.reshape(-1, *item.shape)
    return found
