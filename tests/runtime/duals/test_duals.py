"""Stores of multipliers: one update against its formula written out row by row, bounds, cost, and what a fit may touch."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pytest
import torch
from small_problems import Free, RowsOf, adam, learned, mlp, part, plan, sgd, table
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from pdual.compiler.layout import Layout, Sense
from pdual.compiler.program import DualPlan, Program
from pdual.dsl.declarations.optimisers import CosineSettings
from pdual.dsl.declarations.references import OptimiserUse
from pdual.dsl.declarations.solving import SolveSettings
from pdual.runtime.data.features import FeatureCache
from pdual.runtime.data.sampling import Draw
from pdual.runtime.duals.build import build_multipliers, fit_positions
from pdual.runtime.duals.multipliers import Multipliers
from pdual.runtime.duals.network import Centred
from pdual.runtime.duals.pointwise import RowTable
from pdual.runtime.duals.regression import SATURATION, Aim, RegressionStore
from pdual.runtime.evaluation.evaluate import evaluate
from pdual.runtime.evaluation.result import EvaluationResult
from pdual.runtime.optimisation.placement import Placement

CPU = torch.device("cpu")
DOUBLE = Placement(precision="float64")
CAP, RHO, RHO_EQUAL = 2.0, 4.0, 3.0
#: One inequality of two entries, one equality.
LAYOUT = Layout("d", (part("a", size=2), part("b", sense=Sense.EQUAL)))


def held(
    *plans: DualPlan,
    layout: Layout = LAYOUT,
    rows: int = 5,
    width: int = 2,
    ascent: OptimiserUse | None = None,
    features: dict[str, Tensor] | None = None,
    **settings: Any,
) -> Multipliers:
    """The multipliers of some plans over rows with random features."""
    solve = SolveSettings(rho=RHO, rho_equal=RHO_EQUAL, ascent=ascent or sgd(0.5), **settings)
    empty = nn.Module()
    program = Program("d", layout, 1.0, empty, empty, plans)
    z = torch.randn(rows, width, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    return build_multipliers(program, table(z), solve, {}, {}, features or {"m": z[:1]}, DOUBLE, 0)


def reading(
    multipliers: Multipliers,
    residuals: Tensor,
    mask: Tensor | None = None,
    features: dict[str, Tensor] | None = None,
    ids: Tensor | None = None,
) -> EvaluationResult:
    """A pass over all rows with these residuals."""
    rows = torch.arange(len(residuals)) if ids is None else ids
    found = features or {"m": torch.zeros(len(rows), 2, dtype=torch.float64)}
    cache = FeatureCache()
    cache.append(found, tuple(found))
    now = multipliers.spread(multipliers.read(rows, found, {}))
    return EvaluationResult(rows, None, residuals, mask, now, {}, cache)


def random_residuals(rows: int = 5, columns: int = 3, seed: int = 1) -> Tensor:
    return torch.randn(rows, columns, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def clip(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)


def by_hand(kind: str, rounds: list[Tensor], mask: Tensor | None = None, step: float = 1.0) -> list[list[float]]:
    """Updates of one kind in scalar loops, as docs/design/method.md writes them."""
    rows, columns = rounds[0].shape
    level = [0.0] * columns
    row = [[0.0] * columns for _ in range(rows)]
    for g in rounds:
        for c in range(columns):
            equal, rho = c == 2, RHO_EQUAL if c == 2 else RHO
            low = -CAP if equal else 0.0
            live = [n for n in range(rows) if mask is None or mask[n, c]]
            lam = [level[c] + row[n][c] for n in range(rows)]
            r = [float(g[n, c]) if equal else max(float(g[n, c]), -lam[n] / rho) for n in range(rows)]
            mean = sum(r[n] for n in live) / max(1, len(live))
            rho *= step
            if kind in ("shared", "hybrid"):
                level[c] = clip(level[c] + (rho if kind == "shared" else rho / 2) * mean, low, CAP)
            for n in live:
                if kind == "pointwise":
                    row[n][c] = clip(row[n][c] + rho * float(g[n, c]), low, CAP)
                if kind == "hybrid":
                    row[n][c] = clip(row[n][c] + rho / 2 * r[n], low - level[c], CAP - level[c])
            if kind == "hybrid":  # a row that is masked follows the level within the bounds
                for n in set(range(rows)) - set(live):
                    row[n][c] = clip(row[n][c], low - level[c], CAP - level[c])
    return [[level[c] + row[n][c] for c in range(columns)] for n in range(rows)]


@pytest.mark.parametrize("kind", ["pointwise", "shared", "hybrid"])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("step", [1.0, 0.4])
def test_updates_are_those_of_the_method(kind: str, masked: bool, step: float) -> None:
    multipliers = held(plan(kind, LAYOUT, cap=CAP))
    multipliers.step = step
    mask = random_residuals(seed=9) > -0.5 if masked else None
    rounds = [random_residuals(seed=seed) * 0.3 for seed in range(6)]
    if mask is not None:
        rounds = [torch.where(mask, g, 0.0) for g in rounds]
    for g in rounds:
        multipliers.update(reading(multipliers, g, mask))
    found = multipliers.read(torch.arange(5), {}, {})
    expected = torch.tensor(by_hand(kind, rounds, mask, step), dtype=torch.float64)
    torch.testing.assert_close(found.expand(5, -1), expected)
    assert float(found[:, :2].min()) >= 0
    assert float(found.abs().max()) <= CAP
    assert float(found[:, 2].min()) < 0  # an equality's multiplier has either sign


def test_penalty_stays_at_zero() -> None:
    multipliers = held(plan("penalty", LAYOUT, cap=CAP))
    multipliers.update(reading(multipliers, random_residuals()))
    assert torch.equal(multipliers.read(torch.arange(5), {}, {}), torch.zeros(5, 3, dtype=torch.float64))
    assert multipliers.parameters == 0


def test_columns_of_several_plans_come_in_the_order_of_the_layout_and_none_is_dropped() -> None:
    layout = Layout("d", (part("a", size=2), part("b", sense=Sense.EQUAL), part("c"), part("e")))
    a, b, c, e = layout.parts
    mixed = held(
        plan("shared", layout, (a, e), cap=CAP),
        plan("none", layout, (c,)),
        plan("pointwise", layout, (b,), cap=CAP),
        layout=layout,
    )
    assert mixed.active == (0, 1, 2, 4)
    g = random_residuals(columns=5) * 0.1
    mixed.update(reading(mixed, g))
    alone = held(plan("shared", layout, (a, e), cap=CAP), layout=layout)
    alone.update(reading(alone, g))
    table_only = held(plan("pointwise", layout, (b,), cap=CAP), layout=layout)
    table_only.update(reading(table_only, g))
    ids = torch.arange(5)
    found = mixed.read(ids, {}, {})
    assert torch.equal(found[:, [0, 1, 3]], alone.read(ids, {}, {}))
    assert torch.equal(found[:, [2]], table_only.read(ids, {}, {}))
    spread = mixed.spread(found)
    assert torch.equal(spread[:, 3], torch.zeros(5, dtype=torch.float64))
    assert torch.equal(mixed.select(spread), found)
    assert math.isinf(float(mixed.caps[3]))


@pytest.mark.parametrize("kind", ["pointwise", "hybrid"])
def test_rows_that_were_not_trained_on_have_no_multiplier_in_a_table_but_have_a_shared_one(kind: str) -> None:
    a, b = LAYOUT.parts
    mixed = held(plan(kind, LAYOUT, (a,)), plan("shared", LAYOUT, (b,)))
    found = mixed.read(torch.tensor([77]), {}, {}, seen=False)
    assert found[0, :2].isnan().all()
    assert float(found[0, 2]) == 0.0
    assert not mixed.generalises


@pytest.mark.parametrize("kind", ["pointwise", "shared", "hybrid", "penalty"])
def test_rows_rest_only_where_a_row_whose_step_ends_at_0_may_be_left_out(kind: str) -> None:
    residuals = torch.tensor(
        [[0.1, -9.0, 0.2], [0.2, 0.3, -0.1], [-9.0, -9.0, 0.0], [-9.0, -9.0, 0.0]], dtype=torch.float64
    )
    whole, part = held(plan(kind, LAYOUT, cap=CAP), rows=4), held(plan(kind, LAYOUT, cap=CAP), rows=4)
    for _ in range(2):
        whole.update(reading(whole, residuals))
        part.update(reading(part, residuals[:2], ids=torch.arange(2)))
    rows = torch.arange(4)
    same = torch.equal(whole.read(rows, {}, {}), part.read(rows, {}, {}))
    assert whole.rests is same


@pytest.mark.parametrize("row", [1, 4, 6])
def test_a_table_has_no_entry_for_a_row_that_it_was_not_made_for(row: int) -> None:
    entries = RowTable(torch.tensor([0, 2, 5]), torch.zeros(3))
    assert torch.equal(entries.read(torch.tensor([5, 0])), torch.zeros(2, 3))
    with pytest.raises((IndexError, RuntimeError), match="index"):
        entries.read(torch.tensor([row]))


class Sizes(TorchDispatchMode):
    """The largest tensor that any operation makes, in place on a table or not at all apart."""

    def __init__(self) -> None:
        super().__init__()
        self.largest = 0
        self.copied = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        if "index_copy_" in str(func):
            self.copied += args[3].numel()
        elif isinstance(found, Tensor):
            self.largest = max(self.largest, found.numel())
        return found


@pytest.mark.parametrize("kind", ["pointwise", "hybrid"])
@pytest.mark.parametrize("rows", [50, 20_000])
def test_a_step_of_a_table_touches_only_its_rows_however_many_there_are(kind: str, rows: int) -> None:
    multipliers = held(plan(kind, LAYOUT, cap=CAP), rows=rows)
    ids = torch.tensor([3, 40, 7])
    given = reading(multipliers, random_residuals(rows=3), ids=ids)
    with Sizes() as sizes:
        multipliers.read(ids, {}, {})
        multipliers.update(given)
    assert sizes.copied == 3 * 3
    assert sizes.largest <= 3 * 3
    everything = multipliers.read(torch.arange(rows), {}, {})
    if kind == "pointwise":
        untouched = torch.ones(rows, dtype=torch.bool).index_fill(0, ids, False)
        assert torch.equal(everything[untouched], torch.zeros(rows - 3, 3, dtype=torch.float64))


def test_the_state_of_a_table_grows_with_its_rows_and_that_of_a_network_does_not() -> None:
    assert held(plan("pointwise", LAYOUT), rows=10).parameters == 30
    assert held(plan("hybrid", LAYOUT), rows=10).parameters == 33
    assert held(plan("shared", LAYOUT), rows=10).parameters == 3
    few, many = held(learned(LAYOUT), rows=10), held(learned(LAYOUT), rows=1000)
    assert few.parameters == many.parameters == 2 * 3 + 3 + 3
    assert few.bytes == 8 * few.parameters


def test_learned_multipliers_start_at_zero_whatever_the_features() -> None:
    multipliers = held(learned(LAYOUT, cap=CAP, architecture=mlp(8, 8)))
    features = {"m": torch.randn(5, 2, dtype=torch.float64) * 100}
    assert torch.equal(multipliers.read(torch.arange(5), features, {}), torch.zeros(5, 3, dtype=torch.float64))


def fitted(multipliers: Multipliers, g: Tensor, features: dict[str, Tensor], mask: Tensor | None = None) -> Tensor:
    multipliers.update(reading(multipliers, g, mask, features))
    return multipliers.read(torch.arange(len(g)), features, {})


#: Live and slack entries, and an equality of either sign.
MIXED = torch.tensor([[0.1, -1.0, 0.2], [0.2, -1.0, -0.1], [0.3, -1.0, 0.1], [0.0, 0.1, 0.2]], dtype=torch.float64)


def test_a_fit_is_least_squares_on_the_clipped_targets() -> None:
    """From lam = 0 the targets are clip(rho g); where they are linear in the features the fit meets them."""
    rows = 40
    z = torch.randn(rows, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(4))
    weights = torch.tensor([[0.05, -0.1, 0.1], [0.1, 0.02, -0.05]], dtype=torch.float64)
    target = z @ weights + torch.tensor([0.5, 0.5, -0.3], dtype=torch.float64)
    assert float(target[:, :2].min()) > 0
    g = target / torch.tensor([RHO, RHO, RHO_EQUAL], dtype=torch.float64)
    multipliers = held(learned(LAYOUT, cap=CAP), rows=rows, ascent=sgd(0.4, steps=200))
    torch.testing.assert_close(fitted(multipliers, g, {"m": z}), target, rtol=0, atol=1e-6)


def test_inputs_are_scaled_once_by_the_rows_of_the_first_fit() -> None:
    """Far from 0 and of size 50: a step that is too long for raw inputs meets the targets; later rows of another size do not move the scale."""
    rows = 40
    z = torch.randn(rows, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(4)) * 50 + 300
    scaled = (z - z.mean(0)) / z.std(0, unbiased=False)
    target = scaled @ torch.tensor([[0.05, -0.1, 0.1], [0.1, 0.02, -0.05]], dtype=torch.float64) + 0.5
    g = target / torch.tensor([RHO, RHO, RHO_EQUAL], dtype=torch.float64)
    multipliers = held(learned(LAYOUT, cap=CAP), rows=rows, ascent=sgd(0.4, steps=200))
    torch.testing.assert_close(fitted(multipliers, g, {"m": z}), target, rtol=0, atol=1e-6)
    network = multipliers.stores[0].phi  # type: ignore[attr-defined]
    before = {name: value.clone() for name, value in network.named_buffers()}
    assert before
    fitted(multipliers, torch.zeros_like(g), {"m": z * 7})
    assert all(torch.equal(value, before[name]) for name, value in network.named_buffers())


def test_smoothing_moves_the_target_part_of_the_way() -> None:
    z = torch.ones(6, 2, dtype=torch.float64)
    g = torch.full((6, 3), 0.1, dtype=torch.float64)
    multipliers = held(learned(LAYOUT, cap=CAP), rows=6, ascent=sgd(0.5, steps=100), smoothing=0.25)
    found = fitted(multipliers, g, {"m": z})
    expected = 0.75 * 0.1 * torch.tensor([RHO, RHO, RHO_EQUAL], dtype=torch.float64)
    torch.testing.assert_close(found, expected.expand(6, 3), rtol=0, atol=1e-6)
    again = fitted(multipliers, g, {"m": z})
    whole = found + torch.tensor([RHO, RHO, RHO_EQUAL], dtype=torch.float64) * g
    torch.testing.assert_close(again, 0.25 * found + 0.75 * whole, rtol=0, atol=1e-6)


def test_the_error_of_a_fit_is_the_mean_over_its_steps() -> None:
    """So short a step that the network stays at 0: the error is the mean target, however many steps are taken."""
    z = torch.zeros(4, 2, dtype=torch.float64)
    targets = torch.clamp(
        MIXED * torch.tensor([RHO, RHO, RHO_EQUAL]), torch.tensor([0.0, 0.0, -CAP]), torch.tensor(CAP)
    )
    for steps in (1, 3):
        multipliers = held(learned(LAYOUT, cap=CAP), rows=4, ascent=sgd(1e-12, steps=steps))
        found = multipliers.update(reading(multipliers, MIXED, None, {"m": z})).errors
        assert list(found.values()) == [pytest.approx(float(targets.abs().mean()), rel=1e-9)]


def test_the_schedule_of_the_ascent_spans_the_fits_of_the_whole_run() -> None:
    """Steps so short that the error stays: what a fit moves the multipliers by is the sum of its rates."""
    final, z, g = 0.25, torch.zeros(4, 2, dtype=torch.float64), torch.full((4, 3), 0.1, dtype=torch.float64)
    ascent = sgd(1e-7, steps=2, schedule=CosineSettings(final=final))
    multipliers = held(learned(LAYOUT, cap=CAP), rows=4, ascent=ascent, outer=2)
    first = fitted(multipliers, g, {"m": z})[0, 0].item()
    second = fitted(multipliers, g, {"m": z})[0, 0].item() - first
    rates = [final + (1 - final) * (1 + math.cos(math.pi * step / 4)) / 2 for step in (1, 2, 3, 4)]
    assert second / first == pytest.approx(sum(rates[2:]) / sum(rates[:2]), rel=1e-4)


def test_a_row_that_is_drawn_less_often_counts_by_its_weight() -> None:
    targets, weights = random_residuals(rows=4), torch.tensor([2.0, 0.5, 1.0, 3.0])
    store = held(learned(LAYOUT, cap=CAP), rows=4).stores[0]
    assert isinstance(store, RegressionStore)
    cache = FeatureCache()
    cache.append({"m": torch.ones(4, 2, dtype=torch.float64)}, ("m",))
    aim = Aim(torch.arange(4), targets, None, torch.ones(()), cache)
    missed = store.follow(aim, Draw(torch.arange(4), weights))
    errors = -targets * weights.unsqueeze(1)  # lam is 0 before any fit
    torch.testing.assert_close(store.phi.bias.grad, errors.sum(0) * 2 / errors.numel())
    torch.testing.assert_close(missed, errors.abs().mean())


def test_the_head_clips_and_learns_through_the_clip_except_at_a_target_of_zero() -> None:
    """Slack everywhere: targets 0. A raw output below 0 stays where it is; one above 0 comes down."""
    z = torch.zeros(4, 2, dtype=torch.float64)
    for start, expected in ((-0.5, -0.5), (0.3, 0.0)):
        multipliers = held(learned(LAYOUT, cap=CAP), rows=4, ascent=sgd(0.5, steps=50))
        network = multipliers.stores[0].phi  # type: ignore[attr-defined]
        with torch.no_grad():
            network.bias.copy_(torch.tensor([start, start, 0.0]))
        g = torch.full((4, 3), -10.0, dtype=torch.float64)
        g[:, 2] = 0.0
        fitted(multipliers, g, {"m": z})
        raw = network({"m": z})
        torch.testing.assert_close(raw[:, :2], torch.full((4, 2), expected, dtype=torch.float64), rtol=0, atol=1e-6)


def test_a_raw_output_outside_the_bounds_still_learns_towards_a_target_inside() -> None:
    z = torch.zeros(4, 2, dtype=torch.float64)
    for start, g in ((-0.5, 0.1), (3.0, -0.25)):  # below 0 with target 0.4; above the cap with target 1
        multipliers = held(learned(LAYOUT, cap=CAP), rows=4, ascent=sgd(0.5, steps=60))
        with torch.no_grad():
            multipliers.stores[0].phi.bias.fill_(start)  # type: ignore[attr-defined]
        before = min(max(start, 0.0), CAP)
        found = fitted(multipliers, torch.full((4, 3), g, dtype=torch.float64), {"m": z})
        assert float(found[0, 0]) == pytest.approx(before + RHO * g, abs=1e-5)


def test_recentring_moves_the_bias_by_the_mean_lag_before_any_step() -> None:
    z = torch.zeros(4, 2, dtype=torch.float64)
    multipliers = held(learned(LAYOUT, cap=CAP), rows=4, ascent=sgd(1e-12, steps=1, recenter=True))
    found = fitted(multipliers, MIXED, {"m": z})
    expected = torch.tensor([RHO * 0.15, RHO * 0.1 / 4, RHO_EQUAL * 0.1], dtype=torch.float64)
    torch.testing.assert_close(found, expected.expand(4, 3), rtol=0, atol=1e-9)


def test_rms_weights_divide_each_entrys_error_by_the_size_of_its_targets() -> None:
    """With plain gradient descent the speed of an entry is its weight; the smallest is lifted to the floor of 1 % of the largest."""
    z = torch.zeros(4, 2, dtype=torch.float64)
    sizes = torch.tensor([0.5, 0.05, 5e-7], dtype=torch.float64)
    g = (sizes / torch.tensor([RHO, RHO, RHO_EQUAL])).expand(4, 3)
    rate = 1e-7
    multipliers = held(learned(LAYOUT, cap=CAP), rows=4, ascent=sgd(rate, steps=1, weight="rms"))
    found = fitted(multipliers, g, {"m": z})[0]
    # Two biases a column (the network's own and the one beside it), mean over 3 columns: d lam = 2 rate (2 / 3) t / w^2.
    floor = torch.tensor([0.5, 0.05, 0.005], dtype=torch.float64)
    torch.testing.assert_close(found, 2 * rate * (2 / 3) * sizes / floor**2, rtol=1e-6, atol=0)
    # The size is that of live targets alone, be it one: it moves the column a quarter as far.
    mask = torch.ones(4, 3, dtype=torch.bool)
    mask[1:, 1] = False
    multipliers = held(learned(LAYOUT, cap=CAP), rows=4, ascent=sgd(rate, steps=1, weight="rms"))
    masked = fitted(multipliers, torch.where(mask, g, 0.0), {"m": z}, mask)[0]
    torch.testing.assert_close(masked, found * torch.tensor([1.0, 0.25, 1.0]), rtol=1e-6, atol=0)


class Sigmoid(nn.Module):
    """A formula: CAP times the sigmoid of one number a row."""

    def __init__(self, start: Tensor) -> None:
        super().__init__()
        self.raw = nn.Parameter(start.clone())

    def forward(self, values: Mapping[str, object], ids: Tensor, features: object) -> Tensor:
        return CAP * torch.sigmoid(self.raw.index_select(0, ids))[:, None]


class Balanced(Sigmoid):
    """From -CAP to CAP: the multiplier of an equality."""

    def forward(self, values: Mapping[str, object], ids: Tensor, features: object) -> Tensor:
        return 2 * super().forward(values, ids, features) - CAP


@pytest.mark.parametrize(
    ("sense", "formula", "low", "rho", "g"),
    [
        (Sense.AT_MOST, Sigmoid, 0.0, RHO, [0.1, 0.2, -0.1, 0.02]),
        (Sense.EQUAL, Balanced, -CAP, RHO_EQUAL, [-0.2, 0.2, -0.1, 0.9]),
    ],
)
def test_a_logistic_weight_follows_the_gradient_of_the_cross_entropy(
    sense: Sense, formula: type[Sigmoid], low: float, rho: float, g: list[float]
) -> None:
    """With plain gradient descent, against torch's own loss; also far out, where the squared error has no slope left."""
    start = torch.tensor([-12.0, -7.0, 0.5, 3.0], dtype=torch.float64)
    residuals = torch.tensor(g, dtype=torch.float64)
    layout = Layout("d", (part("a", sense=sense),))
    phi, rate, width = formula(start), 1e-4, CAP - low
    held_by = plan("formula", layout, cap=CAP, formula=phi)
    multipliers = held(held_by, rows=4, ascent=sgd(rate, steps=1, weight="logistic"), layout=layout)
    fitted(multipliers, residuals[:, None], {"m": torch.zeros(4, 1, dtype=torch.float64)})
    logits = start.clone().requires_grad_()
    inner = 1 - SATURATION
    targets = (low + width * torch.sigmoid(start) + rho * residuals).clamp(inner * low, inner * CAP)
    nn.functional.binary_cross_entropy_with_logits(logits, (targets - low) / width).backward()
    assert logits.grad is not None
    torch.testing.assert_close(phi.raw.detach() - start, -rate * width**2 / 2 * logits.grad, rtol=1e-6, atol=0)


def test_rows_at_rest_are_fitted_less_often() -> None:
    store = held(learned(LAYOUT, cap=CAP), rows=20, ascent=sgd(0.1, batch=4, steps=5)).stores[0]
    assert isinstance(store, RegressionStore)
    awake = torch.zeros(20, dtype=torch.bool)
    awake[[3, 11]] = True
    store.restrict(awake)
    for draw in store.begin():
        assert {3, 11} <= set(draw.ids.tolist())
        # Half of a batch stands for two rows of twenty, half for the others.
        assert draw.weights is not None
        assert sorted(draw.weights.tolist()) == pytest.approx([0.2, 0.2, 1.8, 1.8])


def test_a_sigmoid_that_was_at_its_cap_comes_back() -> None:
    """Thousands of steps towards the cap, in single precision, where 1 - sigmoid(17) is 0."""
    layout = Layout("d", (part("a"),))
    z = torch.zeros(1, 1)
    phi = Sigmoid(torch.zeros(1))
    formula = plan("formula", layout, cap=CAP, formula=phi)
    multipliers = held(formula, rows=1, ascent=sgd(2.0, steps=4000, weight="logistic"), layout=layout)
    assert float(fitted(multipliers, torch.full((1, 1), 9.0), {"m": z})[0, 0]) == pytest.approx(CAP, rel=2e-4)
    before = float(phi.raw.detach()[0])
    assert before < 12
    found = fitted(multipliers, torch.full((1, 1), -0.5 * CAP / RHO), {"m": z})
    assert float(found[0, 0]) == pytest.approx(0.5 * CAP, rel=1e-3)


class OneOfTwo(nn.Module):
    """A formula: CAP times the sigmoid of one of the two numbers that a network gives for a row, times ``scale``."""

    def __init__(self, network: nn.Module, place: int, scale: float = 1.0) -> None:
        super().__init__()
        self.network, self.place, self.scale = network, place, scale

    def forward(self, values: Mapping[str, object], ids: Tensor, features: Mapping[str, Tensor]) -> Tensor:
        return CAP * torch.sigmoid(self.network(features["m"])[:, self.place :][:, :1] * self.scale)


TWO = Layout("d", (part("a"), part("b")))


def over_one_network(network: nn.Module, other: nn.Module | None = None, **settings: Any) -> Multipliers:
    """Two duals that are formulas over the same network, or over one each."""
    formulas = (OneOfTwo(network, 0), OneOfTwo(other or network, 1, 0.5))
    plans = (
        plan("formula", TWO, (item,), cap=CAP, formula=formula, features=("m",))
        for item, formula in zip(TWO.parts, formulas, strict=True)
    )
    return held(*plans, layout=TWO, rows=4, **settings)


def test_formulas_over_one_network_are_fitted_together() -> None:
    """One step of plain gradient descent, against the sum of both losses by torch."""
    z = torch.randn(4, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    g = torch.tensor([[0.1, 0.05], [0.2, -0.1], [-0.1, 0.15], [0.02, 0.1]], dtype=torch.float64)
    torch.manual_seed(0)
    network = nn.Linear(2, 2).double()
    start = {name: value.detach().clone() for name, value in network.named_parameters()}
    multipliers = over_one_network(network, ascent=sgd(0.1, steps=1))
    both = multipliers.read(torch.arange(4), {"m": z}, {})
    targets = (both + RHO * g).clamp(0, CAP)
    again = nn.Linear(2, 2).double()
    again.load_state_dict(start)
    loss = sum(
        (OneOfTwo(again, place, scale)({}, torch.arange(4), {"m": z})[:, 0] - targets[:, place]).square().mean()
        for place, scale in ((0, 1.0), (1, 0.5))
    )
    # The head passes errors straight through to what the formula gives, whose slope is torch's own.
    assert isinstance(loss, Tensor)
    loss.backward()
    fitted(multipliers, g, {"m": z})
    for name, weight in network.named_parameters():
        wanted = start[name] - 0.1 * again.get_parameter(name).grad
        torch.testing.assert_close(weight.detach(), wanted, rtol=1e-12, atol=1e-14)


def test_a_network_that_two_formulas_share_counts_once() -> None:
    shared, apart = (
        over_one_network(nn.Linear(2, 2).double()),
        over_one_network(nn.Linear(2, 2).double(), nn.Linear(2, 2).double()),
    )
    assert (shared.parameters, shared.bytes, len(shared.weights())) == (6, 6 * 8, 2)
    assert (apart.parameters, apart.bytes, len(apart.weights())) == (12, 12 * 8, 4)


def test_each_formula_over_one_network_reaches_its_own_targets() -> None:
    """Which lie where a sigmoid gets to: within its bounds."""
    torch.manual_seed(0)
    z = torch.eye(4, dtype=torch.float64)
    g = torch.tensor([[0.1, -0.05], [-0.05, 0.1], [0.05, 0.08], [0.02, -0.1]], dtype=torch.float64)
    multipliers = over_one_network(nn.Linear(4, 2).double(), ascent=adam(0.02, steps=4000), width=4)
    targets = multipliers.read(torch.arange(4), {"m": z}, {}) + RHO * g
    assert 0.1 < float(targets.min()) < float(targets.max()) < CAP - 0.1
    torch.testing.assert_close(fitted(multipliers, g, {"m": z}), targets, rtol=0, atol=1e-3)


def test_formulas_over_networks_of_their_own_are_fitted_apart() -> None:
    """To the same weights as the one alone, whatever the other's targets are."""
    z = torch.randn(4, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    found = []
    for other in (0.3, -0.3):
        torch.manual_seed(0)
        first, second = nn.Linear(2, 2).double(), nn.Linear(2, 2).double()
        multipliers = over_one_network(first, second, ascent=adam(0.01, steps=20))
        fitted(multipliers, torch.tensor([[0.2, other]] * 4, dtype=torch.float64), {"m": z})
        found.append(first.weight.detach().clone())
    assert torch.equal(*found)


def test_masked_entries_are_not_fitted() -> None:
    z = torch.zeros(4, 2, dtype=torch.float64)
    mask = torch.ones(4, 3, dtype=torch.bool)
    mask[1:, 0] = False
    mask[:, 1] = False
    g = torch.where(mask, 0.1, 0.0).double()
    multipliers = held(learned(LAYOUT, cap=CAP), rows=4, ascent=sgd(0.5, steps=400, weight="rms", recenter=True))
    found = fitted(multipliers, g, {"m": z}, mask)
    assert float(found[0, 0]) == pytest.approx(RHO * 0.1, abs=1e-5)  # as its one live row says, not a quarter of it
    assert float(found[0, 1]) == 0.0


def test_only_the_rows_of_the_fit_are_fitted() -> None:
    positions = fit_positions(torch.arange(10), 0.6, seed=5)
    assert len(positions) == 6
    assert torch.equal(positions, fit_positions(torch.arange(10), 0.6, seed=5))
    assert not torch.equal(positions, fit_positions(torch.arange(10), 0.6, seed=6))
    z = torch.zeros(10, 2, dtype=torch.float64)
    outside = torch.ones(10, dtype=torch.bool).index_fill(0, fit_positions(torch.arange(10), 0.6, 0), False)
    g = torch.zeros(10, 3, dtype=torch.float64)
    g[outside] = 0.4
    multipliers = held(learned(LAYOUT, cap=CAP), rows=10, fit=0.6, ascent=sgd(0.5, steps=20, recenter=True))
    assert torch.equal(fitted(multipliers, g, {"m": z}), torch.zeros(10, 3, dtype=torch.float64))


def test_columns_with_one_head_share_weights_over_the_members_of_a_set() -> None:
    """Two families over a set of three members, read from per-member features: lam depends on the member's own features."""
    layout = Layout("d", (part("a", size=3), part("b", size=2)))
    members = (("m/i", 0, "a"), ("m/i", 1, "a"), ("m/i", 2, "a"), ("m/i", 2, "b"), ("m/k", 1, "b"))
    features = {
        "m/i": torch.randn(30, 3, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(1)),
        "m/k": torch.randn(30, 2, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(2)),
    }
    weights = torch.tensor([0.05, -0.03], dtype=torch.float64)
    targets = torch.full((30, 5), 0.5, dtype=torch.float64)
    targets[:, :3] += features["m/i"] @ weights
    targets[:, 3] += features["m/i"][:, 2] @ -weights
    targets[:, 4] += features["m/k"][:, 1, 3] * 0.04
    multipliers = held(
        learned(layout, cap=CAP, members=members), layout=layout, rows=30, features=features, ascent=sgd(0.3, steps=600)
    )
    # Two networks: 2 -> heads a, b and 4 -> head b, and a bias a column.
    assert multipliers.parameters == (2 + 1) * 2 + (4 + 1) * 1 + 5
    found = fitted(multipliers, targets / RHO, features)
    torch.testing.assert_close(found, targets, rtol=0, atol=1e-5)
    swapped = {**features, "m/i": features["m/i"].flip(1)}
    again = multipliers.read(torch.arange(30), swapped, {})
    bias = multipliers.stores[0].phi.bias.detach()  # type: ignore[attr-defined]
    torch.testing.assert_close(again[:, 0] - bias[0], found[:, 2] - bias[2])


def test_a_fit_runs_no_model_of_the_primal_and_reads_features_without_their_gradient() -> None:
    model = Free(12, 2)
    rows = table(torch.randn(12, 2, dtype=torch.float64))

    def body(x: Tensor, values: Any) -> Any:
        return None, torch.cat([x, x[:, :1]], 1) + 0.1, None

    module = RowsOf(model, body)
    program = Program("d", LAYOUT, 1.0, module, module, (learned(LAYOUT, cap=CAP),))
    multipliers = held(*program.duals, rows=12, ascent=adam(1e-2, batch=4, steps=25))
    found = evaluate(program, rows, rows.splits["train"], 5, multipliers, multipliers.reads)
    before = model.calls
    multipliers.update(found)
    assert before == 3  # batches of the pass
    assert model.calls == before
    assert model.x.grad is None
    assert not multipliers.read(found.ids, {"m": rows.columns["z"].requires_grad_()}, {}).requires_grad


class Formula(nn.Module):
    """cap * sigmoid(a linear model of the field z)."""

    def __init__(self, columns: int) -> None:
        super().__init__()
        self.h = nn.Linear(2, columns, dtype=torch.float64)
        nn.init.constant_(self.h.bias, -1.0)
        self.called: list[tuple[int, tuple[str, ...]]] = []

    def forward(self, values: Any, ids: Tensor, features: Any) -> Tensor:
        self.called.append((len(ids), tuple(features)))
        found: Tensor = CAP * torch.sigmoid(self.h(values["z"]))
        return found


def test_a_formula_is_fitted_on_fields_read_from_the_table() -> None:
    layout = Layout("d", (part("a", size=2),))
    formula = Formula(2)
    multipliers = held(
        plan("formula", layout, cap=CAP, formula=formula),
        layout=layout,
        rows=20,
        ascent=adam(0.05, batch=10, steps=400),
    )
    z = torch.randn(20, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    wanted = CAP * torch.sigmoid(z @ torch.tensor([[0.3, -0.2], [0.1, 0.4]], dtype=torch.float64) - 0.5)
    rows = torch.arange(20)
    start = multipliers.read(rows, {}, {"z": z})
    g = (wanted - start) / RHO
    multipliers.update(EvaluationResult(rows, None, g, None, start, {}, FeatureCache()))
    torch.testing.assert_close(multipliers.read(rows, {}, {"z": z}), wanted, rtol=0, atol=2e-3)
    assert formula.called[1] == (10, ())


@pytest.mark.parametrize("kind", ["pointwise", "shared", "hybrid", "learned"])
def test_states_go_round_and_another_runs_multipliers_are_adopted_only_in_the_same_shape(kind: str) -> None:
    def made(rows: int = 5) -> Multipliers:
        one = learned(LAYOUT, cap=CAP) if kind == "learned" else plan(kind, LAYOUT, cap=CAP)
        return held(one, rows=rows, ascent=adam(1e-2, batch=2, steps=3))

    first, second, third, other = made(), made(), made(), made(rows=6)
    features = {"m": torch.randn(5, 2, dtype=torch.float64)}
    g = random_residuals() * 0.1
    fitted(first, g, features)
    second.load_state(first.state())
    third.adopt(first.state())
    ids = torch.arange(5)
    assert torch.equal(second.read(ids, features, {}), first.read(ids, features, {}))
    assert torch.equal(third.read(ids, features, {}), first.read(ids, features, {}))
    other.adopt(first.state())
    wide = {"m": torch.randn(6, 2, dtype=torch.float64)}
    kept = other.read(torch.arange(6), wide, {})
    assert bool((kept == 0).all()) is (kind in ("pointwise", "hybrid"))


def test_multipliers_of_another_kind_are_not_adopted() -> None:
    one, other = held(plan("pointwise", LAYOUT)).stores[0], held(plan("hybrid", LAYOUT)).stores[0]
    assert not one.adopt(other.state())
    assert not other.adopt(one.state())
    assert one.adopt(one.state())


@pytest.mark.parametrize("rows", [1, 7, 36, 1000])
def test_what_is_the_same_on_every_row_has_no_spread(rows: int) -> None:
    """In single precision the mean of equal numbers is off by its last places, which are no unit to measure others in."""
    for value in (0.1, 1.0160691738, -33.3, 1e-20):
        centred = Centred(2)
        centred.fit(torch.full((rows, 2), value))
        assert float(centred.scale) == 1.0
    centred = Centred(1)
    centred.fit(torch.tensor([[1.0], [1.0001]]))
    assert float(centred.scale) == pytest.approx(5e-5, rel=1e-2)
