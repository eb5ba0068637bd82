"""``power.projected``: violations of predictions that were projected on the power-flow equations."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pdual.compiler.assemble import assemble
from pdual.packs.power.declarations.architecture import PowerNames, power_names
from pdual.packs.power.declarations.sources import PowerDemandsSettings
from pdual.packs.power.evaluations.projection import project
from pdual.packs.power.optima.grid import Complexes, Grid, grid_of, lacking
from pdual.runtime.evaluation.context import EvaluationContext, Scores
from pdual.runtime.evaluation.evaluate import evaluate as evaluate_rows
from pdual.runtime.evaluation.metrics import Measured, split_metrics
from pdual.runtime.evaluation.violations import Violations
from pdual.runtime.models.stand_in import StandIn, Values

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
    arrived: list[Any] = []
    stand_in = StandIn(exact[name], lambda inputs, said: _projected(grid_of(known), names, inputs, said, arrived))
    exact[name] = stand_in
    program = next(item for item in assemble(context.graph, exact, torch.float64) if item.data == context.data)
    table = context.table.to(torch.device("cpu"), torch.float64)
    found = evaluate_rows(program, table, context.ids.cpu(), BATCH)
    if stand_in.inputs is None:
        return None
    measured = Measured(program, found, Violations.of(found, program.layout))
    numbers = split_metrics([measured], None).model_dump(mode="json")
    kept = {key: numbers[key] for key in ("objective", "metrics", "violation", "families")}
    return {"rows": len(context.ids), "unsolved": 1 - float(np.concatenate(arrived).mean()), **kept}


def _projected(grid: Grid, names: PowerNames, inputs: Values, said: Values, arrived: list[Any]) -> Values:
    """The outputs projected; whether Newton's method arrived is noted."""
    load, v, s = _complex(inputs, names.load), _complex(said, names.voltage), _complex(said, names.power)
    flow = project(grid, load, v, s)
    arrived.append(flow.solved)
    return {**_parts(names.voltage, flow.v), **_parts(names.power, flow.s)}


def _complex(values: Values, name: str) -> Complexes:
    found: Complexes = values[f"{name}.re"].numpy() + 1j * values[f"{name}.im"].numpy()
    return found


def _parts(name: str, values: Complexes) -> dict[str, Tensor]:
    return {
        f"{name}.re": torch.from_numpy(np.ascontiguousarray(values.real)),
        f"{name}.im": torch.from_numpy(np.ascontiguousarray(values.imag)),
    }
