"""Other steps of the multipliers and of the weights, each written here and nowhere else, end at the same optimum."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

import pytest
import torch
from small_problems import Free, after, multipliers, part, plan, problem, sgd, table
from torch import Tensor

from pdual.compiler.layout import Layout
from pdual.dsl.declarations.solving import SolveSettings
from pdual.runtime.optimisation.optimisers import ScheduledOptimiser, follow
from pdual.runtime.optimisation.placement import Placement
from pdual.runtime.problem.problem import Options, Problem
from pdual.runtime.storage.records import LogLine
from pdual.runtime.training.method import Method
from pdual.runtime.training.solver import solve
from pdual.runtime.training.training_sets import build_training_sets

Z = torch.tensor([-1.0, 0.5, 2.0, 3.0], dtype=torch.float64)
LAYOUT = Layout("d", (part("a"),))


class Proportional:
    """u = g + k (g - g of the last update): a PI controller of the multipliers (nuPI without smoothing)."""

    rests = False

    def __init__(self, gain: float = 0.5) -> None:
        self._gain = gain
        self._last: Tensor | None = None

    def __call__(self, ids: Tensor, residuals: Tensor) -> Tensor:
        before, self._last = self._last, residuals.clone()
        return residuals if before is None else residuals + self._gain * (residuals - before)

    def state(self) -> Mapping[str, object]:
        return {} if self._last is None else {"last": self._last}

    def load_state(self, state: Mapping[str, Any]) -> None:
        self._last = state.get("last")


class Extragradient(ScheduledOptimiser):
    """A step from where a first step led: the slope is taken there, and followed from the start."""

    def step(self, loss: Callable[[], Tensor]) -> Tensor:
        weights = self._flat.vectors
        before = [weight.detach().clone() for weight in weights]
        value = loss()
        follow(value)
        with torch.no_grad():
            for weight in weights:
                weight -= self.settings.lr * weight.grad
        self._flat.clear()
        follow(loss())
        with torch.no_grad():
            for weight, start in zip(weights, before, strict=True):
                weight.copy_(start)
        self.advance()
        return value.detach()


def body(x: Tensor, values: Mapping[str, Tensor]) -> tuple[Tensor, Tensor, None]:
    return 0.5 * (x[:, 0] - values["z"][:, 0]) ** 2, x, None


def given() -> Problem:
    """min 1/2 (x - z)^2 subject to x <= 0 for every row: x = min(z, 0), lam = max(z, 0)."""
    settings = SolveSettings(rho=1.0, outer=40, descent=sgd(0.5, steps=20))
    return problem(body, table(Z[:, None]), LAYOUT, (plan("pointwise", LAYOUT),), Free(len(Z)), settings)


def options(**more: Any) -> Options:
    return Options(placement=Placement(precision="float64"), **more)


METHODS = {
    "algorithm 1": Method(),
    "controller": Method(multipliers=Proportional),
    "extragradient": Method(weights=Extragradient),
}


@pytest.mark.parametrize("name", METHODS)
def test_each_ends_at_the_optimum_and_its_multipliers(name: str) -> None:
    run = solve(given(), options(), method=METHODS[name])
    assert multipliers(run)[:, 0].tolist() == pytest.approx(Z.clamp(min=0).tolist(), abs=1e-6)
    assert run.training_sets[0].evaluate("train").residuals[:, 0].tolist() == pytest.approx(
        Z.clamp(max=0).tolist(), abs=1e-6
    )


def test_each_is_a_path_of_its_own() -> None:
    paths = []
    for method in METHODS.values():
        lines: list[LogLine] = []
        solve(given(), options(log=lines.append), method=method)
        paths.append([line.loss for line in lines])
    assert paths[0] != paths[1]
    assert paths[0] != paths[2]


def test_what_a_controller_keeps_is_saved_with_a_run() -> None:
    method = METHODS["controller"]
    states: list[Mapping[str, Any]] = []
    whole = solve(given(), options(), method=method)
    stopped = options(save=lambda state: states.append(copy.deepcopy(dict(state))), stop=after(200))
    solve(given(), stopped, method=method)
    assert 0 < states[-1]["iteration"] < 40
    resumed = solve(given(), options(), resume=states[-1], method=method)
    assert torch.equal(multipliers(resumed), multipliers(whole))


def test_a_step_with_memory_lets_no_row_rest() -> None:
    (plain,) = build_training_sets(given(), options())
    (other,) = build_training_sets(given(), options(), Proportional)
    assert (plain.multipliers.rests, other.multipliers.rests) == (True, False)
