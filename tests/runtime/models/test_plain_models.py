"""mlp, linear, free and cnn against the formulas that they implement, and the counts that they declare."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from pdual.dsl.declarations.architecture_cnn import CnnSettings
from pdual.dsl.declarations.architecture_plain import FreeSettings, LinearSettings, MlpSettings
from pdual.dsl.declarations.references import ArchitectureUse
from pdual.dsl.declarations.signature import Output, Signature
from pdual.dsl.diagnostics import Refusal
from pdual.dsl.types import COMPLEX, REAL, ArrayType, FixedAxis, Kind, MemberOf, SetAxis
from pdual.runtime.models import build as building
from pdual.runtime.models.build import build_model, count_parameters
from pdual.runtime.models.interface import ModelOutput, tables_of_rows

SIZES = {"bus": 3, "class": 10}
LOAD = ArrayType(Kind.COMPLEX, (SetAxis("bus"),))
LABEL = ArrayType(MemberOf("class"))
FLAG = ArrayType(Kind.BOOL, (FixedAxis(2),))
MIXED = Signature(
    (("load", LOAD), ("label", LABEL), ("flag", FLAG)),
    (
        Output("v", LOAD),
        Output("cost", REAL, 0.0, None),
        Output("share", ArrayType(Kind.REAL, (SetAxis("bus"), FixedAxis(2))), -1.0, 1.0),
    ),
)


def model(name: str, settings: object, signature: Signature, rows: int = 4) -> Any:
    torch.manual_seed(0)
    return build_model(ArchitectureUse(name, settings), signature, SIZES, {}, rows)  # type: ignore[arg-type]


def mixed_inputs(rows: int = 4) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(1)
    return {
        "load.re": torch.randn(rows, 3, generator=generator),
        "load.im": torch.randn(rows, 3, generator=generator),
        "label": torch.arange(rows) % 10,
        "flag": torch.rand(rows, 2, generator=generator) > 0.5,
        "@row": torch.arange(rows),
    }


def by_hand(inputs: Mapping[str, Tensor]) -> np.ndarray:
    """Re then im of the load, the label one-hot, the flags as 0 and 1."""
    rows = []
    for n in range(len(inputs["label"])):
        label = [float(inputs["label"][n] == j) for j in range(10)]
        flags = [float(value) for value in inputs["flag"][n]]
        rows.append([*inputs["load.re"][n].tolist(), *inputs["load.im"][n].tolist(), *label, *flags])
    return np.asarray(rows)


def weights(layer: nn.Module) -> tuple[np.ndarray, np.ndarray]:
    assert isinstance(layer, nn.Linear)
    return layer.weight.detach().double().numpy(), layer.bias.detach().double().numpy()


def check_mixed_outputs(output: ModelOutput, flat: np.ndarray) -> None:
    outputs = {name: value.detach().numpy() for name, value in output.outputs.items()}
    assert set(outputs) == {"v.re", "v.im", "cost", "share"}
    np.testing.assert_allclose(outputs["v.re"], flat[:, :3], atol=1e-5)
    np.testing.assert_allclose(outputs["v.im"], flat[:, 3:6], atol=1e-5)
    np.testing.assert_allclose(outputs["cost"], np.log1p(np.exp(flat[:, 6])), atol=1e-5)
    share = 2 / (1 + np.exp(-flat[:, 7:])) - 1
    np.testing.assert_allclose(outputs["share"], share.reshape(-1, 3, 2), atol=1e-5)


ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "relu": lambda x: np.maximum(x, 0),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "tanh": np.tanh,
    "softplus": lambda x: np.log1p(np.exp(x)),
}


class TestMlp:
    @pytest.mark.parametrize("activation", list(ACTIVATIONS))
    def test_it_is_the_formula(self, activation: Any) -> None:
        built = model("mlp", MlpSettings(hidden=(7, 5), activation=activation), MIXED)
        inputs = mixed_inputs()
        vector = by_hand(inputs)
        for layer in built.perceptron.hidden:
            weight, bias = weights(layer)
            vector = ACTIVATIONS[activation](vector @ weight.T + bias)
        found = built(inputs)
        np.testing.assert_allclose(found.features[""].detach().numpy(), vector, atol=1e-5)
        weight, bias = weights(built.perceptron.last)
        check_mixed_outputs(found, vector @ weight.T + bias)

    def test_skips_and_normalisation(self) -> None:
        signature = Signature((("x", ArrayType(Kind.REAL, (FixedAxis(6),))),), (Output("", REAL),))
        built = model("mlp", MlpSettings(hidden=(6, 6, 4), skip=True, normalise=True), signature)
        x = torch.randn(5, 6)
        vector = x.double().numpy()
        vector = (vector - vector.mean(1, keepdims=True)) / np.sqrt(vector.var(1, keepdims=True) + 1e-5)
        for index, layer in enumerate(built.perceptron.hidden):
            weight, bias = weights(layer)
            made = np.maximum(vector @ weight.T + bias, 0)
            vector = vector + made if index < 2 else made
        np.testing.assert_allclose(built({"x": x}).features[""].detach().numpy(), vector, atol=1e-5)

    def test_a_scalar_output_has_one_number_a_row_and_starts_at_its_bias(self) -> None:
        signature = Signature((("x", REAL),), (Output("", REAL),))
        built = model("mlp", MlpSettings(hidden=(4,), output_bias=-7.0), signature)
        assert built({"x": torch.zeros(3)}).outputs[""].shape == (3,)
        assert built.perceptron.last.bias.tolist() == [-7.0]

    def test_a_single_complex_output_has_unprefixed_parts(self) -> None:
        built = model("mlp", MlpSettings(hidden=()), Signature((("x", REAL),), (Output("", COMPLEX),)))
        found = built({"x": torch.zeros(3)})
        assert {name: value.shape for name, value in found.outputs.items()} == {"re": (3,), "im": (3,)}
        assert found.features == {}

    def test_rows_do_not_see_each_other(self) -> None:
        built = model("mlp", MlpSettings(hidden=(8,), normalise=True), MIXED)
        inputs = mixed_inputs(6)
        together = built(inputs).outputs["v.re"]
        alone = built({name: value[2:3] for name, value in inputs.items()}).outputs["v.re"]
        torch.testing.assert_close(together[2:3], alone)

    def test_it_follows_its_precision(self) -> None:
        built = model("mlp", MlpSettings(hidden=(4,)), MIXED).double()
        inputs = {name: v.double() if v.is_floating_point() else v for name, v in mixed_inputs().items()}
        assert built(inputs).outputs["cost"].dtype == torch.float64


class TestLinear:
    def test_it_is_one_affine_map(self) -> None:
        built = model("linear", LinearSettings(), MIXED)
        weight, bias = weights(built.map)
        found = built(mixed_inputs())
        check_mixed_outputs(found, by_hand(mixed_inputs()) @ weight.T + bias)
        assert found.features == {}

    def test_without_bias_zero_goes_to_zero(self) -> None:
        signature = Signature((("load", LOAD),), (Output("v", LOAD),))
        found = model("linear", LinearSettings(bias=False), signature)(
            {"load.re": torch.zeros(2, 3), "load.im": torch.zeros(2, 3)}
        )
        assert found.outputs["v.re"].abs().max() == 0


class TestFree:
    def test_every_row_has_its_own_value(self) -> None:
        built = model("free", FreeSettings(start=0.5), MIXED, rows=9)
        ids = torch.tensor([7, 2, 7])
        found = built({"@row": ids}).outputs
        assert found["v.re"].tolist() == [[0.5] * 3] * 3
        (found["v.re"][0].sum() + found["v.re"][2].sum()).backward()
        gradient = built.table.grad
        assert gradient.nonzero()[:, 0].unique().tolist() == [7]
        assert gradient[7, :3].tolist() == [2.0] * 3

    def test_without_inputs_it_is_one_value_for_all_rows(self) -> None:
        built = model("free", FreeSettings(start=0.5), Signature((), MIXED.outputs), rows=9)
        assert built.table.shape[0] == 1
        found = built({"@row": torch.tensor([7, 2, 7])}).outputs
        found["v.re"].sum().backward()
        assert built.table.grad[0, :3].tolist() == [3.0] * 3
        assert tables_of_rows(torch.nn.ModuleDict({"f": built})) == ()
        assert tables_of_rows(torch.nn.ModuleDict({"f": model("free", FreeSettings(), MIXED)})) == ("f",)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("linear", LinearSettings()),
        ("mlp", MlpSettings(hidden=())),
        ("mlp", MlpSettings(hidden=(4, 4), activation="relu", skip=True, output_bias=0.25)),
        ("free", FreeSettings()),
    ],
)
def test_a_model_without_inputs_is_numbers_that_train_anywhere(name: str, settings: object) -> None:
    built = model(name, settings, Signature((), (Output("", ArrayType(Kind.REAL, (FixedAxis(2),))),)))
    wanted = torch.tensor([1.5, -2.0])
    optimiser = torch.optim.Adam(built.parameters(), lr=0.05)
    for _ in range(400):
        optimiser.zero_grad()
        found = built({"@row": torch.zeros(1, dtype=torch.long)}).outputs[""]
        assert found.shape == (1, 2)
        (found - wanted).square().sum().backward()
        optimiser.step()
    assert found[0].tolist() == pytest.approx(wanted.tolist(), abs=1e-2)


class TestCnn:
    SIGNATURE = Signature(
        (("image", ArrayType(Kind.REAL, (FixedAxis(1), FixedAxis(28), FixedAxis(28)))),),
        (Output("", ArrayType(Kind.REAL, (SetAxis("class"),))),),
    )

    def test_the_mnist_network_has_138282_parameters(self) -> None:
        settings = CnnSettings(channels=(64, 64), hidden=(32,), output_bias=-7.0)
        built = model("cnn", settings, self.SIGNATURE)
        assert count_parameters(built) == 138_282
        found = built({"image": torch.rand(2, 1, 28, 28)})
        assert found.outputs[""].shape == (2, 10)
        assert found.features[""].shape == (2, 32)
        assert set(built.perceptron.last.bias.tolist()) == {-7.0}

    def test_it_is_convolution_relu_and_pooling(self) -> None:
        """Against scalar loops on a small image with one channel."""
        sides = (FixedAxis(1), FixedAxis(5), FixedAxis(4))
        signature = Signature((("image", ArrayType(Kind.REAL, sides)),), (Output("", REAL),))
        built = model("cnn", CnnSettings(channels=(2,)), signature)
        image = torch.randn(1, 1, 5, 4)
        kernel, bias = built.convolutions[0].weight.detach(), built.convolutions[0].bias.detach()
        expected = []
        for channel in range(2):
            for i in range(2):
                for j in range(2):
                    corners = [(2 * i + a, 2 * j + b) for a in range(2) for b in range(2)]
                    expected.append(
                        max(
                            max(_convolved(image[0, 0], kernel[channel, 0], y, x) + bias[channel].item(), 0.0)
                            for y, x in corners
                        )
                    )
        assert built({"image": image}).features[""][0].tolist() == pytest.approx(expected, abs=1e-5)

    def test_without_pooling_the_size_stays(self) -> None:
        built = model("cnn", CnnSettings(channels=(3,), pool=1, kernel=5), self.SIGNATURE)
        assert built({"image": torch.rand(2, 1, 28, 28)}).features[""].shape == (2, 3 * 28 * 28)


def _convolved(image: Tensor, kernel: Tensor, y: int, x: int) -> float:
    total = 0.0
    for dy in range(3):
        for dx in range(3):
            row, column = y + dy - 1, x + dx - 1
            if 0 <= row < image.shape[0] and 0 <= column < image.shape[1]:
                total += (image[row, column] * kernel[dy, dx]).item()
    return total


class TestBuild:
    def test_a_count_that_differs_from_the_declaration_is_a_bug(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(building, "named", lambda path: lambda *_: nn.Linear(2, 2))
        with pytest.raises(Refusal) as refusal:
            model("linear", LinearSettings(), MIXED)
        (found,) = refusal.value.diagnostics
        assert found.code == "PD999"
        assert "6 parameters" in found.fact["error"]

    def test_one_seed_gives_one_network(self) -> None:
        first = model("mlp", MlpSettings(hidden=(4,)), MIXED).state_dict()
        second = model("mlp", MlpSettings(hidden=(4,)), MIXED).state_dict()
        assert all(torch.equal(first[name], second[name]) for name in first)
