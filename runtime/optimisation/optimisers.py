"""Optimisers and their schedules, as the settings of a spec describe them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from inspect import unwrap
from math import cos, pi
from typing import Any

import torch
from torch import Tensor, nn

from pdual.dsl.declarations.optimisers import (
    AdamSettings,
    ConstantSettings,
    CosineSettings,
    OptimiserSettings,
    SgdSettings,
)
from pdual.dsl.declarations.references import OptimiserUse
from pdual.dsl.diagnostics import refuse
from pdual.runtime.optimisation.flat import FlatParameters


class ScheduledOptimiser:
    """One optimiser over the whole run: rate of this step, clipping, step, clearing of gradients.

    ``total`` is the number of steps of the whole run, which the schedule spans.
    """

    def __init__(self, use: OptimiserUse, parameters: Iterable[nn.Parameter], total: int) -> None:
        assert isinstance(use.settings, OptimiserSettings)
        self.settings = use.settings
        self._flat = FlatParameters(parameters)
        self._optimiser = _build(use.optimiser, self.settings, self._flat.vectors)
        #: Whether the optimiser's own decay is a slope of the loss: not where it is apart from it, or would be clipped with it.
        self._folds = use.optimiser != "adamw" and self.settings.clip is None
        self._decays: list[tuple[Tensor, float]] = []
        self._slopes: list[tuple[Tensor, Tensor, float]] = []
        self._total = total
        self._taken = 0

    def holds(self, parameters: Iterable[nn.Parameter]) -> bool:
        """Whether all of these are among its weights."""
        return self._flat.holds(parameters)

    def decay(self, parameters: Iterable[nn.Parameter], weight: float) -> None:
        """Add ``weight`` ||theta||^2 of some of its weights to what every step follows."""
        for values, slope in self._flat.pieces(parameters):
            self._decays.append((values, weight))
            group = self._group_of(values) if self._folds else None
            if group is not None:
                group["weight_decay"] += 2 * weight
            else:
                self._slopes.append((values, slope, weight))

    def _group_of(self, values: Tensor) -> dict[str, Any] | None:
        """The optimiser's group of a piece that is a whole vector of weights."""
        pairs = zip(self._flat.vectors, self._optimiser.param_groups, strict=True)
        place, size = values.data_ptr(), values.numel()
        return next((group for vector, group in pairs if (vector.data_ptr(), vector.numel()) == (place, size)), None)

    def with_decay(self, loss: Tensor) -> Tensor:
        """A loss plus the value of what ``decay`` added."""
        for values, weight in self._decays:
            loss = torch.add(loss, values.dot(values), alpha=weight)
        return loss

    def step(self, loss: Callable[[], Tensor]) -> Tensor:
        """One gradient step on a scalar loss, which is looked at once; its value, detached. Raises PD611 as ``follow``."""
        value = loss()
        if value.requires_grad:
            follow(value)
        self.advance()
        return value.detach()

    def advance(self) -> None:
        """Follow the gradients that are there, bounded in norm by ``clip``, and clear them."""
        for values, slope, weight in self._slopes:
            slope.add_(values, alpha=2 * weight)
        if self.settings.clip is not None:
            self._flat.clip(self.settings.clip)
        rate = self.settings.lr * share(self.settings.schedule, self._taken, self._total)
        for group in self._optimiser.param_groups:
            group["lr"] = rate
        self._optimiser.step()
        self._flat.clear()
        self._taken += 1

    def state(self) -> dict[str, object]:
        """Moments and the number of steps taken."""
        return {"taken": self._taken, "optimiser": self._optimiser.state_dict()["state"]}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from a saved state."""
        self._taken = int(state["taken"])
        whole = self._optimiser.state_dict()
        whole["state"] = {int(index): dict(moments) for index, moments in state["optimiser"].items()}
        self._optimiser.load_state_dict(whole)


def follow(loss: Tensor) -> None:
    """Add the gradient of a loss. Raises PD611 where a module from Python lets it have none."""
    try:
        loss.backward()  # type: ignore[no-untyped-call]
    except torch.OutOfMemoryError:
        raise
    except RuntimeError as error:
        raise refuse("PD611", reason=str(error).splitlines()[0].split(" Hint:")[0].rstrip(".")) from error


def share(schedule: CosineSettings | ConstantSettings, step: int, total: int) -> float:
    """The share of the rate at a step (from 0): linear warm-up, then constant or half a cosine that ends at
    ``final``.

    The last step of the run has exactly the share ``final``.
    """
    if step < schedule.warmup:
        return (step + 1) / schedule.warmup
    if isinstance(schedule, ConstantSettings):
        return 1.0
    done = min(1.0, (step - schedule.warmup + 1) / max(1, total - schedule.warmup))
    return schedule.final + (1 - schedule.final) * (1 + cos(pi * done)) / 2


class _Light(torch.optim.Optimizer):
    """Methods of torch's optimisers as they are without torch's compiler: to be left alone by it they import it, which takes two seconds."""

    add_param_group = unwrap(torch.optim.Optimizer.add_param_group)
    state_dict = unwrap(torch.optim.Optimizer.state_dict)
    load_state_dict = unwrap(torch.optim.Optimizer.load_state_dict)
    zero_grad = unwrap(torch.optim.Optimizer.zero_grad)


class _Adam(_Light, torch.optim.Adam):
    step = torch.no_grad()(unwrap(torch.optim.Adam.step))


class _AdamW(_Light, torch.optim.AdamW):
    step = torch.no_grad()(unwrap(torch.optim.Adam.step))


class _Sgd(_Light, torch.optim.SGD):
    step = torch.no_grad()(unwrap(torch.optim.SGD.step))


def _build(name: str, settings: OptimiserSettings, vectors: list[nn.Parameter]) -> torch.optim.Optimizer:
    # Fused kernels exist for every floating-point type; complex parameters do not occur (the compiler lowers them).
    decay = settings.weight_decay
    parameters = [{"params": [vector]} for vector in vectors]
    if isinstance(settings, SgdSettings):
        return _Sgd(parameters, settings.lr, settings.momentum, weight_decay=decay, fused=True)
    assert isinstance(settings, AdamSettings)
    kind = _AdamW if name == "adamw" else _Adam
    return kind(parameters, settings.lr, settings.betas, weight_decay=decay, fused=True)


def trainable(module: nn.Module) -> list[nn.Parameter]:
    """The parameters of a module that a gradient may change, each once."""
    return [parameter for parameter in module.parameters() if parameter.requires_grad]


def finite(parameters: Iterable[Tensor]) -> bool:
    """Whether every number in these tensors is finite."""
    return all(bool(torch.isfinite(parameter).all()) for parameter in parameters)
