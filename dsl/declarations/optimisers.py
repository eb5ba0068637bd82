"""Optimisers, schedules and the settings of Algorithm 1, as a spec writes them."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from pdual.dsl.declarations.references import Settings

#: A share of what was before.
Beta: TypeAlias = Annotated[float, Field(ge=0, lt=1)]


#: Passes over the rows that may be asked for: more would not end, and much more has no count.
MOST_PASSES = 1e9


class CosineSettings(Settings):
    """``cosine(warmup = 100, final = 0.005)``: linear warm-up over ``warmup`` steps, then a half cosine to ``final`` times the rate."""

    warmup: int = Field(0, ge=0)
    final: float = Field(0.005, ge=0, le=1)


class ConstantSettings(Settings):
    """``constant(warmup = 100)``: linear warm-up over ``warmup`` steps, then a constant rate."""

    warmup: int = Field(0, ge=0)


class OptimiserSettings(Settings):
    """An optimiser and how it is driven.

    ``epochs`` or ``steps`` is the length of one outer iteration's run (``steps`` wins). ``clip`` bounds the gradient's norm.
    ``members``, of the descent: a batch takes so many rows of each of ``batch / members`` groups, instead of whole groups.
    ``weight`` and ``recenter`` concern the fit of learned multipliers only (method.md, "The kinds").
    """

    lr: float = Field(gt=0)
    batch: int = Field(64, ge=1)
    epochs: float = Field(1, gt=0, le=MOST_PASSES)
    steps: int | None = Field(None, ge=1)
    members: int | None = Field(None, ge=1)
    weight_decay: float = Field(0.0, ge=0)
    clip: float | None = Field(None, gt=0)
    schedule: CosineSettings | ConstantSettings = ConstantSettings()
    weight: Literal["none", "rms", "logistic"] = "none"
    recenter: bool = False

    def steps_over(self, rows: int) -> int:
        """Minibatch steps of one outer iteration over this many rows: ``steps``, else ``epochs`` passes, at least one step."""
        if self.steps is not None:
            return self.steps
        return self._passes(self.epochs, rows)

    def epoch_over(self, rows: int) -> int:
        """Minibatch steps of one pass over this many rows."""
        return self._passes(1.0, rows)

    def _passes(self, count: float, rows: int) -> int:
        return max(1, round(count * rows / min(self.batch, rows)))


class AdamSettings(OptimiserSettings):
    """``adam(lr = 1e-3, betas = [0.9, 0.999])``; ``adamw`` is the same with decoupled weight decay."""

    betas: tuple[Beta, Beta] = (0.9, 0.999)


class SgdSettings(OptimiserSettings):
    """``sgd(lr = 1e-2, momentum = 0.9)``."""

    momentum: float = Field(0.0, ge=0, lt=1)


OPTIMISERS: dict[str, type[OptimiserSettings]] = {"adam": AdamSettings, "adamw": AdamSettings, "sgd": SgdSettings}
SCHEDULES: dict[str, type[Settings]] = {"cosine": CosineSettings, "constant": ConstantSettings}
