"""Rows at rest are seen less often, and the optimum, the multipliers and a resumed run stay what they were."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from small_problems import Free, adam, learned, multipliers, part, plan, problem, recorded, sgd, solved, table
from torch import Tensor

from pdual.compiler.layout import Layout, Sense
from pdual.compiler.program import DualPlan
from pdual.dsl.declarations.solving import Shrinking, SolveSettings
from pdual.runtime.data.features import FeatureCache
from pdual.runtime.data.tables import Ragged
from pdual.runtime.evaluation.result import EvaluationResult
from pdual.runtime.optimisation.placement import Placement
from pdual.runtime.problem.problem import Options, Problem
from pdual.runtime.storage.folder import RunFolder
from pdual.runtime.storage.packing import pack
from pdual.runtime.training.solver import solve
from pdual.runtime.training.visits import Visits

ROWS = 24
LAYOUT = Layout("d", (part("ceiling"), part("floor")))
KINDS = {"pointwise": plan("pointwise", LAYOUT), "learned": learned(LAYOUT)}
SHRINK = Shrinking(every=3, margin=0.1, share=0.25)


def body(x: Tensor, values: Mapping[str, Tensor]) -> Any:
    """min 1/2 (x - z)^2 subject to x <= 1 (lam = [z - 1]_+) and x >= -1.5 (lam = [-1.5 - z]_+)."""
    z = values["z"]
    return 0.5 * (x - z).square().sum(1), torch.cat([x - 1, -1.5 - x], 1), None


def targets() -> Tensor:
    """From -2.5 to 2: all but six rows end at rest, and every row starts there, at x = 0."""
    return torch.cat([torch.linspace(-1.3, 0.8, 18), torch.tensor([1.2, 1.5, 2.0, -1.7, -2.0, -2.5])]).double()[:, None]


def made(kind: DualPlan, **changes: Any) -> Problem:
    given = {"outer": 30, "rho": 4.0, "shrinking": SHRINK, **changes}
    given.setdefault("descent", sgd(0.2, batch=8, steps=60))
    given.setdefault("ascent", sgd(0.15, batch=8, steps=60))
    return problem(body, table(targets()), LAYOUT, (kind,), Free(ROWS), SolveSettings(**given))


@pytest.mark.parametrize("changes", [{}, {"dual_step": 0.5, "dual_warmup": 5}], ids=["whole", "half"])
def test_tables_end_at_the_optimum(changes: dict[str, Any]) -> None:
    z = targets()
    given = made(KINDS["pointwise"], outer=30, **changes)
    run = solved(given)
    expected = torch.cat([(z - 1).relu(), (-1.5 - z).relu()], 1)
    torch.testing.assert_close(multipliers(run), expected, rtol=0, atol=1e-4)
    torch.testing.assert_close(given.models["f"].x.detach(), z.clamp(-1.5, 1.0), rtol=0, atol=1e-4)


def test_a_network_ends_at_the_optimum() -> None:
    """One constraint only, so that its multipliers, [z - 1]_+, are a clipped affine map."""
    layout = Layout("d", (part("ceiling"),))

    def ceiling(x: Tensor, values: Mapping[str, Tensor]) -> Any:
        objective, residuals, mask = body(x, values)
        return objective, residuals[:, :1], mask

    z = targets()
    settings = SolveSettings(
        outer=80,
        rho=3.0,
        shrinking=SHRINK,
        descent=sgd(0.2, batch=8, steps=60),
        ascent=sgd(0.15, batch=8, steps=80),
    )
    given = problem(ceiling, table(z), layout, (learned(layout),), Free(ROWS), settings)
    run = solved(given)
    torch.testing.assert_close(multipliers(run), (z - 1).relu(), rtol=0, atol=1e-3)
    torch.testing.assert_close(given.models["f"].x.detach(), z.clamp(max=1.0), rtol=0, atol=1e-3)


@pytest.mark.parametrize("kind", ["shared", "hybrid"])
def test_a_mean_over_all_rows_needs_all_of_them(kind: str) -> None:
    run = solved(made(plan(kind, LAYOUT), outer=2))
    assert run.training_sets[0].shrinking is None


def test_an_equality_never_rests() -> None:
    layout = Layout("d", (part("balance", sense=Sense.EQUAL),))

    def balance(x: Tensor, values: Mapping[str, Tensor]) -> Any:
        return 0.5 * (x - values["z"]).square().sum(1), x, None

    settings = SolveSettings(outer=3, rho=4.0, shrinking=SHRINK, descent=sgd(0.1, batch=8, steps=5))
    run = solved(problem(balance, table(targets()), layout, (plan("pointwise", layout),), Free(ROWS), settings))
    assert run.training_sets[0].visits.state()["awake"].all()  # type: ignore[attr-defined]


def seen(ids: Tensor, value: float) -> EvaluationResult:
    cache = FeatureCache()
    cache.append({"m": ids.double()[:, None] + value}, ("m",))
    column = torch.full((len(ids), 1), value)
    return EvaluationResult(
        ids, None, column.clone(), column > 0, column.clone(), {"size": column[:, 0].clone()}, cache
    )


def test_between_two_full_passes_only_rows_awake_are_evaluated_and_the_others_stay_as_they_were() -> None:
    rows = torch.arange(6) + 10
    visits = Visits(rows, Shrinking(every=3))
    asked: list[list[int]] = []

    def evaluate(ids: Tensor) -> EvaluationResult:
        asked.append(ids.tolist())
        return seen(ids, float(len(asked)))

    assert visits.next(evaluate).fresh is None
    visits.restrict(torch.tensor([True, False, False, True, False, False]))
    second = visits.next(evaluate)
    assert second.fresh is not None
    assert second.fresh.tolist() == [True, False, False, True, False, False]
    assert second.residuals[:, 0].tolist() == [2, 1, 1, 2, 1, 1]
    assert second.metrics["size"].tolist() == [2, 1, 1, 2, 1, 1]
    assert second.features.dense("m")[:, 0].tolist() == [12, 12, 13, 15, 15, 16]
    visits.restrict(torch.zeros(6, dtype=torch.bool))
    third = visits.next(evaluate)
    assert third.fresh is not None
    assert not third.fresh.any()
    visits.next(evaluate)
    assert asked == [list(range(10, 16)), [10, 13], list(range(10, 16))]


def test_without_the_setting_every_pass_is_of_all_rows() -> None:
    visits = Visits(torch.arange(3), None)
    asked: list[list[int]] = []

    def evaluate(ids: Tensor) -> EvaluationResult:
        asked.append(ids.tolist())
        return seen(ids, 1.0)

    for _ in range(3):
        visits.next(evaluate)
        visits.restrict(torch.zeros(3, dtype=torch.bool))
    assert asked == [[0, 1, 2]] * 3


def test_ragged_features_are_replaced_row_by_row() -> None:
    cache, now = FeatureCache(), FeatureCache()
    cache.append({"m": Ragged(torch.tensor([1, 2, 2, 3]), torch.tensor([0, 1, 3, 4]))}, ("m",))
    now.append({"m": Ragged(torch.tensor([7, 7, 7, 9]), torch.tensor([0, 3, 4]))}, ("m",))
    cache.replace(torch.tensor([2, 0]), now)
    whole = cache.rows(torch.arange(3))["m"]
    assert isinstance(whole, Ragged)
    assert whole.values.tolist() == [9, 2, 2, 7, 7, 7]
    assert whole.offsets.tolist() == [0, 1, 3, 6]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("stop", [20, 33, 47])
def test_going_on_is_never_having_stopped(kind: str, stop: int, tmp_path: Path) -> None:
    ends: list[Any] = []

    def keep(state: Mapping[str, Any]) -> None:
        tensors, document = pack({name: value for name, value in state.items() if name not in ("clock", "history")})
        ends.append(({name: tensor.clone() for name, tensor in tensors.items()}, document))

    changes = {"outer": 7, "descent": adam(0.3, batch=5, steps=8), "ascent": adam(0.1, batch=5, steps=6)}
    solve(made(KINDS[kind], **changes), Options(placement=Placement(precision="float64"), save=keep))
    whole = ends[-1]
    left = stop

    def stopped() -> bool:
        nonlocal left
        left -= 1
        return left < 0

    folder = RunFolder.create(tmp_path / "run", "spec", recorded())
    solve(
        made(KINDS[kind], **changes), Options(placement=Placement(precision="float64"), save=folder.save, stop=stopped)
    )
    solve(
        made(KINDS[kind], **changes), Options(placement=Placement(precision="float64"), save=keep), resume=folder.load()
    )
    tensors, document = ends[-1]
    assert tensors.keys() == whole[0].keys()
    assert [name for name, tensor in tensors.items() if not torch.equal(tensor, whole[0][name])] == []
    assert document == whole[1]
