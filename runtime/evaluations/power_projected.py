"""``power.projected``: violations of predictions that were projected on the power-flow equations."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pdual.compiler.assemble import assemble
from pdual.compiler.program import Evaluation, Program
from pdual.dsl.declarations.architecture_power import PowerNames, power_names
from pdual.dsl.declarations.sources_power import PowerDemandsSettings
from pdual.runtime.data import Table
from pdual.runtime.evaluation import Pass
from pdual.runtime.evaluations.context import EvaluationContext, Scores
from pdual.runtime.evaluations.power_projection import project
from pdual.runtime.features import FeatureCache
from pdual.runtime.metrics import Measured, split_metrics
from pdual.runtime.profile import Profile
from pdual.runtime.sources.power_grid import Complexes, Grid, grid_of, lacking
from pdual.runtime.stand_in import StandIn

#: Rows of one call of the program.
BATCH = 500


def evaluate(context: EvaluationContext) -> Scores | None:
    """The numbers of a split (``objective``, ``metrics``, ``violation``, ``families``) with the model's voltages and powers
    projected, and the share of rows on which Newton's method did not arrive (``unsolved``), which count as they are.

    None where no one model maps a demand to voltages and powers, where it is not called on these rows, or where the demands are
    on no grid of the spec.
    """
    settings = next(item.settings for item in context.graph.spec.data if item.name == context.data)
    named = [
        (model.name, power_names(model.signature)) for model in context.graph.spec.models if model.frozen_of is None
    ]
    models = [(name, names) for name, names in named if names is not None]
    if len(models) != 1 or not isinstance(settings, PowerDemandsSettings):
        return None
    ((name, names),) = models
    known = context.graph.knowns[settings.grid.given]
    if lacking(known):
        return None
    exact = copy.deepcopy(context.problem.models).cpu().double().eval()
    stand_in = StandIn(exact[name])
    exact[name] = stand_in
    program = next(item for item in assemble(context.graph, exact, torch.float64) if item.data == context.data)
    table = context.table.to(torch.device("cpu"), torch.float64)
    first = table.batch(context.ids[:1].cpu())
    program.evaluate(first.values, first.ids)
    if stand_in.inputs is None:
        return None
    found, unsolved = _projected(program, table, context.ids.cpu(), stand_in, names, grid_of(known))
    measured = Measured(program, found, Profile.of(found, program.layout))
    numbers = split_metrics([measured], None).model_dump(mode="json")
    kept = {key: numbers[key] for key in ("objective", "metrics", "violation", "families")}
    return {"rows": len(context.ids), "unsolved": unsolved, **kept}


@torch.no_grad()
def _projected(
    program: Program, table: Table, ids: Tensor, stand_in: StandIn, names: PowerNames, grid: Grid
) -> tuple[Pass, float]:
    pieces, arrived = [], []
    for found, solved in _batches(program, table, ids, stand_in, names, grid):
        pieces.append(found)
        arrived.append(solved)
    objective = [item.objective for item in pieces if item.objective is not None]
    masks = [item.mask for item in pieces if item.mask is not None]
    passed = Pass(
        ids,
        torch.cat(objective) if objective else None,
        torch.cat([item.residuals for item in pieces]),
        torch.cat(masks) if masks else None,
        None,
        {key: torch.cat([item.metrics[key] for item in pieces]) for key in pieces[0].metrics},
        FeatureCache(),
    )
    return passed, 1 - float(np.concatenate(arrived).mean())


def _batches(
    program: Program, table: Table, ids: Tensor, stand_in: StandIn, names: PowerNames, grid: Grid
) -> Iterator[tuple[Evaluation, Any]]:
    for piece in torch.split(ids, BATCH):
        rows = table.batch(piece)
        stand_in.outputs = None
        program.evaluate(rows.values, rows.ids)
        assert stand_in.inputs is not None
        assert stand_in.said is not None
        load, v, s = (
            _complex(values, name)
            for values, name in (
                (stand_in.inputs, names.load),
                (stand_in.said, names.voltage),
                (stand_in.said, names.power),
            )
        )
        flow = project(grid, load, v, s)
        stand_in.outputs = {**_parts(names.voltage, flow.v), **_parts(names.power, flow.s)}
        yield Evaluation(*program.evaluate(rows.values, rows.ids)), flow.solved


def _complex(values: Any, name: str) -> Complexes:
    found: Complexes = values[f"{name}.re"].numpy() + 1j * values[f"{name}.im"].numpy()
    return found


def _parts(name: str, values: Complexes) -> dict[str, Tensor]:
    return {
        f"{name}.re": torch.from_numpy(np.ascontiguousarray(values.real)),
        f"{name}.im": torch.from_numpy(np.ascontiguousarray(values.imag)),
    }
