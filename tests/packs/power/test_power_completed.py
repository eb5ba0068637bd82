"""power.completed against an independent power flow, solved from the branch equations of the spec."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from scipy.optimize import root
from torch import Tensor, nn

from pdual.dsl.declarations.architecture_gnn import GnnSettings
from pdual.dsl.declarations.architecture_plain import MlpSettings
from pdual.dsl.declarations.known import Known
from pdual.dsl.declarations.references import ArchitectureUse, GivenField, GivenReference
from pdual.dsl.declarations.signature import Output, Signature
from pdual.dsl.diagnostics import Refusal
from pdual.dsl.types import ArrayType, Kind, MemberOf, SetAxis
from pdual.packs.power.cases.case import load_case
from pdual.packs.power.declarations.architecture import PowerCompletedSettings
from pdual.packs.power.declarations.sources import PowerCaseSettings
from pdual.packs.power.models import completed as power_completed
from pdual.packs.power.models.completed import PowerCompleted
from pdual.packs.power.models.flow import admittance, injections, jacobian, state_of
from pdual.packs.power.optima.grid import Complexes, Grid, grid_of
from pdual.runtime.data.context import SourceContext
from pdual.runtime.models.build import build_model

BUS, GEN = (ArrayType(Kind.COMPLEX, (SetAxis(name),)) for name in ("bus", "gen"))
SIGNATURE = Signature((("load", BUS),), (Output("v", BUS), Output("s", GEN)))


@pytest.fixture(scope="module")
def known() -> Known:
    return load_case(PowerCaseSettings(name="pglib_opf_case30_ieee"), SourceContext())


@pytest.fixture(scope="module")
def nominal(known: Known) -> Complexes:
    return power_completed.nominal_voltages(grid_of(known), "grid")


@pytest.fixture(autouse=True)
def _solved_once(monkeypatch: pytest.MonkeyPatch, nominal: Complexes) -> None:
    """The optimum of the module's grid serves all its variants: any operating point will do."""
    monkeypatch.setattr(power_completed, "nominal_voltages", lambda grid, given: nominal)


def model(known: Known, proposer: ArchitectureUse | None = None, **settings: Any) -> PowerCompleted:
    torch.manual_seed(0)
    proposer = proposer or ArchitectureUse("mlp", MlpSettings(hidden=(16,)))
    use = ArchitectureUse(
        "power.completed", PowerCompletedSettings(grid=GivenReference("grid"), proposer=proposer, **settings)
    )
    sizes = {"bus": len(known.fields["load"]), "gen": len(known.fields["at"]), "branch": len(known.fields["source"])}
    built = build_model(use, SIGNATURE, sizes, {"grid": known}, 1)
    assert isinstance(built, PowerCompleted)
    return built


def demands(grid: Grid, rows: int = 5, spread: float = 0.2) -> Any:
    generator = np.random.default_rng(3)
    p, q = generator.uniform(1 - spread, 1 + spread, (2, rows, grid.buses))
    return grid.load.real * p + 1j * grid.load.imag * q


def inputs(load: Complexes, dtype: torch.dtype = torch.float64) -> dict[str, Tensor]:
    return {"load.re": torch.tensor(load.real, dtype=dtype), "load.im": torch.tensor(load.imag, dtype=dtype)}


def proposed(built: PowerCompleted, load: Complexes, dtype: torch.dtype = torch.float64) -> Any:
    given = inputs(load, dtype)
    return built.proposal(given, torch.cat((given["load.re"], given["load.im"]), dim=-1))


def answer(built: nn.Module, load: Complexes, dtype: torch.dtype = torch.float64) -> tuple[Complexes, Complexes]:
    with torch.no_grad():
        found = {name: value.double().numpy() for name, value in built(inputs(load, dtype)).outputs.items()}
    return found["v.re"] + 1j * found["v.im"], found["s.re"] + 1j * found["s.im"]


def imbalance(grid: Grid, load: Complexes, v: Complexes, s: Complexes) -> Any:
    """What a bus gets minus what it gives, branch by branch as in specs/opf30.pdual, for one row."""
    left = -load.astype(complex)
    for unit, bus in enumerate(grid.at):
        left[bus] += s[unit]
    for branch, (i, j) in enumerate(zip(grid.source, grid.target, strict=True)):
        series, tap = grid.series[branch], grid.tap[branch]
        out = np.conj(series + grid.charge_source[branch]) * abs(v[i] / tap) ** 2
        left[i] -= out - np.conj(series) * v[i] * np.conj(v[j]) / tap
        into = np.conj(series + grid.charge_target[branch]) * abs(v[j]) ** 2
        left[j] -= into - np.conj(series) * np.conj(v[i]) * v[j] / np.conj(tap)
    return left - np.conj(grid.shunt) * np.abs(v) ** 2


def solved(grid: Grid, load: Complexes, s: Complexes, v: Complexes) -> Any:
    """A power flow with the set points of (s, v), by a library's root finder from a flat start."""
    held = np.isin(np.arange(grid.buses), grid.at)
    turns, sizes = np.flatnonzero(~grid.slack), np.flatnonzero(~held)

    def voltages(x: np.ndarray) -> Any:
        angle, size = np.zeros(grid.buses), np.abs(v).copy()
        angle[turns], size[sizes] = x[: len(turns)], x[len(turns) :]
        return size * np.exp(1j * angle)

    def residual(x: np.ndarray) -> np.ndarray:
        left = imbalance(grid, load, voltages(x), s)
        return np.concatenate((left.real[turns], left.imag[sizes]))

    found = root(residual, np.concatenate((np.zeros(len(turns)), np.ones(len(sizes)))), tol=1e-13)
    assert np.abs(residual(found.x)).max() < 1e-11
    return voltages(found.x)


def test_many_steps_are_the_power_flow(known: Known) -> None:
    grid = grid_of(known)
    load = demands(grid)
    v, s = answer(model(known, steps=14).double(), load)
    for row in range(len(load)):
        assert np.abs(imbalance(grid, load[row], v[row], s[row])).max() < 1e-10
    np.testing.assert_allclose(v[0], solved(grid, load[0], s[0], v[0]), atol=1e-9)


def test_six_steps_near_the_nominal_point(known: Known, nominal: Complexes) -> None:
    """Set points of the optimum and demands 2 % around the grid's own leave 1e-10 after six steps."""
    grid = grid_of(known)
    built = model(known, steps=6).double()
    load = demands(grid, spread=0.02)
    controls = np.concatenate((*_optimal_set_points(grid, nominal), np.zeros(2 * grid.buses)))
    rows = np.tile(controls, (len(load), 1))
    rows[:, 2 * grid.units :] = np.concatenate((load.real, load.imag), axis=1)
    voltage, power = (value.numpy() for value in built.complete(torch.tensor(rows)))
    v = voltage[:, : grid.buses] + 1j * voltage[:, grid.buses :]
    s = power[:, : grid.units] + 1j * power[:, grid.units :]
    assert max(np.abs(imbalance(grid, *row)).max() for row in zip(load, v, s, strict=True)) < 1e-10


def _optimal_set_points(grid: Grid, v: Complexes) -> tuple[np.ndarray, np.ndarray]:
    power = injections(admittance(grid), v)[: grid.buses] + grid.load.real
    assert len(set(grid.at)) == grid.units
    return power[grid.at], np.abs(v)[grid.at]


@pytest.mark.parametrize(("steps", "mean", "most"), [(1, 5e-4, 5e-2), (2, 1e-5, 2e-3), (3, 5e-7, 1e-4)])
def test_the_residual_shrinks_with_every_step(
    known: Known, nominal: Complexes, steps: int, mean: float, most: float
) -> None:
    """Per unit, over demands 20 % around the grid's own at the optimum's set points (notes/opf_prototype.md, 3.)."""
    grid = grid_of(known)
    load = demands(grid, rows=20)
    built = model(known, steps=steps).double()
    points = np.concatenate(_optimal_set_points(grid, nominal))
    rows = np.concatenate((np.tile(points, (20, 1)), load.real, load.imag), axis=1)
    voltage, power = (value.numpy() for value in built.complete(torch.tensor(rows)))
    v = voltage[:, : grid.buses] + 1j * voltage[:, grid.buses :]
    s = power[:, : grid.units] + 1j * power[:, grid.units :]
    left = np.stack([imbalance(grid, *row) for row in zip(load, v, s, strict=True)])
    parts = np.abs(np.concatenate((left.real, left.imag), axis=1))
    assert parts.mean() < mean
    assert parts.max() < most


def test_set_points_hold_exactly(known: Known) -> None:
    grid = grid_of(known)
    built, load = model(known).double(), demands(grid)
    with torch.no_grad():
        asked = built.set_points(proposed(built, load).outputs).numpy()
    v, s = answer(built, load)
    np.testing.assert_allclose(s[:, 1:].real, asked[:, 1 : grid.units], atol=1e-14)
    np.testing.assert_allclose(np.abs(v)[:, grid.at], asked[:, grid.units :], atol=1e-14)
    assert np.abs(np.angle(v[:, grid.slack])).max() == 0
    left = np.stack([imbalance(grid, *row) for row in zip(load, v, s, strict=True)])
    assert np.abs(left.imag[:, grid.at]).max() < 1e-13
    assert np.abs(left.real[:, grid.slack]).max() < 1e-13


def test_the_soft_box(known: Known) -> None:
    grid = grid_of(known)
    built = model(known, overshoot=0.2, play=0.1).double()
    raw = torch.linspace(-9, 9, 19, dtype=torch.float64)[:, None].expand(-1, grid.units)
    found = built.set_points({"p": raw, "v": raw}).numpy()
    low, high = grid.s_min.real[1], grid.s_max.real[1]
    expected = (low + high) / 2 + (high - low) / 2 * 1.2 * np.tanh(raw[:, 0].numpy() / 1.2)
    np.testing.assert_allclose(found[:, 1], expected, atol=1e-14)
    assert found[-1, 1] > high
    assert found[0, 1] < low
    np.testing.assert_allclose(found[:, 2], 0.1 * np.tanh(raw[:, 0].numpy() / 1.2), atol=1e-14)
    low, high = grid.v_min[grid.at[3]], grid.v_max[grid.at[3]]
    assert low - 0.1 * (high - low) < found[0, grid.units + 3] < low
    assert found[9, grid.units + 3] == pytest.approx((low + high) / 2)


def doubled(known: Known) -> Known:
    """The same grid with the unit at the reference bus and one condenser each split in two of unequal boxes."""
    fields = {name: list(known.fields[name]) for name in ("at", "c0", "c1", "c2", "s_min", "s_max")}
    for unit, share in ((0, 0.25), (2, 0.75)):
        for name, values in fields.items():
            values.append(values[unit] * share if name in ("s_min", "s_max") else values[unit])
        for name in ("s_min", "s_max"):
            fields[name][unit] *= 1 - share
    return replace(known, fields={**known.fields, **fields})


def test_units_at_one_bus_share_in_proportion_to_their_boxes(known: Known) -> None:
    twins = doubled(known)
    grid = grid_of(twins)
    built, load = model(twins, steps=14).double(), demands(grid)
    v, s = answer(built, load)
    for row in range(len(load)):
        assert np.abs(imbalance(grid, load[row], v[row], s[row])).max() < 1e-10

    def position(part: str, unit: int) -> Any:
        low, high = getattr(grid.s_min[unit], part), getattr(grid.s_max[unit], part)
        return (getattr(s[:, unit], part) - low) / (high - low)

    np.testing.assert_allclose(position("imag", 0), position("imag", 6), atol=1e-12)
    np.testing.assert_allclose(position("real", 0), position("real", 6), atol=1e-12)
    np.testing.assert_allclose(position("imag", 2), position("imag", 7), atol=1e-12)
    with torch.no_grad():
        asked = built.set_points(proposed(built, load).outputs).numpy()
    np.testing.assert_allclose(s[:, [2, 7]].real, asked[:, [2, 7]], atol=1e-14)
    both = (asked[:, grid.units + 2] + asked[:, grid.units + 7]) / 2
    np.testing.assert_allclose(np.abs(v)[:, grid.at[2]], both, atol=1e-14)


def test_units_without_a_finite_width_share_equally(known: Known) -> None:
    twins = doubled(known)
    wide = [complex(high.real, np.inf) if unit in (2, 7) else high for unit, high in enumerate(twins.fields["s_max"])]
    twins = replace(twins, fields={**twins.fields, "s_max": wide})
    v, s = answer(model(twins, steps=14).double(), demands(grid_of(twins)))
    np.testing.assert_allclose(s[:, 2].imag, s[:, 7].imag, atol=1e-14)
    assert np.isfinite(v).all()


def test_single_precision_costs_little(known: Known) -> None:
    load = demands(grid_of(known))
    single, double = model(known), model(known).double()
    v, s = answer(single, load, torch.float32)
    exact_v, exact_s = answer(double, load)
    assert np.abs(v - exact_v).max() < 3e-6
    assert np.abs(s - exact_s).max() < 3e-5


def test_converting_keeps_the_grid_exact(known: Known) -> None:
    built = model(known).float().double()
    exact = admittance(grid_of(known)).real[0, 1]
    assert built.network[1, 0].item() == exact
    assert built.float().network.dtype == torch.float32


def test_gradients(known: Known) -> None:
    built = model(known, steps=3).double()
    grid = grid_of(known)
    load = demands(grid, rows=1)
    points = torch.tensor(
        np.concatenate((grid.s_max.real * 0.5, grid.v_max[grid.at] - 0.02, load[0].real, load[0].imag))
    )
    points = points[None].requires_grad_()
    assert torch.autograd.gradcheck(built.complete, (points,), atol=1e-6)


def test_features_are_the_proposers(known: Known) -> None:
    def map_to(field: str, domain: str) -> GivenField:
        return GivenField("grid", field, ArrayType(MemberOf("bus"), (SetAxis(domain),)))

    edges = (map_to("source", "branch"), map_to("target", "branch"))
    settings = GnnSettings(edges=edges, at=map_to("at", "gen"), width=8)
    built = model(known, ArchitectureUse("gnn", settings))
    load = demands(grid_of(known))
    expected = proposed(built, load, torch.float32).features
    found = built(inputs(load, torch.float32)).features
    assert set(found) == {"bus", "gen", "branch"}
    assert all(torch.equal(found[name], expected[name]) for name in expected)


def test_the_jacobian_is_the_derivative(known: Known, nominal: Complexes) -> None:
    matrix = admittance(grid_of(known))
    state, size = state_of(nominal), len(nominal)

    def at(z: np.ndarray) -> np.ndarray:
        return injections(matrix, z[size:] * np.exp(1j * z[:size]))

    steps = 1e-6 * np.eye(2 * size)
    numeric = np.stack([(at(state + step) - at(state - step)) / 2e-6 for step in steps], axis=1)
    np.testing.assert_allclose(jacobian(matrix, nominal), numeric, atol=1e-6)


class TestRefusals:
    def refused(self, known: Known) -> tuple[str, dict[str, str]]:
        with pytest.raises(Refusal) as refusal:
            model(known)
        (found,) = refusal.value.diagnostics
        return found.code, dict(found.fact)

    def changed(self, known: Known, **fields: Any) -> Known:
        return replace(known, fields={**known.fields, **fields})

    def test_no_grid(self, known: Known) -> None:
        partial = replace(known, fields={name: value for name, value in known.fields.items() if name != "tap"})
        assert self.refused(partial)[0] == "PD520"

    def test_infinite_limits(self, known: Known) -> None:
        s_max = [complex(np.inf, 1.0), *known.fields["s_max"][1:]]
        code, facts = self.refused(self.changed(known, s_max=s_max))
        assert (code, facts["units"]) == ("PD641", f"`{known.sets['gen'][0]}`")

    def test_infinite_limits_of_reactive_power_are_fine(self, known: Known) -> None:
        s_max = [complex(high.real, np.inf) for high in known.fields["s_max"]]
        assert model(self.changed(known, s_max=s_max)).units == 6

    def test_no_unit_at_the_reference_bus(self, known: Known) -> None:
        slack = [bus == 2 for bus in range(30)]
        assert self.refused(self.changed(known, slack=slack))[0] == "PD642"

    def test_no_optimum(self, known: Known, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.undo()
        code, facts = self.refused(self.changed(known, load=[10 * load for load in known.fields["load"]]))
        assert code == "PD643"
        assert facts["status"]


def test_the_proposer_sees_deviations_in_tenths(known: Known) -> None:
    """Where the grid's own demand is 0, in tenths of the mean of the other buses."""
    grid = grid_of(known)
    built = model(known).double()
    seen: dict[str, Tensor] = {}
    built.proposer.register_forward_pre_hook(lambda module, given: seen.update(given[0]))
    load = (1.07 * grid.load.real + 0.001 + 0.93j * grid.load.imag).astype(np.complex128)
    answer(built, load[None])
    for part, change, extra in (("real", 0.07, 0.001), ("imag", -0.07, 0.0)):
        own = getattr(grid.load, part)
        mean = sum(abs(value) for value in own if value) / sum(value != 0 for value in own)
        expected = [(change * value + extra) / (0.1 * abs(value or mean)) for value in own]
        np.testing.assert_allclose(seen[f"load.{part[:2]}"][0].numpy(), expected, atol=1e-12)
