"""Sums over random signs: exact ones by enumeration, bounds above what any network of the class reaches, and by hand number by number."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from pdual.bounding.networks import DRAWS, SLOPES, Signs, Watched, is_covered
from pdual.dsl.declarations.architecture_cnn import CnnSettings
from pdual.dsl.declarations.architecture_gnn import GnnSettings
from pdual.dsl.declarations.architecture_plain import FreeSettings, LinearSettings, MlpSettings
from pdual.dsl.declarations.known import Known
from pdual.dsl.declarations.references import ArchitectureUse, GivenField, Settings
from pdual.dsl.declarations.signature import Output, Signature
from pdual.dsl.types import REAL, ArrayType, FixedAxis, Kind, MemberOf, SetAxis
from pdual.runtime.models.build import build_model
from pdual.runtime.models.mlp import ACTIVATIONS

ROWS = 7
SIGNS = torch.tensor(list(itertools.product([1.0, -1.0], repeat=ROWS)), dtype=torch.float64)


def built(name: str, settings: Settings, signature: Signature, sizes: dict[str, int], known: Known) -> Any:
    torch.manual_seed(0)
    model = build_model(ArchitectureUse(name, settings), signature, sizes, {"grid": known}, ROWS).double()
    with torch.no_grad():
        for weight in model.parameters():
            weight.copy_(torch.randn(weight.shape, dtype=torch.float64) * 0.6)
    return model


def vector(name: str, settings: Settings, low: float | None = None, high: float | None = None) -> Any:
    array = ArrayType(Kind.REAL, (FixedAxis(3),))
    outputs = (Output("a", ArrayType(Kind.REAL, (FixedAxis(2),)), low, high), Output("b", REAL))
    return built(name, settings, Signature((("x", array),), outputs), {}, Known({}, {}))


def image(settings: CnnSettings) -> Any:
    array = ArrayType(Kind.REAL, (FixedAxis(2), FixedAxis(6), FixedAxis(6)))
    signature = Signature((("x", array),), (Output("", ArrayType(Kind.REAL, (FixedAxis(3),))),))
    return built("cnn", settings, signature, {}, Known({}, {}))


def watched(model: nn.Module, *batches: dict[str, Tensor]) -> Watched:
    item = Watched(model, Signs())
    for batch in batches:
        item.listens = len(batch["x"])
        model(batch)
        item.listens = 0
        model(batch)  # nobody listens
    item.close()
    model(batches[0])
    assert item.evaluations == sum(len(batch["x"]) for batch in batches)
    return item


def last_rows(model: Any) -> tuple[Tensor, Tensor]:
    last = model.map if hasattr(model, "map") else model.perceptron.last
    bias = torch.zeros(len(last.weight)) if last.bias is None else last.bias
    return last.weight.detach().norm(dim=1), bias.detach().abs()


def best(features: Tensor, norms: Tensor, offsets: Tensor) -> Tensor:
    """Of every combination of signs, the largest sum over last layers with these norms, output by output: [signs, outputs]."""
    reach = (SIGNS @ features).norm(dim=1)
    return reach[:, None] * norms + SIGNS.sum(1).abs()[:, None] * offsets


@pytest.mark.parametrize("bias", [True, False])
def test_of_a_linear_map_all_is_known(bias: bool):
    model = vector("linear", LinearSettings(bias=bias))
    x = torch.randn(ROWS, 3, dtype=torch.float64)
    (sums,) = watched(model, {"x": x[:3]}, {"x": x[3:]}).sums()
    norms, offsets = last_rows(model)
    exact = best(x, norms, offsets).mean(0)
    assert sums.bound is not None
    np.testing.assert_allclose(sums.bound[0], norms * x.norm() + offsets * math.sqrt(ROWS))
    assert bool((sums.bound[0] >= exact).all())
    assert bool((sums.bound[0] <= 1.6 * exact).all())
    # The draws of a few signs, and sqrt N in place of E |sum of signs| in the offset.
    spread = (SIGNS @ x).norm(dim=1).std() / math.sqrt(DRAWS)
    expected = norms * (SIGNS @ x).norm(dim=1).mean() + offsets * math.sqrt(ROWS)
    assert bool(((sums.estimate[0] - expected).abs() <= 4 * norms * spread).all())


@pytest.mark.parametrize(
    ("low", "high", "slope"), [(None, None, 1.0), (0.0, 6.0, 1.5), (0.0, math.inf, 1.0), (-1.0, 1.0, 0.5)]
)
def test_a_declared_range_counts_with_its_slope(low: float | None, high: float | None, slope: float):
    x = torch.randn(ROWS, 3, dtype=torch.float64)
    (free,) = watched(vector("linear", LinearSettings()), {"x": x}).sums()
    (bounded,) = watched(vector("linear", LinearSettings(), low, high), {"x": x}).sums()
    assert free.bound is not None
    assert bounded.bound is not None
    np.testing.assert_allclose(bounded.bound[0], free.bound[0] * torch.tensor([slope, slope, 1.0]))
    np.testing.assert_allclose(bounded.estimate[0], free.estimate[0] * torch.tensor([slope, slope, 1.0]))


@pytest.mark.parametrize("name", sorted(ACTIVATIONS))
def test_slopes_of_activations(name: str):
    x = torch.linspace(-12, 12, 200_001, dtype=torch.float64).requires_grad_(True)
    value = ACTIVATIONS[name](x)
    (slope,) = torch.autograd.grad(value.sum(), x)
    largest, start = SLOPES[name]
    assert largest - 1e-4 <= float(slope.abs().max()) <= largest
    at_zero = float(ACTIVATIONS[name](torch.zeros((), dtype=torch.float64)))
    assert at_zero <= start <= at_zero + 1e-6


def member(module: nn.Module) -> None:
    """Other weights with the same norm of every row of [W b]."""
    for layer in module.modules():
        if isinstance(layer, nn.Linear | nn.Conv2d) and layer.bias is not None:
            both = torch.cat([layer.weight.detach().flatten(1), layer.bias.detach()[:, None]], 1)
            other = torch.randn_like(both)
            other *= (both.norm(dim=1) / other.norm(dim=1))[:, None]
            with torch.no_grad():
                layer.weight.copy_(other[:, :-1].reshape(layer.weight.shape))
                layer.bias.copy_(other[:, -1])


def reached(model: Any, x: Tensor, tries: int = 60) -> Tensor:
    """The mean over all signs of the best of some networks of the class, its last layer the best for every signs: [outputs]."""
    norms, offsets = last_rows(model)
    held: list[Tensor] = []
    hook = model.perceptron.last.register_forward_pre_hook(lambda module, inputs: held.append(inputs[0].detach()))
    for _ in range(tries):
        model({"x": x})
        member(model)
    hook.remove()
    return torch.stack([best(features, norms, offsets) for features in held]).amax(0).mean(0)


@pytest.mark.parametrize("activation", sorted(ACTIVATIONS))
@pytest.mark.parametrize("more", [{}, {"skip": True}, {"normalise": True}])
def test_no_perceptron_of_the_class_is_above_the_bound(activation: Any, more: dict[str, bool]):
    model = vector("mlp", MlpSettings(hidden=(4, 4), activation=activation, **more))
    x = torch.randn(ROWS, 3, dtype=torch.float64)
    (sums,) = watched(model, {"x": x}).sums()
    assert sums.bound is not None
    assert bool((sums.bound[0] >= reached(model, x)).all())
    assert bool((sums.bound[0] >= sums.estimate[0]).all())


def test_the_bound_of_a_perceptron_number_by_number():
    model = vector("mlp", MlpSettings(hidden=(4, 4), skip=True))
    x = torch.randn(ROWS, 3, dtype=torch.float64)
    (sums,) = watched(model, {"x": x}).sums()
    reach, root = float(np.sqrt((x.numpy() ** 2).sum())), math.sqrt(ROWS)
    for place, layer in enumerate(model.perceptron.hidden):
        size = math.sqrt(float((layer.weight.detach() ** 2).sum() + (layer.bias.detach() ** 2).sum()))
        made = 2 * size * (reach + root)
        reach = made if place == 0 else reach + made
    norms, offsets = last_rows(model)
    assert sums.bound is not None
    np.testing.assert_allclose(sums.bound[0], norms * reach + offsets * root)


def test_no_convolution_of_the_class_is_above_the_bound():
    model = image(CnnSettings(channels=(3, 2), kernel=3, pool=2, hidden=(4,)))
    x = torch.rand(ROWS, 2, 6, 6, dtype=torch.float64)
    (sums,) = watched(model, {"x": x[:4]}, {"x": x[4:]}).sums()
    assert sums.bound is not None
    assert bool((sums.bound[0] >= reached(model, x)).all())


def test_the_bound_of_a_convolution_place_by_place():
    model = image(CnnSettings(channels=(3, 2), kernel=3, pool=2, hidden=(4,)))
    x = torch.rand(ROWS, 2, 6, 6, dtype=torch.float64)
    (sums,) = watched(model, {"x": x}).sums()
    root = math.sqrt(ROWS)

    def size(layer: Any) -> float:
        return math.sqrt(float((layer.weight.detach() ** 2).sum() + (layer.bias.detach() ** 2).sum()))

    def around(values: np.ndarray, row: int, column: int, join: Callable[[list[float]], float]) -> float:
        near = [
            float(values[i, j])
            for i in range(row - 1, row + 2)
            for j in range(column - 1, column + 2)
            if 0 <= i < len(values) and 0 <= j < len(values)
        ]
        return join(near)

    energy = (x.numpy() ** 2).sum((0, 1))
    patches = np.array([[around(energy, i, j, lambda near: math.sqrt(sum(near))) for j in range(6)] for i in range(6)])
    for layer in model.convolutions:
        half = len(patches) // 2
        maps = np.array(
            [
                [2 * size(layer) * (patches[2 * i : 2 * i + 2, 2 * j : 2 * j + 2] + root).sum() for j in range(half)]
                for i in range(half)
            ]
        )
        patches = np.array([[around(maps, i, j, sum) for j in range(half)] for i in range(half)])
    reach = 2 * size(model.perceptron.hidden[0]) * (maps.sum() + root)
    norms, offsets = last_rows(model)
    assert sums.bound is not None
    np.testing.assert_allclose(sums.bound[0], norms * reach + offsets * root)


def test_a_graph_network_has_an_estimate_by_member_and_no_bound():
    edges = tuple(GivenField("grid", field, ArrayType(MemberOf("bus"), (SetAxis("branch"),))) for field in ("s", "t"))
    known = Known({}, {"s": [0, 1], "t": [1, 2]})
    bus = ArrayType(Kind.REAL, (SetAxis("bus"),))
    signature = Signature((("x", bus),), (Output("v", bus, 0.0, 2.0),))
    model = built("gnn", GnnSettings(edges=edges, layers=1, width=4), signature, {"bus": 3, "branch": 2}, known)  # type: ignore[arg-type]
    x = torch.randn(ROWS, 3, dtype=torch.float64)
    (sums,) = watched(model, {"x": x}).sums()
    assert sums.bound is None
    features = model({"x": x}).features["bus"].detach()
    readout = model.readouts[0]
    for place in range(3):
        reach = (SIGNS @ features[:, place]).norm(dim=1)
        norm, offset = float(readout.weight.detach()[place, :, 0].norm()), float(readout.bias.detach()[place, 0].abs())
        expected = 0.5 * (norm * float(reach.mean()) + offset * math.sqrt(ROWS))
        assert abs(float(sums.estimate[place, 0]) - expected) <= 0.5 * norm * 4 * float(reach.std()) / math.sqrt(DRAWS)


def test_members_are_samples_of_their_own():
    """A network that sees every member of a set, flattened, row after row."""
    model = vector("linear", LinearSettings())
    x = torch.randn(ROWS, 2, 3, dtype=torch.float64)
    item = Watched(model, Signs())
    item.listens = ROWS
    model({"x": x.flatten(0, 1)})
    (sums,) = item.sums()
    assert item.evaluations == ROWS
    norms, offsets = last_rows(model)
    assert sums.bound is not None
    for place in range(2):
        np.testing.assert_allclose(sums.bound[place], norms * x[:, place].norm() + offsets * math.sqrt(ROWS))


def test_what_is_not_covered_is_not():
    assert is_covered(vector("linear", LinearSettings()))
    assert not is_covered(vector("free", FreeSettings()))
