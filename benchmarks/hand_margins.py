"""Classification with a margin on every row, written by hand in PyTorch: what compiled specs and cooper are measured against.

Minimise c / 2 ||theta||^2 subject to epsilon - (z_y - z_j) <= 0 for every row and every class j but its own, z the logits. Nothing
here knows pdual: inputs, labels and the rows to train on are handed in (images_step.py, rows.py). The slope of the norm is the
weight decay of Adam, a row's own class is put out of reach by an offset, weights and gradients are one vector each, and convolutions run
in channels-last order.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as functional
from torch import Tensor, nn

CLASSES = 10
NEVER = -1e9  # far below every bound: no penalty, no slope


@dataclass(frozen=True)
class Setting:
    """The numbers of a problem; ``channels`` empty: a perceptron. Multipliers move by ``share`` of rho."""

    c: float
    rho: float
    lr: float
    hidden: tuple[int, ...]
    channels: tuple[int, ...] = ()
    epsilon: float = 1.0
    cap: float = 100.0
    share: float = 1.0
    batch: int = 64
    level: float = 255.0  # what bytes are divided by
    shift: float = 0.0  # and what is then taken off


class Classifier(nn.Module):
    """Convolutions of width 3 with pooling by 2, where there are channels, then a perceptron."""

    def __init__(self, shape: Sequence[int], setting: Setting) -> None:
        super().__init__()
        channels, width = (shape[0], *setting.channels), shape[0]
        self.convolutions = nn.ModuleList(nn.Conv2d(a, b, 3, padding=1) for a, b in itertools.pairwise(channels))
        if setting.channels:
            shrunk = 2 ** len(setting.channels)
            width = channels[-1] * (shape[1] // shrunk) * (shape[2] // shrunk)
        widths = (width, *setting.hidden, CLASSES)
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in itertools.pairwise(widths))

    def forward(self, values: Tensor) -> Tensor:
        for convolution in self.convolutions:
            values = functional.relu(functional.max_pool2d(convolution(values), 2))
        values = values.flatten(1)
        for layer in self.layers[:-1]:
            values = functional.relu(layer(values))
        logits: Tensor = self.layers[-1](values)
        return logits


def picked(inputs: Tensor, ids: Tensor, setting: Setting) -> Tensor:
    """Rows of a table as single precision; bytes become numbers."""
    found = inputs.index_select(0, ids)
    if found.dtype != torch.uint8:
        return found
    values = found.float().div_(setting.level)
    return values.sub_(setting.shift) if setting.shift else values


class FlatWeights:
    """All weights of a model, and all their gradients, as one vector each; kernels of convolutions channels last."""

    def __init__(self, model: nn.Module) -> None:
        weights = list(model.parameters())
        self.vector = torch.cat([_channels_last(weight.detach()).flatten() for weight in weights])
        self.gradient = torch.zeros_like(self.vector)
        self.vector.grad = self.gradient
        start = 0
        for weight in weights:
            shape, end = _channels_last(weight.detach()).shape, start + weight.numel()
            weight.data = _channels_first(self.vector[start:end].view(shape))
            weight.grad = _channels_first(self.gradient[start:end].view(shape))
            start = end


def _channels_last(weight: Tensor) -> Tensor:
    return weight.permute(0, 2, 3, 1) if weight.dim() == 4 else weight


def _channels_first(weight: Tensor) -> Tensor:
    return weight.permute(0, 3, 1, 2) if weight.dim() == 4 else weight


class Training:
    """Network, rows, a table of multipliers [rows, classes] and an optimiser."""

    def __init__(self, inputs: Tensor, labels: Tensor, train: Tensor, setting: Setting, seed: int = 0) -> None:
        self.inputs, self.labels, self.train, self.setting = inputs, labels, train, setting
        self.model = Classifier(inputs.shape[1:], setting)
        self.weights = FlatWeights(self.model)
        self.optimiser = torch.optim.Adam([self.weights.vector], lr=setting.lr, weight_decay=setting.c, fused=True)
        self.table = torch.zeros(len(inputs), CLASSES)
        self.offset = torch.full((CLASSES, CLASSES), setting.epsilon).fill_diagonal_(NEVER)
        self.batches = batches(train, setting.batch, seed)

    def rows(self, ids: Tensor, labels: Tensor) -> Tensor:
        """epsilon - (z_y - z_j): [batch, classes], far below 0 for the row's own class."""
        logits = self.model(picked(self.inputs, ids, self.setting))
        lead: Tensor = logits - logits.gather(1, labels[:, None])
        return lead + self.offset.index_select(0, labels)

    def penalty(self, ids: Tensor) -> Tensor:
        """Mean over the batch of ([lambda + rho g]_+^2 - lambda^2) / (2 rho)."""
        rows = self.rows(ids, self.labels.index_select(0, ids))
        multipliers = self.table.index_select(0, ids)
        lifted = torch.add(multipliers, rows, alpha=self.setting.rho).relu()
        return (lifted.square() - multipliers.square()).sum() / (2 * self.setting.rho * len(ids))

    def norm(self) -> Tensor:
        """c / 2 ||theta||^2, whose slope the weight decay is."""
        return self.weights.vector.square().sum() * (self.setting.c / 2)

    def step(self) -> None:
        """One minibatch step."""
        self.weights.gradient.zero_()
        torch.autograd.backward(self.penalty(next(self.batches)))
        self.optimiser.step()

    @torch.no_grad()
    def ascend(self) -> None:
        """lambda <- clip(lambda + share rho g) on all rows."""
        for ids in torch.split(self.train, 4 * self.setting.batch):
            rows = self.rows(ids, self.labels.index_select(0, ids))
            lifted = torch.add(self.table.index_select(0, ids), rows, alpha=self.setting.share * self.setting.rho)
            self.table.index_copy_(0, ids, lifted.clamp_(0.0, self.setting.cap))


def batches(rows: Tensor, size: int, seed: int) -> Iterator[Tensor]:
    """Whole batches of these row ids, a fresh order every epoch."""
    generator = torch.Generator().manual_seed(seed)
    while True:
        order = rows[torch.randperm(len(rows), generator=generator)]
        yield from order[: len(rows) - len(rows) % size].view(-1, size)
