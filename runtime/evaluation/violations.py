"""Violations of the entries of one pass, in fractions of the feasible range or in a part's own unit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from pdual.compiler.layout import Layout, PartLayout, Sense
from pdual.runtime.evaluation.result import EvaluationResult
from pdual.runtime.storage.records import RANGE, TOLERANCE

#: A multiplier within this share of its cap counts as being at it: a sigmoid never reaches its own.
AT_CAP = 1e-3


def is_at_cap(multipliers: Tensor, caps: Tensor) -> Tensor:
    """Where multipliers can grow no further: what is optimal may be larger there."""
    found: Tensor = multipliers.abs() >= (1 - AT_CAP) * caps
    return found


@dataclass(frozen=True, slots=True)
class Violations:
    """The entries of n rows, [n, columns] each.

    ``violation`` is [g]_+ or |h| in each part's unit, 0 where masked; ``live`` are the entries that are not
    masked; ``violated`` those above the tolerance, judged on the scaled row (what is not a number is
    violated). ``at_cap`` and ``multipliers`` are None where multipliers are undefined.
    """

    layout: Layout
    violation: Tensor
    live: Tensor
    violated: Tensor
    at_cap: Tensor | None
    multipliers: Tensor | None

    @classmethod
    def of(cls, result: EvaluationResult, layout: Layout, caps: Tensor | None = None) -> Violations:
        """The violations of a pass; ``caps`` is [columns], scaled, infinite where there is none."""
        residuals = result.residuals
        equal = torch.tensor(
            [part.sense is Sense.EQUAL for part in layout.parts for _ in range(part.size)],
            dtype=torch.bool,
            device=residuals.device,
        )
        live = torch.ones_like(residuals, dtype=torch.bool) if result.mask is None else result.mask
        scaled = torch.where(live, torch.where(equal, residuals.abs(), residuals.clamp(min=0)), 0.0)
        at_cap = None
        if result.multipliers is not None and caps is not None:
            at_cap = live & is_at_cap(result.multipliers, caps)
        return cls(
            layout,
            scaled * torch.tensor(factors(layout), dtype=residuals.dtype, device=residuals.device),
            live,
            ~(scaled <= TOLERANCE),
            at_cap,
            result.multipliers,
        )

    def columns(self, parts: Sequence[PartLayout]) -> Tensor:
        """The positions of some parts' columns."""
        return torch.tensor(self.layout.columns_in(parts), dtype=torch.long, device=self.violation.device)

    @property
    def has_multipliers(self) -> bool:
        """Whether any entry has a multiplier."""
        return self.multipliers is not None and not bool(self.multipliers.isnan().all())

    def feasible(self) -> Tensor:
        """Rows without a violated entry: [n] bool."""
        return ~self.violated.any(1)

    def largest(self, parts: Sequence[PartLayout] | None = None) -> Tensor:
        """The largest violation of each row, over all parts or some: [n]; 0 where there is nothing."""
        violation = self.violation if parts is None else self.violation[:, self.columns(parts)]
        return violation.amax(1) if violation.shape[1] else violation.new_zeros(len(violation))


def unit(part: PartLayout) -> str:
    """What a part's violations are counted in: ``range``, or its own unit (``1`` where it has no name)."""
    return RANGE if part.range is not None else part.unit or "1"


def factors(layout: Layout) -> list[float]:
    """A scaled residual times this is a violation in its part's unit: [columns]."""
    found: list[float] = []
    for part in layout.parts:
        ranges = part.range if part.range is not None else (1.0,) * part.size
        found.extend(scale / width for scale, width in zip(part.scale, ranges, strict=True))
    return found


def families(layout: Layout) -> dict[str, list[PartLayout]]:
    """The parts of each family, in the order of the layout."""
    found: dict[str, list[PartLayout]] = {}
    for part in layout.parts:
        found.setdefault(part.family, []).append(part)
    return found


def address(layout: Layout, column: int, row: str) -> str:
    """How an entry is called: ``flow_source[1203, 6->8]``, ``voltage.upper[1203, 4]``."""
    for part, start in zip(layout.parts, layout.starts, strict=True):
        if start <= column < start + part.size:
            entry = part.addresses[column - start]
            return f"{part.name}[{row}, {entry}]" if entry else f"{part.name}[{row}]"
    raise IndexError(column)
