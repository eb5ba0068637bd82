"""Torch functions that emission uses where no single torch call does the work. Each is traced as a leaf or built of torch calls."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from pdual.dsl.operations.reductions import tail_count


def segment_rows(offsets: Tensor) -> Tensor:
    """The row of every element of a ragged axis: [total] int64 from offsets [rows + 1]."""
    return torch.repeat_interleave(torch.diff(offsets))


def segment_positions(offsets: Tensor) -> Tensor:
    """The position of every element in its own row: [total] int64."""
    rows = segment_rows(offsets)
    return torch.arange(rows.shape[0], device=offsets.device) - offsets[rows]


def repeat_for_segments(value: Tensor, offsets: Tensor) -> Tensor:
    """One value for every element of a ragged axis: [total, ...] from [...]."""
    return value.expand(segment_rows(offsets).shape[0], *value.shape)


def repeat_for_rows(value: Tensor, like: Any) -> Tensor:
    """One value for every row that ``like`` has: [rows, ...] from [...]."""
    return value.expand(len(like), *value.shape)


def reduce_segments(values: Tensor, offsets: Tensor, function: str) -> Tensor:
    """Reduces the elements of each row: [total, ...] to [rows, ...]; sum over none is 0, mean over none is NaN."""
    rows, counts = segment_rows(offsets), torch.diff(offsets)
    shape = (counts.shape[0], *values.shape[1:])
    if function in ("sum", "mean", "count"):
        total = values.new_zeros(shape).index_add(0, rows, values)
        return total / counts.reshape(-1, *[1] * (values.dim() - 1)) if function == "mean" else total
    index = rows.reshape(-1, *[1] * (values.dim() - 1)).expand_as(values)
    reduction = "amax" if function == "max" else "amin"
    return values.new_zeros(shape).scatter_reduce(0, index, values, reduction, include_self=False)


def extreme_mean(values: Any, share: Any, largest: bool) -> Tensor:
    """Mean of the max(1, ceil(share * n)) largest or smallest elements: of each row of [rows, n], or of a ragged axis."""
    part = float(share)
    if isinstance(values, Tensor):
        count = tail_count(part, values.shape[-1])
        return values.topk(count, dim=-1, largest=largest).values.mean(-1)
    pieces = torch.tensor_split(values.values, values.offsets[1:-1].cpu())
    means = [piece.topk(tail_count(part, len(piece)), largest=largest).values.mean() for piece in pieces]
    return torch.stack(means)


def take_along(base: Tensor, index: Tensor, dim: int) -> Tensor:
    """``base`` at a different position for every other index: both broadcast, ``dim`` of base is taken."""
    index = index.unsqueeze(dim)
    if index.dim() == base.dim() and all(
        d == dim or s == t for d, (s, t) in enumerate(zip(base.shape, index.shape, strict=True))
    ):
        return torch.gather(base, dim, index).squeeze(dim)
    sides = tuple(1 if d == dim else s for d, s in enumerate(base.shape))
    shape = torch.broadcast_shapes(sides, tuple(index.shape))  # type: ignore[no-untyped-call]
    wide = tuple(base.shape[dim] if d == dim else s for d, s in enumerate(shape))
    return torch.gather(base.expand(wide), dim, index.expand(shape)).squeeze(dim)


def scatter_sum(values: Tensor, where: Tensor, size: int, dim: int) -> Tensor:
    """Sum of each group along ``dim``; groups are given by ``where`` [n]."""
    shape = list(values.shape)
    shape[dim] = size
    return values.new_zeros(shape).index_add(dim, where, values)


def scatter_extreme(values: Tensor, where: Tensor, size: int, dim: int, function: str) -> Tensor:
    """Largest or smallest value of each group along ``dim``; groups are given by ``where`` [n]; an empty group has 0."""
    shape = list(values.shape)
    shape[dim] = size
    reduction = "amax" if function == "max" else "amin"
    index = where.reshape([-1 if d == dim else 1 for d in range(values.dim())]).expand_as(values)
    return values.new_zeros(shape).scatter_reduce(dim, index, values, reduction, include_self=False)


def squared_norm(module: torch.nn.Module) -> Tensor:
    """The sum of squares of all trainable parameters."""
    return torch.stack([parameter.square().sum() for parameter in module.parameters()]).sum()


class ParameterNorm(torch.nn.Module):
    """``squared_norm(f)`` as a leaf of a program."""

    def __init__(self, module: torch.nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self) -> Tensor:
        """The sum of squares of all trainable parameters."""
        return squared_norm(self.module)
