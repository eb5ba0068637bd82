"""``solve { ... }``: the settings of Algorithm 1."""

from __future__ import annotations

from pydantic import Field

from pdual.dsl.declarations.optimisers import AdamSettings
from pdual.dsl.declarations.references import OptimiserUse, Settings


class RhoSchedule(Settings):
    """``growth(factor = 2, every = 0.8, max = 1000)``: rho times ``factor`` when the worst violation did not fall below ``every`` times the last one."""

    factor: float = Field(2.0, gt=1)
    every: float = Field(0.8, gt=0, le=1)
    max: float = Field(1e4, gt=0)


class SolveSettings(Settings):
    """Algorithm 1 of the paper; ``rho_equal`` is rho where not written, ``fit`` the seeded share of rows that phi is fitted on."""

    outer: int = Field(50, ge=1)
    warmup: int = Field(0, ge=0)  # epochs with multipliers 0
    rho: float = Field(1.0, gt=0)
    rho_equal: float | None = Field(None, gt=0)
    rho_schedule: RhoSchedule | None = None
    smoothing: float = Field(0.0, ge=0, lt=1)
    fit: float = Field(1.0, gt=0, le=1)
    descent: OptimiserUse = OptimiserUse("adam", AdamSettings(lr=1e-3))
    ascent: OptimiserUse = OptimiserUse("adam", AdamSettings(lr=1e-3))


#: How ``rho_schedule`` is written.
RHO_SCHEDULES: dict[str, type[Settings]] = {"growth": RhoSchedule}
