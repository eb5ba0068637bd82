"""Multipliers that are a function of weights phi are fitted to their ascent targets.

The targets, their smoothing and the fit are "Dual ascent targets" and "Projection onto Lambda_Phi" of Algorithm 1 (Boero, Nixon and Ribeiro).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from pdual.dsl.declarations.optimisers import OptimiserSettings
from pdual.dsl.declarations.references import OptimiserUse
from pdual.runtime.data.features import FeatureCache, Features
from pdual.runtime.data.sampling import Draw, RowStream
from pdual.runtime.duals.store import Bounds, DualStore, Reading, same_shapes, step
from pdual.runtime.optimisation.optimisers import ScheduledOptimiser, trainable

#: A column whose targets are all but 0 is not divided by less than this share of the largest column's RMS.
RMS_FLOOR = 0.01


#: Where lam_phi is closer to a bound than this share of G, a logistic weight grows no further.
VARIANCE_FLOOR = 1e-7

#: With a logistic weight targets end by this share of G before the cap: beyond, a sigmoid is 1 and has no slope to come back by.
SATURATION = 1e-4

#: Rows whose multipliers are read again at once.
READ_AGAIN = 256


@dataclass(frozen=True, slots=True)
class Fitting:
    """How multipliers are fitted: the ascent's optimiser, ``smoothing``, I_fit, the fits of the whole run,
    the order of rows, the share of a batch for rows at rest.

    ``fit`` [k] holds positions among the rows of a pass.
    """

    ascent: OptimiserUse
    smoothing: float
    fit: Tensor
    iterations: int
    random: torch.Generator
    share: float


@dataclass(frozen=True, slots=True)
class Aim:
    """What a fit leads to: of k rows of I_fit the ``ids`` [k], ``targets`` [k, c], ``live`` [k, c] (None: all are), the errors'
    ``weight``, and the features.
    """

    ids: Tensor
    targets: Tensor
    live: Tensor | None
    weight: Tensor
    features: FeatureCache


class RegressionStore(DualStore):
    """lam_phi, fitted by minibatch steps on the features of one evaluation pass. It never runs a model of the
    primal.

    Targets t_n = clip(lam_phi(z_n) + rho g_n), then ``smoothing`` lam_phi(z_n) + (1 - ``smoothing``) t_n,
    with lam_phi as it was during the pass. The loss is the mean over rows of I_fit and live entries of w
    |lam_phi(z_n) - t_n|^2. With ``weight = rms`` an entry's error is divided by the RMS of its targets; with
    ``weight = logistic`` the loss is the cross-entropy of lam_phi / G and t_n / G, which has the same minimiser, the
    conditional mean, and does not vanish where a sigmoid saturates.
    """

    def __init__(self, phi: nn.Module, bounds: Bounds, fitting: Fitting) -> None:
        settings = fitting.ascent.settings
        assert isinstance(settings, OptimiserSettings)
        self.phi = phi
        self._bounds = bounds
        self._smoothing = fitting.smoothing
        self._fit = fitting.fit
        places = torch.arange(len(self._fit), device=self._fit.device)
        self._stream = RowStream(places, settings.batch, fitting.random, fitting.share)
        self._weights = trainable(phi)
        self._steps = settings.steps_over(len(self._fit))
        self._ascent, self._total = fitting.ascent, self._steps * fitting.iterations
        self._optimiser = ScheduledOptimiser(self._ascent, self._weights, self._total)

    @abstractmethod
    def predict(self, ids: Tensor, features: Features, values: Mapping[str, object]) -> Tensor:
        """What phi says before the head: [batch, c], with a gradient."""

    @abstractmethod
    def head(self, raw: Tensor) -> Tensor:
        """The multipliers from what phi says; its gradient is taken to be 1."""

    @abstractmethod
    def values(self, ids: Tensor) -> Mapping[str, object]:
        """The fields of some rows, where ``predict`` needs them."""

    def recentre(self, shift: Tensor) -> None:
        """Move the last bias by ``shift`` [c], where there is one."""

    def value(self, ids: Tensor, features: Features, values: Mapping[str, object]) -> Tensor:
        """lam_phi of some rows."""
        with torch.no_grad():
            return self.head(self.predict(ids, features, values))

    def restrict(self, awake: Tensor) -> None:
        """Fit on rows at rest less often, with larger weights."""
        self._stream.restrict(awake.index_select(0, self._fit))

    def update(self, reading: Reading) -> float:
        """Fit phi; returns the mean |lam_phi - t| over the minibatches of the fit."""
        (missed,) = fitted([self], [reading])
        return missed

    def join(self, others: Sequence[RegressionStore]) -> None:
        """Have stores whose weights are in part the same draw the same rows and step all their weights at once."""
        weights = {id(weight): weight for store in (self, *others) for weight in store.weights()}
        self._optimiser = ScheduledOptimiser(self._ascent, weights.values(), self._total)
        for store in others:
            store._optimiser, store._stream = self._optimiser, self._stream

    def prepare(self, reading: Reading, draws: Sequence[Draw]) -> Aim:
        """What the fit that begins leads to."""
        self._read_again(reading, draws)
        targets = self._targets(reading).index_select(0, self._fit)
        live = None if reading.mask is None else reading.mask.index_select(0, self._fit)
        if self._optimiser.settings.recenter:
            self.recentre(self._lag(reading, targets, live))
        ids = reading.ids.index_select(0, self._fit)
        return Aim(ids, targets, live, self._weight(targets, live), reading.features)

    def follow(self, aim: Aim, draw: Draw) -> Tensor:
        """Add the slope of the loss on some rows to the gradients; their mean |lam_phi - t|."""
        rows = draw.ids
        at = aim.ids.index_select(0, rows)
        features = aim.features.rows(self._fit.index_select(0, rows))
        raw = self.predict(at, features, self.values(at))
        multipliers = self.head(raw.detach())
        error = multipliers - aim.targets.index_select(0, rows)
        if aim.live is not None:
            error = error * aim.live.index_select(0, rows)
        if draw.weights is not None:
            error = error * draw.weights.to(error.dtype).unsqueeze(1)
        # The head passes errors straight through. Where t = 0 and raw < 0 it says 0, so the error and the
        # gradient vanish by themselves; everywhere else a clipped output still moves.
        logistic = self._optimiser.settings.weight == "logistic"
        weight = self._logistic(multipliers) if logistic else aim.weight
        slope = error * weight * (2 / error.numel())
        # The slope itself as an argument of `backward` would make torch import sympy, which takes a second.
        (raw * slope).sum().backward()  # type: ignore[no-untyped-call]
        return error.abs().mean()

    @property
    def optimiser(self) -> ScheduledOptimiser:
        """What steps the weights; stores that were joined have one."""
        return self._optimiser

    def begin(self) -> list[Draw]:
        """The rows of every step of a fit."""
        return [self._stream.draw() for _ in range(self._steps)]

    def state(self) -> dict[str, object]:
        """phi, its optimiser and the order of rows."""
        return {"phi": self.phi.state_dict(), "optimiser": self._optimiser.state(), "stream": self._stream.state()}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from a saved state."""
        self.phi.load_state_dict(state["phi"])
        self._optimiser.load_state(state["optimiser"])
        self._stream.load_state(state["stream"])

    def adopt(self, state: Mapping[str, Any]) -> bool:
        """Start from another run's phi; its optimiser starts afresh."""
        if "phi" not in state or not same_shapes(state["phi"], self.phi.state_dict()):
            return False
        self.phi.load_state_dict(state["phi"])
        return True

    def weights(self) -> list[nn.Parameter]:
        """phi."""
        return self._weights

    @property
    def parameters(self) -> int:
        """Trainable numbers in phi; does not grow with the rows."""
        return sum(weight.numel() for weight in self._weights)

    @property
    def bytes(self) -> int:
        """Their size."""
        return sum(weight.nbytes for weight in self._weights)

    def _read_again(self, reading: Reading, draws: Sequence[Draw]) -> None:
        """The multipliers of the rows that are drawn and not fresh, with phi as it is during the pass."""
        if reading.fresh is None:
            return
        drawn = self._fit.index_select(0, torch.unique(torch.cat([draw.ids for draw in draws])))
        stale = drawn[~reading.fresh.index_select(0, drawn)]
        for places in torch.split(stale, READ_AGAIN):
            ids = reading.ids.index_select(0, places)
            lam = self.value(ids, reading.features.rows(places), self.values(ids))
            reading.multipliers.index_copy_(0, places, lam)

    def _targets(self, reading: Reading) -> Tensor:
        targets = step(reading, self._bounds)
        if self._optimiser.settings.weight == "logistic":
            targets = torch.clamp(targets, self._bounds.low * (1 - SATURATION), self._bounds.high * (1 - SATURATION))
        return torch.lerp(targets, reading.multipliers, self._smoothing) if self._smoothing else targets

    def _lag(self, reading: Reading, targets: Tensor, live: Tensor | None) -> Tensor:
        lag = targets - reading.multipliers.index_select(0, self._fit)
        return lag.mean(0) if live is None else (lag * live).sum(0) / live.sum(0).clamp(min=1)

    def _logistic(self, multipliers: Tensor) -> Tensor:
        """The slope of the cross-entropy over the error: 1 / (4 q (1 - q)), q the place within the bounds."""
        place = (multipliers - self._bounds.low) / (self._bounds.high - self._bounds.low)
        return 0.25 / (place * (1 - place)).clamp(min=VARIANCE_FLOOR)

    def _weight(self, targets: Tensor, live: Tensor | None) -> Tensor:
        if self._optimiser.settings.weight != "rms":
            return targets.new_ones(())
        squares = targets.square()
        mean = squares.mean(0) if live is None else (squares * live).sum(0) / live.sum(0).clamp(min=1)
        largest = mean.max()
        return torch.where(largest > 0, 1 / mean.clamp(min=RMS_FLOOR**2 * largest), torch.ones_like(mean))


def fitted(stores: Sequence[RegressionStore], readings: Sequence[Reading]) -> list[float]:
    """Fit stores that were joined, or one alone; of each the mean |lam_phi - t| over the minibatches of the fit.

    The loss is the sum of theirs: fitted one after the other, each would undo what it shares with the one before.
    """
    draws = stores[0].begin()
    aims = [store.prepare(reading, draws) for store, reading in zip(stores, readings, strict=True)]
    missed = [aim.targets.new_zeros(()) for aim in aims]
    for draw in draws:
        for place, (store, aim) in enumerate(zip(stores, aims, strict=True)):
            missed[place] += store.follow(aim, draw)
        stores[0].optimiser.advance()
    return [float(item) / len(draws) for item in missed]
