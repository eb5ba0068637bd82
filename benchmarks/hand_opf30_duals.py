"""Multipliers of opf30 by hand: a table, one shared vector, or perceptrons on the features of every member."""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

import torch
import torch.nn.functional as functional
from hand_opf30_problem import ROWS
from torch import Tensor, nn

FLOOR = 0.01


class Heads(nn.Module):
    """One perceptron a set on each member's features, and a bias an entry: raw multipliers [batch, 309]."""

    def __init__(self, hidden: Sequence[int], width: int) -> None:
        super().__init__()
        self.bus, self.gen, self.branch = (_perceptron([size, *hidden]) for size in (width, width, 2 * width))
        self.bias = nn.Parameter(torch.zeros(ROWS))

    def forward(self, features: Mapping[str, Tensor]) -> Tensor:
        heads = (("bus", self.bus), ("gen", self.gen), ("branch", self.branch))
        raw = [head(features[name]).transpose(1, 2).flatten(1) for name, head in heads]
        return functional.pad(torch.cat(raw, 1), (0, 1)) + self.bias


def _perceptron(widths: Sequence[int]) -> nn.Sequential:
    """Four numbers a member, 0 before training."""
    layers: list[nn.Module] = []
    for before, after in itertools.pairwise(widths):
        layers += [nn.Linear(before, after), nn.ReLU()]
    last = nn.Linear(widths[-1], 4, bias=False)
    nn.init.zeros_(last.weight)
    return nn.Sequential(*layers, last)


class Duals(ABC):
    """lambda in [0, cap], in [-cap, cap] for equalities; ascent steps of size rho."""

    def __init__(self, equal: Tensor, rho: Tensor, cap: float) -> None:
        self.equal, self.rho, self.cap = equal, rho, cap
        self.low = torch.where(equal, -cap, 0.0)

    def clipped(self, raw: Tensor) -> Tensor:
        return raw.clamp(max=self.cap).maximum(self.low)

    @abstractmethod
    def value(self, ids: Tensor, features: Mapping[str, Tensor]) -> Tensor:
        """Multipliers of the rows at these positions: [batch or 1, 309]."""

    @abstractmethod
    def ascend(self, rows: Tensor, features: Mapping[str, Tensor]) -> None:
        """After an outer iteration, from the residuals and features of all rows."""


class Table(Duals):
    """Pointwise: lambda_n <- clip(lambda_n + rho g_n)."""

    def __init__(self, equal: Tensor, rho: Tensor, cap: float, rows: int) -> None:
        super().__init__(equal, rho, cap)
        self.table = torch.zeros(rows, ROWS)

    def value(self, ids: Tensor, features: Mapping[str, Tensor]) -> Tensor:
        return self.table[ids]

    def ascend(self, rows: Tensor, features: Mapping[str, Tensor]) -> None:
        self.table = self.clipped(self.table + self.rho * rows)


class Shared(Duals):
    """One vector: a <- clip(a + rho mean_n r_n), r = max(g, -a / rho)."""

    def __init__(self, equal: Tensor, rho: Tensor, cap: float) -> None:
        super().__init__(equal, rho, cap)
        self.vector = torch.zeros(1, ROWS)

    def value(self, ids: Tensor, features: Mapping[str, Tensor]) -> Tensor:
        return self.vector

    def ascend(self, rows: Tensor, features: Mapping[str, Tensor]) -> None:
        residual = torch.where(self.equal, rows, rows.maximum(-self.vector / self.rho))
        self.vector = self.clipped(self.vector + self.rho * residual.mean(0, keepdim=True))


class Learned(Duals):
    """Parametric: the heads are fitted to clip(lambda + rho g) on cached features."""

    def __init__(
        self, equal: Tensor, rho: Tensor, cap: float, heads: Heads, rate: float, steps: int, batch: int
    ) -> None:
        super().__init__(equal, rho, cap)
        self.heads, self.rate, self.steps, self.batch = heads, rate, steps, batch
        self.optimiser = torch.optim.Adam(heads.parameters(), lr=rate, fused=True)
        self.generator = torch.Generator().manual_seed(0)

    @torch.no_grad()
    def value(self, ids: Tensor, features: Mapping[str, Tensor]) -> Tensor:
        return self.clipped(self.heads(features))

    def ascend(self, rows: Tensor, features: Mapping[str, Tensor]) -> None:
        with torch.no_grad():
            before = torch.cat(
                [self.value(ids, {name: value[ids] for name, value in features.items()}) for ids in _chunks(len(rows))]
            )
            target = self.clipped(before + self.rho * rows)
            weight = 1 / target.square().mean(0).clamp(min=FLOOR**2)
            self.heads.bias.add_((target - before).mean(0))
        for step in range(self.steps):
            ids = torch.randint(len(rows), (self.batch,), generator=self.generator)
            error = self._error(self.heads({name: value[ids] for name, value in features.items()}), target[ids])
            self.optimiser.param_groups[0]["lr"] = self.rate * 0.5 * (1 + math.cos(math.pi * step / self.steps))
            self.optimiser.zero_grad()
            torch.autograd.backward((error.square() * weight).sum(1).mean())
            self.optimiser.step()

    def _error(self, raw: Tensor, target: Tensor) -> Tensor:
        """The head is a clip: outside it, on the side of the target, there is neither error nor slope."""
        silent = ((target <= self.low) & (raw < self.low)) | ((target >= self.cap) & (raw > self.cap))
        return torch.where(silent, 0.0, raw - target)


def _chunks(rows: int) -> tuple[Tensor, ...]:
    return torch.split(torch.arange(rows), 500)
