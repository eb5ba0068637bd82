"""Parameters as one vector: the same numbers as torch's own loop over tensors."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from pdual.dsl.declarations.optimisers import AdamSettings, ConstantSettings, SgdSettings
from pdual.dsl.declarations.references import OptimiserUse
from pdual.runtime.optimisation.flat import FlatParameters
from pdual.runtime.optimisation.optimisers import ScheduledOptimiser


def network(dtype: torch.dtype = torch.float64) -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2)).to(dtype)


def rows() -> torch.Tensor:
    return torch.linspace(-1, 1, 12, dtype=torch.float64).reshape(4, 3)


def test_parameters_keep_their_values_and_share_one_vector() -> None:
    model = network()
    before = [weight.detach().clone() for weight in model.parameters()]
    flat = FlatParameters(model.parameters())
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))
    (vector,) = flat.vectors
    with torch.no_grad():
        vector.zero_()
    assert all(not weight.any() for weight in model.parameters())


def test_weights_of_another_model_are_copied_in() -> None:
    model, other = network(), network()
    flat = FlatParameters(model.parameters())
    nn.init.constant_(other[0].weight, 7.0)
    model.load_state_dict(other.state_dict())
    assert (flat.vectors[0] == 7.0).sum() == 15


def test_one_vector_for_each_type() -> None:
    single, double = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(3, dtype=torch.float64))
    flat = FlatParameters([single, double])
    assert [(len(vector), vector.dtype) for vector in flat.vectors] == [(2, torch.float32), (3, torch.float64)]
    (3 * single.sum() + 4 * double.sum()).backward()
    flat.clip(1.0)
    norm = (2 * 9 + 3 * 16) ** 0.5
    assert single.grad is not None
    assert double.grad is not None
    assert single.grad.tolist() == pytest.approx([3 / norm] * 2, rel=1e-6)
    assert double.grad.tolist() == pytest.approx([4 / norm] * 3, rel=1e-6)
    flat.clear()
    assert not any(gradient.any() for gradient in flat.gradients)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("adam", AdamSettings(lr=0.01, betas=(0.8, 0.9), clip=0.5, schedule=ConstantSettings())),
        ("adam", AdamSettings(lr=0.01, weight_decay=0.1)),
        ("adamw", AdamSettings(lr=0.01, weight_decay=0.1, clip=0.1)),
        ("sgd", SgdSettings(lr=0.05, momentum=0.9, clip=0.2)),
    ],
)
def test_steps_are_those_of_torch(name: str, settings: AdamSettings | SgdSettings) -> None:
    ours, theirs = network(), network()
    optimiser = ScheduledOptimiser(OptimiserUse(name, settings), ours.parameters(), 20)
    oracle: torch.optim.Optimizer
    if isinstance(settings, SgdSettings):
        oracle = torch.optim.SGD(theirs.parameters(), settings.lr, settings.momentum)
    else:
        kind = torch.optim.AdamW if name == "adamw" else torch.optim.Adam
        oracle = kind(theirs.parameters(), settings.lr, settings.betas, weight_decay=settings.weight_decay)
    for _ in range(20):
        ours(rows()).square().sum().backward()
        optimiser.advance()
        oracle.zero_grad()
        theirs(rows()).square().sum().backward()
        if settings.clip is not None:
            nn.utils.clip_grad_norm_(theirs.parameters(), settings.clip)
        oracle.step()
    for mine, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("some", [False, True])
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("adam", AdamSettings(lr=0.01, weight_decay=0.1)),
        ("adam", AdamSettings(lr=0.01, clip=0.5)),
        ("adamw", AdamSettings(lr=0.01, weight_decay=0.1)),
        ("sgd", SgdSettings(lr=0.05, momentum=0.9)),
    ],
)
def test_a_decay_is_a_term_of_the_loss(name: str, settings: AdamSettings | SgdSettings, some: bool) -> None:
    """Whether the optimiser's kernel adds its slope or the optimiser does, of all weights or of one, alone or twice."""
    ours, theirs = network(), network()
    ours_optimiser = ScheduledOptimiser(OptimiserUse(name, settings), ours.parameters(), 20)
    theirs_optimiser = ScheduledOptimiser(OptimiserUse(name, settings), theirs.parameters(), 20)
    place = slice(0, 1) if some else slice(None)
    for weight in (0.05, 0.02):
        ours_optimiser.decay(list(ours.parameters())[place], weight)
    for _ in range(20):
        loss = ours(rows()).square().sum()
        loss.backward()
        whole = theirs(rows()).square().sum()
        whole = whole + 0.07 * sum(weight.square().sum() for weight in list(theirs.parameters())[place])
        torch.testing.assert_close(ours_optimiser.with_decay(loss.detach()), whole.detach(), rtol=1e-9, atol=1e-12)
        whole.backward()
        ours_optimiser.advance()
        theirs_optimiser.advance()
    for mine, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-9, atol=1e-12)


def test_a_driver_goes_on_from_its_state() -> None:
    settings = AdamSettings(lr=0.01, betas=(0.8, 0.9), clip=0.5)
    whole, half = network(), network()
    optimiser = ScheduledOptimiser(OptimiserUse("adam", settings), whole.parameters(), 10)
    first = ScheduledOptimiser(OptimiserUse("adam", settings), half.parameters(), 10)

    def step(model: nn.Module, by: ScheduledOptimiser) -> None:
        model(rows()).square().sum().backward()
        by.advance()

    for _ in range(10):
        step(whole, optimiser)
    for _ in range(5):
        step(half, first)
    saved = copy.deepcopy((half.state_dict(), first.state()))
    again = network()
    second = ScheduledOptimiser(OptimiserUse("adam", settings), again.parameters(), 10)
    again.load_state_dict(saved[0])
    second.load_state(saved[1])
    for _ in range(5):
        step(again, second)
    assert all(torch.equal(a, b) for a, b in zip(whole.parameters(), again.parameters(), strict=True))
