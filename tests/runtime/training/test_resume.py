"""A run that is stopped and gone on with from its folder is the run that was never stopped, to the last bit."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from small_problems import Free, adam, after, learned, mlp, part, plan, problem, recorded, table
from torch import Tensor

from pdual.compiler.layout import Layout, Sense
from pdual.compiler.program import DualPlan
from pdual.dsl.declarations.solving import RhoSchedule, SolveSettings
from pdual.runtime.optimisation.placement import Placement
from pdual.runtime.problem.problem import Options, Problem
from pdual.runtime.storage.folder import RunFolder
from pdual.runtime.storage.packing import pack
from pdual.runtime.training.solver import solve

ROWS = 10
LAYOUT = Layout("d", (part("box", "upper", 2), part("total", sense=Sense.EQUAL)))


def body(x: Tensor, values: Mapping[str, Tensor]) -> Any:
    z = values["z"]
    return (x - z).square().sum(1), torch.cat([x - 0.2, x.sum(1, keepdim=True) - 0.1 * z[:, :1]], 1), None


def made(plans: tuple[DualPlan, ...], **settings: Any) -> Problem:
    """A problem with fresh weights; batches that do not divide the rows, so that epochs run into each other."""
    z = torch.randn(ROWS, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    solving = SolveSettings(
        outer=4, rho=5.0, descent=adam(0.05, batch=3, steps=7), ascent=adam(0.02, batch=4, steps=5), **settings
    )
    return problem(body, table(z), LAYOUT, plans, Free(ROWS, 2), solving)


class Ends:
    """The state of a run that ended, flat: names, tensors and numbers."""

    def __init__(self) -> None:
        self.tensors: Mapping[str, Tensor] = {}
        self.document: Any = None

    def keep(self, state: Mapping[str, Any]) -> None:
        tensors, self.document = pack(
            {name: value for name, value in state.items() if name not in ("clock", "history")}
        )
        self.tensors = {name: tensor.clone() for name, tensor in tensors.items()}


KINDS: dict[str, tuple[DualPlan, ...]] = {
    "pointwise": (plan("pointwise", LAYOUT),),
    "shared": (plan("shared", LAYOUT),),
    "hybrid": (plan("hybrid", LAYOUT),),
    "learned": (learned(LAYOUT),),
    "learned mlp": (learned(LAYOUT, architecture=mlp(4)),),
    "two kinds": (plan("pointwise", LAYOUT, LAYOUT.parts[:1]), learned(LAYOUT, parts=LAYOUT.parts[1:])),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("stops", [(3,), (7,), (9, 8), (1, 1, 20)], ids=str)
def test_going_on_is_never_having_stopped(kind: str, stops: tuple[int, ...], tmp_path: Path) -> None:
    whole, pieces = Ends(), Ends()
    settings = {"rho_schedule": RhoSchedule(factor=1.5, every=0.9, max=50.0), "smoothing": 0.3, "warmup": 1}
    finished = solve(made(KINDS[kind], **settings), Options(placement=Placement(precision="float64"), save=whole.keep))

    folder = RunFolder.create(tmp_path / "run", "spec", recorded())
    stopped = solve(
        made(KINDS[kind], **settings),
        Options(placement=Placement(precision="float64"), save=folder.save, stop=after(stops[0])),
    )
    assert stopped.status == "stopped"
    for calls in stops[1:]:
        again = solve(
            made(KINDS[kind], **settings),
            Options(placement=Placement(precision="float64"), save=folder.save, stop=after(calls)),
            resume=folder.load(),
        )
        assert again.status == "stopped"
    last = solve(
        made(KINDS[kind], **settings),
        Options(placement=Placement(precision="float64"), save=pieces.keep),
        resume=folder.load(),
    )

    assert last.status == finished.status == "finished"
    assert pieces.tensors.keys() == whole.tensors.keys()
    different = [name for name, tensor in whole.tensors.items() if not torch.equal(tensor, pieces.tensors[name])]
    assert different == []
    assert pieces.document == whole.document
    lines = [line.model_dump(exclude={"seconds"}) for line in finished.history]
    assert [line.model_dump(exclude={"seconds"}) for line in last.history] == lines


def test_another_seed_is_another_run() -> None:
    first, second = Ends(), Ends()
    solve(made(KINDS["pointwise"]), Options(placement=Placement(precision="float64"), save=first.keep))
    solve(made(KINDS["pointwise"]), Options(placement=Placement(precision="float64"), save=second.keep, seed=1))
    assert any(not torch.equal(tensor, second.tensors[name]) for name, tensor in first.tensors.items())


def test_saving_pauses_for_longer_where_it_takes_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("pdual.runtime.training.solver.time.perf_counter", lambda: now)
    saved: list[float] = []

    def save(state: Mapping[str, Any]) -> None:
        nonlocal now
        saved.append(now)
        now += 10.0

    def log(line: Any) -> None:
        nonlocal now
        now += 35.0

    solve(
        made(KINDS["pointwise"]), Options(save=save, log=log, save_every=30.0, placement=Placement(precision="float64"))
    )
    # Iterations end at 35, 80, 115 and 150, where the run ends; after ten seconds of saving come two hundred without.
    assert saved == [35.0, 150.0]
