"""``cnn``: its size in the shipped specs, and that the layout in which it computes changes nothing that anybody sees."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
import torch
import torch.nn.functional as functional
from torch import Tensor, nn

from pdual.compiler.compile import lower
from pdual.dsl.declarations.architecture_cnn import CNN
from pdual.dsl.pipeline import read
from pdual.dsl.spans import Source
from pdual.finding import shipped_specs
from pdual.runtime.models.build import count_parameters
from pdual.runtime.models.cnn import Cnn
from pdual.runtime.optimisation.flat import FlatParameters
from pdual.runtime.problem.prepare import build_models


def shipped(name: str) -> nn.ModuleDict:
    torch.manual_seed(0)
    spec, found = read(Source(name, Path(shipped_specs()[name]).read_text()))
    assert spec is not None, found
    return build_models(lower(spec, {})[0], {}, {})


def in_rows(network: Cnn, image: Tensor) -> Tensor:
    """The same network in torch's default layout."""
    maps = image
    for layer in network.convolutions:
        assert isinstance(layer, nn.Conv2d)
        maps = functional.relu(functional.max_pool2d(layer(maps), network.pool))
    flat: Tensor = network.perceptron(maps.flatten(1))[1]
    return flat


@pytest.mark.parametrize("model", ["f", "h"])
def test_the_networks_of_mnist_have_138282_parameters(model: str) -> None:
    spec, _ = read(Source("mnist", Path(shipped_specs()["mnist"]).read_text()))
    assert spec is not None
    graph, _ = lower(spec, {})
    (declared,) = [item for item in graph.spec.models if item.name == model]
    assert declared.architecture is not None
    assert CNN.parameters(declared.signature, declared.architecture.settings, graph.sizes) == 138_282
    assert count_parameters(build_models(graph, {}, {})[model]) == 138_282


@pytest.mark.parametrize(("spec", "side"), [("mnist", 28), ("digits", 8)])
def test_the_layout_changes_nothing_beyond_rounding(spec: str, side: int) -> None:
    network = shipped(spec)["f"].double()
    assert isinstance(network, Cnn)
    images = torch.rand(5, 1, side, side, dtype=torch.float64)
    expected = in_rows(network, images)
    wanted = torch.autograd.grad(expected.square().sum(), list(network.parameters()))
    found = network({"image": images}).outputs[""]
    gradients = torch.autograd.grad(found.square().sum(), list(network.parameters()))
    assert torch.allclose(found, expected, rtol=1e-12, atol=1e-12)
    assert all(torch.allclose(a, b, rtol=1e-9, atol=1e-12) for a, b in zip(gradients, wanted, strict=True))


def test_weights_of_either_layout_are_loaded() -> None:
    network = shipped("digits")["f"]
    images = torch.rand(3, 1, 8, 8)
    expected = network({"image": images}).outputs[""]
    other = copy.deepcopy(network).to(memory_format=torch.channels_last)
    for weight in other.parameters():
        nn.init.zeros_(weight)
    other.load_state_dict(network.state_dict())
    assert torch.allclose(other({"image": images}).outputs[""], expected, atol=1e-6)
    again = copy.deepcopy(network)
    again.load_state_dict(other.state_dict())
    assert torch.equal(again({"image": images}).outputs[""], expected)
    assert all(weight.is_contiguous() for weight in again.parameters())


def test_pieces_of_one_vector_are_trained() -> None:
    network = shipped("digits")["f"]
    images = torch.rand(3, 1, 8, 8)
    wanted = torch.autograd.grad(network({"image": images}).outputs[""].sum(), list(network.parameters()))
    flat = FlatParameters(network.parameters())
    network({"image": images}).outputs[""].sum().backward()
    (gradient,) = flat.gradients
    assert torch.allclose(gradient, torch.cat([piece.flatten() for piece in wanted]), atol=1e-6)
    assert all(weight.grad is not None and weight.grad.is_contiguous() for weight in network.parameters())
