"""Problems small enough for an independent optimum, with programs written by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from pdual.compiler.layout import Layout, PartLayout, Sense
from pdual.compiler.program import DualPlan, Evaluation, Program
from pdual.dsl.declarations.optimisers import AdamSettings, SgdSettings
from pdual.dsl.declarations.references import ArchitectureUse, OptimiserUse
from pdual.dsl.declarations.solving import SolveSettings
from pdual.runtime.data.tables import ColumnTable
from pdual.runtime.optimisation.placement import Placement
from pdual.runtime.problem.problem import Block, Options, Problem
from pdual.runtime.storage.records import LogLine, RunRecord
from pdual.runtime.training.run import Run
from pdual.runtime.training.solver import solve

Body = Callable[[Tensor, Mapping[str, Tensor]], tuple[Tensor | None, Tensor, Tensor | None]]


class Free(nn.Module):
    """One trainable vector a row; counts how often it is asked."""

    def __init__(self, rows: int, width: int = 1) -> None:
        super().__init__()
        self.x = nn.Parameter(torch.zeros(rows, width, dtype=torch.float64))
        self.calls = 0

    def forward(self, ids: Tensor) -> Tensor:
        self.calls += 1
        return self.x.index_select(0, ids)


class RowsOf(nn.Module):
    """A program: the model's output and the row's fields to objective, residuals and mask; features are the field ``z``."""

    def __init__(self, model: nn.Module, body: Body) -> None:
        super().__init__()
        self.model = model
        self.body = body

    def forward(self, values: Mapping[str, Tensor], ids: Tensor) -> Evaluation:
        x = self.model(ids)
        objective, residuals, mask = self.body(x, values)
        return Evaluation(objective, residuals, mask, {"m": values["z"]}, {"first": x[:, 0]})


def part(family: str, name: str = "", size: int = 1, **changes: Any) -> PartLayout:
    """A part whose entries are called 0, 1, ...; ``<=``, scale 1, no range, unless changed."""
    base = PartLayout(
        family=family,
        part=name,
        sense=Sense.AT_MOST,
        sets=("i",) if size > 1 else (),
        members=tuple((i,) if size > 1 else () for i in range(size)),
        addresses=tuple(str(i) if size > 1 else "" for i in range(size)),
        scale=(1.0,) * size,
        range=None,
    )
    return replace(base, **changes)


def plan(kind: str, layout: Layout, parts: tuple[PartLayout, ...] | None = None, **changes: Any) -> DualPlan:
    """A plan for some parts of a layout (all by default), cap 100."""
    held = layout.parts if parts is None else parts
    columns = tuple(column for item in held for column in range(*layout.columns_of(item).indices(layout.columns)))
    return replace(DualPlan(kind, tuple(item.name for item in held), columns, 100.0), **changes)


def learned(layout: Layout, **changes: Any) -> DualPlan:
    """A linear network on the field ``z``."""
    from pdual.dsl.declarations.architecture_plain import LinearSettings

    use = ArchitectureUse("linear", LinearSettings())
    return plan("learned", layout, **{"architecture": use, "features": ("m",), **changes})


def mlp(*hidden: int) -> ArchitectureUse:
    from pdual.dsl.declarations.architecture_plain import MlpSettings

    return ArchitectureUse("mlp", MlpSettings(hidden=hidden))


def table(z: Tensor, test: int = 0, **columns: Tensor) -> ColumnTable:
    """Rows with the field ``z`` [rows, width]; the last ``test`` of them are the test split."""
    rows = torch.arange(len(z))
    splits = {"train": rows[: len(z) - test]}
    if test:
        splits["test"] = rows[len(z) - test :]
    return ColumnTable({"z": z, **columns}, splits, "hand")


def sgd(lr: float, batch: int = 1000, **changes: Any) -> OptimiserUse:
    return OptimiserUse("sgd", SgdSettings(lr=lr, batch=batch, **changes))


def adam(lr: float, batch: int = 1000, **changes: Any) -> OptimiserUse:
    return OptimiserUse("adam", AdamSettings(lr=lr, batch=batch, **changes))


def problem(
    body: Body,
    rows: ColumnTable,
    layout: Layout,
    plans: tuple[DualPlan, ...],
    model: nn.Module,
    settings: SolveSettings,
    **program: Any,
) -> Problem:
    """One data set ``d``, one model ``f``."""
    module = RowsOf(model, body)
    made = Program("d", layout, program.pop("objective_scale", 1.0), module, module, plans)
    return Problem("hand", (Block(made, rows),), nn.ModuleDict({"f": model, **program}), settings)


def solved(given: Problem, **options: Any) -> Run:
    """Solve in double precision."""
    return solve(given, Options(placement=Placement(precision="float64"), **options))


def multipliers(run: Run, split: str = "train") -> Tensor:
    """Scaled multipliers of a split: [rows, columns]."""
    run.problem.models.eval()
    found = run.training_sets[0].evaluate(split).multipliers
    assert found is not None
    return found


def recorded(**changes: Any) -> RunRecord:
    """The record of a run of a hand-written problem."""
    plain: dict[str, Any] = {
        "problem": "hand",
        "spec_hash": "0",
        "status": "running",
        "parameters": {},
        "settings": {},
        "dual": "pointwise",
        "seed": 0,
        "device": "cpu",
        "precision": "float64",
        "threads": 1,
        "versions": {},
        "data": {},
    }
    return RunRecord(**{**plain, **changes})


def logged(outer: int, violation: float = 0.5) -> LogLine:
    """A line of the log with a mean violation."""
    return LogLine(
        outer=outer,
        step=10 * outer,
        seconds=1.0,
        loss=0.25,
        objective={"d": 1.5},
        violation_mean=violation,
        violation_max=violation,
        feasible_rows=0.0,
        rows_at_cap=0.0,
        rho=1.0,
        rho_equal=0.0,
        multiplier=0.0,
        moved=0.0,
        fit_error={},
        families={},
    )


def after(calls: int) -> Callable[[], bool]:
    """A request to stop at the n-th time it is asked for."""
    left = calls

    def stop() -> bool:
        nonlocal left
        left -= 1
        return left < 0

    return stop
