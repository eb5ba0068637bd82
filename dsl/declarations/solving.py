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


class Shrinking(Settings):
    """``shrink(every = 8, margin = 0.05, share = 0.25)``: rows at rest are seen less often, see ``runtime/training/visits.py``.

    ``margin`` is how far inside its constraints a row at rest is, in scaled units; ``share`` the part of every batch
    that is drawn from rows at rest; every ``every``-th pass looks at all rows.
    """

    every: int = Field(8, ge=1)
    margin: float = Field(0.05, ge=0)
    share: float = Field(0.25, gt=0, lt=1)


class SolveSettings(Settings):
    """Algorithm 1 of the paper; ``rho_equal`` is rho where not written, ``fit`` the seeded share of rows that phi is
    fitted on, ``dual_step`` the share of rho by which multipliers move, to which it grows over ``dual_warmup`` iterations.
    """

    outer: int = Field(50, ge=0)
    warmup: int = Field(0, ge=0)  # epochs with multipliers 0
    rho: float = Field(1.0, gt=0)
    rho_equal: float | None = Field(None, gt=0)
    rho_schedule: RhoSchedule | None = None
    dual_step: float = Field(1.0, gt=0, le=1)
    dual_warmup: int = Field(0, ge=0)
    smoothing: float = Field(0.0, ge=0, lt=1)
    fit: float = Field(1.0, gt=0, le=1)
    descent: OptimiserUse = OptimiserUse("adam", AdamSettings(lr=1e-3))
    ascent: OptimiserUse = OptimiserUse("adam", AdamSettings(lr=1e-3))
    shrinking: Shrinking | None = None

    def step_of(self, iteration: int) -> float:
        """The share of rho by which multipliers move in an outer iteration, counted from 1."""
        return self.dual_step * min(1.0, iteration / max(1, self.dual_warmup))

    @property
    def rest_share(self) -> float:
        """The part of a batch that is drawn from rows at rest, once there are any."""
        return (self.shrinking or Shrinking()).share


#: How ``rho_schedule`` is written.
RHO_SCHEDULES: dict[str, type[Settings]] = {"growth": RhoSchedule}

#: How ``shrinking`` is written.
SHRINKINGS: dict[str, type[Settings]] = {"shrink": Shrinking}
