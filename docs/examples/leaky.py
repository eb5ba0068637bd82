"""A kind of dual of another package: a table whose multipliers decay, ``leaky(cap = G, rate = 0.1)``.

lam <- clip((1 - rate) lam + rho g, 0, G): what was violated long ago is forgotten.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pydantic import Field

from pdual.dsl.declarations.dual import Column, DualKind, FunctionClass
from pdual.dsl.declarations.duals import clip
from pdual.dsl.declarations.references import Settings

if TYPE_CHECKING:
    from pdual.runtime.duals.context import DualContext
    from pdual.runtime.duals.store import DualStore


class LeakySettings(Settings):
    """``rate``: the share of a multiplier that an update forgets."""

    rate: float = Field(0.1, ge=0, lt=1)


def update(column: Column, kept: Sequence[float], settings: Settings) -> tuple[Sequence[float], Sequence[float]]:
    """The update in plain numbers, which ``pdual verify`` holds the store to."""
    assert isinstance(settings, LeakySettings)
    pairs = zip(column.multipliers, column.residuals, strict=True)
    return [clip((1 - settings.rate) * lam + column.rho * g, column.low, column.high) for lam, g in pairs], ()


LEAKY = DualKind(
    "leaky",
    "`leaky(cap = G, rate = 0.1)`: a multiplier for every row and entry, which decays",
    settings=LeakySettings,
    builder=f"{__name__}:build",
    numbers=lambda rows, columns: None if rows is None else rows * columns,
    functions=FunctionClass.TABLES,
    meaning=update,
)


def build(context: DualContext) -> DualStore:
    """The table, addressed by row."""
    from dataclasses import replace

    from pdual.runtime.duals.pointwise import PointwiseStore
    from pdual.runtime.duals.store import Reading

    settings = context.plan.settings
    assert isinstance(settings, LeakySettings)
    kept = 1 - settings.rate

    class LeakyStore(PointwiseStore):
        """The update of ``pointwise`` from multipliers that have decayed."""

        def update(self, reading: Reading) -> None:
            super().update(replace(reading, multipliers=kept * reading.multipliers))

    return LeakyStore(context.bounds, context.rows)
