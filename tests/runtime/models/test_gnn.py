"""gnn: the layer's formula, dense against sparse, sums at nodes, and symmetry."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from pdual.dsl.declarations.architecture_gnn import GnnSettings
from pdual.dsl.declarations.known import Known
from pdual.dsl.declarations.references import ArchitectureUse, GivenField
from pdual.dsl.declarations.signature import Output, Signature
from pdual.dsl.types import REAL, ArrayType, FixedAxis, Kind, MemberOf, SetAxis
from pdual.runtime.models import gnn
from pdual.runtime.models.build import build_model

# A square with one doubled side and a node on its own: 0-1, 1-2, 2-3, 3-0, 0-1; generators at 1, 3, 1.
SOURCE, TARGET, AT = [0, 1, 2, 3, 0], [1, 2, 3, 0, 1], [1, 3, 1]
SIZES = {"bus": 5, "branch": 5, "gen": 3}
KNOWN = Known({}, {"source": SOURCE, "target": TARGET, "at": AT})


def on(name: str, *axes: int, kind: Kind = Kind.REAL) -> ArrayType:
    return ArrayType(kind, (SetAxis(name), *(FixedAxis(size) for size in axes)))


def map_field(field: str, domain: str) -> GivenField:
    return GivenField("grid", field, ArrayType(MemberOf("bus"), (SetAxis(domain),)))


EDGES = (map_field("source", "branch"), map_field("target", "branch"))
SETTINGS = GnnSettings(edges=EDGES, at=map_field("at", "gen"), layers=2, width=8)
LOAD = on("bus", kind=Kind.COMPLEX)
SIGNATURE = Signature(
    (("load", LOAD), ("p", on("gen")), ("hour", REAL)),
    (
        Output("v", LOAD),
        Output("s", on("gen", 2), 0.0, 1.0),
        Output("flow", on("branch")),
        Output("price", REAL),
    ),
)


def model(settings: GnnSettings = SETTINGS, signature: Signature = SIGNATURE) -> Any:
    torch.manual_seed(0)
    return build_model(ArchitectureUse("gnn", settings), signature, SIZES, {"grid": KNOWN}, 4)


def inputs(rows: int = 4) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(1)
    return {
        "load.re": torch.randn(rows, 5, generator=generator),
        "load.im": torch.randn(rows, 5, generator=generator),
        "p": torch.randn(rows, 3, generator=generator),
        "hour": torch.randn(rows, generator=generator),
    }


def numbers(tensor: Tensor) -> Any:
    return tensor.detach().double().numpy()


def normalised(x: np.ndarray, norm: nn.LayerNorm) -> Any:
    centred = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    return centred * numbers(norm.weight) + numbers(norm.bias)


def states_by_hand(built: Any, given: dict[str, Tensor], row: int) -> Any:
    """One row, edge by edge."""
    degree = [sum(end == node for end in SOURCE + TARGET) for node in range(5)]
    attached = np.zeros(5)
    for unit, node in enumerate(AT):
        attached[node] += given["p"][row, unit].item()
    seen = np.stack(
        [
            numbers(given["load.re"][row]),
            numbers(given["load.im"][row]),
            attached,
            np.full(5, given["hour"][row].item()),
        ],
        axis=1,
    )
    states = seen @ numbers(built.read_in.weight).T + numbers(built.read_in.bias) + numbers(built.embedding)
    for layer in built.layers:
        own = normalised(states, layer.norm)
        around = np.zeros_like(own)
        for a, b in zip(SOURCE + TARGET, TARGET + SOURCE, strict=True):
            around[b] += own[a] / np.sqrt(degree[a] * degree[b])
        relation, root = layer.convolution.lin_rel, layer.convolution.lin_root
        made = around @ numbers(relation.weight).T + numbers(relation.bias) + own @ numbers(root.weight).T
        made = made + own.mean(0) @ numbers(layer.pooled.weight).T
        states = states + np.maximum(made, 0) @ numbers(layer.out.weight).T + numbers(layer.out.bias)
    return normalised(states, built.norm)


def test_states_and_readouts_are_the_formula() -> None:
    built, given = model(), inputs()
    found = built(given)
    for row in range(4):
        states = states_by_hand(built, given, row)
        np.testing.assert_allclose(numbers(found.features["bus"][row]), states, atol=1e-5)
        np.testing.assert_allclose(numbers(found.features["gen"][row]), states[AT], atol=1e-5)
        ends = np.concatenate((states[SOURCE], states[TARGET]), axis=1)
        np.testing.assert_allclose(numbers(found.features["branch"][row]), ends, atol=1e-5)
        voltage, power, flow, price = built.readouts
        for node in range(5):
            value = states[node] @ numbers(voltage.weight[node]) + numbers(voltage.bias[node])
            assert found.outputs["v.re"][row, node].item() == pytest.approx(value[0], abs=1e-5)
            assert found.outputs["v.im"][row, node].item() == pytest.approx(value[1], abs=1e-5)
        raw = states[AT[2]] @ numbers(power.weight[2]) + numbers(power.bias[2])
        np.testing.assert_allclose(numbers(found.outputs["s"][row, 2]), 1 / (1 + np.exp(-raw)), atol=1e-5)
        raw = ends[4] @ numbers(flow.weight[4]) + numbers(flow.bias[4])
        assert found.outputs["flow"][row, 4].item() == pytest.approx(raw.item(), abs=1e-5)
        raw = states.mean(0) @ numbers(price.weight[0]) + numbers(price.bias[0])
        assert found.outputs["price"][row].item() == pytest.approx(raw.item(), abs=1e-5)


def test_dense_and_sparse_agree_on_the_same_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    dense = model()
    monkeypatch.setattr(gnn, "DENSE_LIMIT", 1)
    sparse = model()
    assert sparse.load_state_dict(dense.state_dict()) is not None
    given = inputs()
    for name, value in dense(given).outputs.items():
        torch.testing.assert_close(sparse(given).outputs[name], value, atol=1e-5, rtol=1e-5)
    gradients = []
    for built in (dense, sparse):
        sum(value.square().sum() for value in built(given).outputs.values()).backward()
        gradients.append([weight.grad for weight in built.parameters()])
    for first, second in zip(*gradients, strict=True):
        torch.testing.assert_close(first, second, atol=1e-4, rtol=1e-4)


def test_rows_do_not_see_each_other() -> None:
    built, given = model(), inputs(6)
    alone = built({name: value[2:3] for name, value in given.items()})
    torch.testing.assert_close(built(given).outputs["flow"][2:3], alone.outputs["flow"])


def test_without_an_attached_set() -> None:
    settings = GnnSettings(edges=EDGES, width=4, layers=1)
    signature = Signature((("x", on("bus", 3)),), (Output("", on("bus")),))
    found = model(settings, signature)({"x": torch.randn(2, 5, 3)})
    assert found.outputs[""].shape == (2, 5)
    assert {name: value.shape for name, value in found.features.items()} == {
        "bus": (2, 5, 4),
        "branch": (2, 5, 8),
    }


def test_members_are_one_hot() -> None:
    settings = GnnSettings(edges=EDGES, width=4, layers=1)
    kind = ArrayType(MemberOf("gen"), (SetAxis("bus"),))
    built = model(settings, Signature((("zone", kind),), (Output("", on("bus")),)))
    assert built.read_in.in_features == 3
    zones = torch.tensor([[0, 1, 2, 0, 1]])
    seen = built._at_nodes({"zone": zones})
    assert seen[0].tolist() == [[float(zone == j) for j in range(3)] for zone in zones[0].tolist()]


def test_constants_are_no_weights() -> None:
    names = set(model().state_dict())
    assert not {name for name in names if name.split(".")[-1] in ("ends", "at", "edges", "weights")}
