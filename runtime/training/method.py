"""The parts of Algorithm 1 that can be replaced: the step of the weights and the step of the multipliers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from torch import Tensor, nn

from pdual.dsl.declarations.references import OptimiserUse
from pdual.runtime.optimisation.multiplier_step import Ascent, MultiplierStep
from pdual.runtime.optimisation.optimisers import ScheduledOptimiser


class WeightStep(Protocol):
    """A step of the weights. ``ScheduledOptimiser`` is one gradient step of an optimiser; others may look at the loss more than once."""

    def step(self, loss: Callable[[], Tensor]) -> Tensor:
        """Take a step on ``loss``, a function that draws a batch and gives a scalar; its value, detached."""

    def holds(self, parameters: Iterable[nn.Parameter]) -> bool:
        """Whether all of these are among its weights."""

    def decay(self, parameters: Iterable[nn.Parameter], weight: float) -> None:
        """Add ``weight`` ||theta||^2 of some of its weights to what every step follows."""

    def with_decay(self, loss: Tensor) -> Tensor:
        """A loss plus the value of what ``decay`` added."""

    def state(self) -> Mapping[str, object]:
        """What ``load_state`` needs to go on exactly from here."""

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from a saved state."""


@dataclass(frozen=True)
class Method:
    """How weights and multipliers move. The default is Algorithm 1 of the paper.

    ``weights``: from the optimiser of the spec, the weights, and the number of steps of the whole run. ``multipliers``: called once for
    each data set, and for the constraints on averages.
    """

    weights: Callable[[OptimiserUse, Iterable[nn.Parameter], int], WeightStep] = ScheduledOptimiser
    multipliers: Callable[[], MultiplierStep] = Ascent


ALGORITHM_1 = Method()
