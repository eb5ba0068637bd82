"""``power.completed``: set points of generators from a network, completed by chord-Newton steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from pdual.dsl.declarations.references import Settings
from pdual.dsl.declarations.signature import Signature
from pdual.dsl.diagnostics import refuse
from pdual.packs.power.cases.tables import enumerated
from pdual.packs.power.declarations.architecture import (
    PowerCompletedSettings,
    PowerNames,
    power_names,
    proposal_signature,
)
from pdual.packs.power.models.completion import Completion, completion
from pdual.packs.power.optima.grid import Complexes, Grid, Reals, grid_of, lacking
from pdual.runtime.data.context import ArchitectureContext
from pdual.runtime.models.interface import ModelOutput

#: Demands are shown to the proposer as deviations from the grid's own, in this share of it.
SWING = 0.1


class PowerCompleted(nn.Module):
    """Demand [batch, bus] to voltage [batch, bus] and power [batch, gen], per unit; the proposer's features.

    1. The proposer sees how the demand deviates from the grid's own, in tenths of it. It gives a raw number for P
       and |V| of every unit; the soft box makes it a set point
       ``middle + amplitude tanh(raw / reach)``, with ``reach = 1 + overshoot`` and
       ``amplitude = reach * half width``.
    2. ``steps`` chord-Newton steps ``z <- z + J0^-1 (target - injections(z))`` from the nominal optimum, with
       its constant Jacobian. The first one is linear in set points and demand: a single affine map.
    3. P of the unit at the reference bus and Q of every unit close the balance at their bus.

    Set points hold exactly: P of the other units, |V| at their buses, angle 0 at the reference bus. What is
    left of the balance elsewhere is the Newton residual. All of it is differentiable arithmetic on reals.
    """

    usual: Tensor
    swing: Tensor
    middle: Tensor
    amplitude: Tensor
    prepare: Tensor
    constant: Tensor
    network: Tensor
    correct: Tensor
    supply: Tensor

    def __init__(
        self,
        proposer: nn.Module,
        names: PowerNames,
        plan: Completion,
        grid: Grid,
        box: tuple[Reals, Reals],
        settings: PowerCompletedSettings,
    ) -> None:
        super().__init__()
        self.proposer = proposer
        self.names = names
        self.steps, self.reach = settings.steps, 1 + settings.overshoot
        self.units, self.buses = len(box[0]) // 2, len(plan.correct) // 2
        self._exact: dict[str, Reals] = {
            "usual": np.concatenate((grid.load.real, grid.load.imag)),
            "swing": SWING * np.concatenate((_sizes(grid.load.real), _sizes(grid.load.imag))),
            "middle": box[0],
            "amplitude": box[1],
            **vars(plan),
        }
        for name, value in self._exact.items():
            self.register_buffer(name, torch.tensor(value, dtype=torch.get_default_dtype()), persistent=False)

    def _apply(self, fn: Any, recurse: bool = True) -> PowerCompleted:
        """Move or convert; constants are taken from their double-precision values each time."""
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        for name, value in self._exact.items():
            buffer: Tensor = getattr(self, name)
            setattr(self, name, torch.tensor(value, dtype=buffer.dtype, device=buffer.device))
        return self

    def forward(self, inputs: Mapping[str, Tensor]) -> ModelOutput:
        """The parts of the demand [batch, bus] to those of v [batch, bus] and s [batch, gen]."""
        names = self.names
        load = torch.cat((inputs[f"{names.load}.re"], inputs[f"{names.load}.im"]), dim=-1)
        proposal = self.proposal(inputs, load)
        voltage, power = self.complete(torch.cat((self.set_points(proposal.outputs), load), dim=-1))
        outputs: dict[str, Tensor] = {}
        for name, value in ((names.voltage, voltage), (names.power, power)):
            outputs[f"{name}.re"], outputs[f"{name}.im"] = value.chunk(2, dim=-1)
        return ModelOutput(outputs, proposal.features)

    def proposal(self, inputs: Mapping[str, Tensor], load: Tensor) -> ModelOutput:
        """What the proposer makes of the demand's deviation from the grid's own, in tenths of that."""
        real, imaginary = ((load - self.usual) / self.swing).chunk(2, dim=-1)
        name = self.names.load
        found: ModelOutput = self.proposer({**inputs, f"{name}.re": real, f"{name}.im": imaginary})
        return found

    def set_points(self, raw: Mapping[str, Tensor]) -> Tensor:
        """P, then |V| of every unit within the soft box: [batch, 2 gen]."""
        bent = torch.tanh(torch.cat((raw["p"], raw["v"]), dim=-1) / self.reach)
        return torch.addcmul(self.middle, self.amplitude, bent)

    def complete(self, controls: Tensor) -> tuple[Tensor, Tensor]:
        """Set points and demand [batch, 2 gen + 2 bus] to parts of v [batch, 2 bus], s [batch, 2 gen]."""
        prepared = torch.addmm(self.constant, controls, self.prepare)
        sizes = [2 * self.buses, 2 * self.buses, 2 * self.units]
        state, target, given = torch.split(prepared, sizes, dim=-1)
        for _ in range(self.steps - 1):
            state = torch.addmm(state, target - self.flow(state)[1], self.correct)
        voltage, injected = self.flow(state)
        return voltage, torch.addmm(given, injected, self.supply)

    def flow(self, state: Tensor) -> tuple[Tensor, Tensor]:
        """From a state the parts of v, and P then Q that each bus feeds in: [batch, 2 bus] each.

        ``P + jQ = v conj(Y v)``: P = v_re i_re + v_im i_im, Q = v_im i_re - v_re i_im.
        """
        angle, size = state.chunk(2, dim=-1)
        voltage = torch.cat((size * torch.cos(angle), size * torch.sin(angle)), dim=-1)
        current = (voltage @ self.network).view(-1, 2, 2, self.buses)
        power = (voltage.view(-1, 1, 2, self.buses) * current).sum(2)
        return voltage, power.view(-1, 2 * self.buses)


def _sizes(demand: Reals) -> Reals:
    """The size of each bus's demand; where it has none, the mean of those that have one, 1 per unit without any."""
    sizes = np.abs(demand)
    present = sizes[sizes > 0]
    return np.where(sizes > 0, sizes, present.mean() if len(present) else 1.0)


def soft_box(grid: Grid, labels: Sequence[str], settings: PowerCompletedSettings) -> tuple[Reals, Reals]:
    """Middle and amplitude of the set points of P, then of |V|, of every unit: [2 gen] each.

    ``labels`` are what the units are called. Raises a Refusal with PD641 where a limit is infinite.
    """
    low = np.concatenate((grid.s_min.real, grid.v_min[grid.at]))
    high = np.concatenate((grid.s_max.real, grid.v_max[grid.at]))
    infinite = np.unique(np.flatnonzero(~np.isfinite(high - low)) % grid.units)
    if len(infinite):
        units = enumerated([labels[unit] for unit in infinite])
        raise refuse("PD641", given=settings.grid.given, units=units)
    amplitude = (high - low) / 2 * (1 + settings.overshoot)
    amplitude[: grid.units][grid.s_min.real == grid.s_max.real] = settings.play
    return (low + high) / 2, amplitude


def nominal_voltages(grid: Grid, given: str) -> Complexes:
    """Voltages [bus] of the optimal power flow of the grid's own demand.

    Raises a Refusal with PD643 where there is none.
    """
    # casadi is slow to import and only needed here
    from pdual.packs.power.optima.optimum import PowerSolver

    solver = PowerSolver(grid)
    optimum = solver.solve(grid.load)
    if optimum is None:
        raise refuse("PD643", given=given, status=solver.status)
    return optimum.v


def build(signature: Signature, settings: Settings, context: ArchitectureContext) -> nn.Module:
    """The builder of ``power.completed``.

    Raises a Refusal: PD520 no power grid, PD641 infinite limits, PD642 no unit at the reference bus, PD643
    the grid's own demand has no optimal power flow.
    """
    assert isinstance(settings, PowerCompletedSettings)
    given = settings.grid.given
    known = context.knowns[given]
    if missing := lacking(known):
        raise refuse("PD520", given=given, missing=enumerated(missing))
    grid = grid_of(known)
    if not grid.slack[grid.at].any():
        raise refuse("PD642", given=given)
    names = power_names(signature)
    assert names is not None
    box = soft_box(grid, known.sets[names.unit], settings)
    plan = completion(grid, nominal_voltages(grid, given))
    proposer = context.build(settings.proposer, proposal_signature(signature))
    return PowerCompleted(proposer, names, plan, grid, box, settings)
