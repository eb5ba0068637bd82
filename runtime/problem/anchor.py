"""A point that meets the constraints of some rows, and their metric there: what ``preconditioned`` models start from.

Both come from the compiled program alone: its residuals as a function of a model's outputs, with the model put aside.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from pdual.compiler.assemble import assemble
from pdual.compiler.graph import Graph
from pdual.compiler.program import Evaluation, Program
from pdual.runtime.data.tables import RowBatch, Table, with_groups
from pdual.runtime.models.preconditioned import Preconditioned
from pdual.runtime.models.stand_in import StandIn
from pdual.runtime.models.values import outputs_of
from pdual.runtime.optimisation.lagrangian import Lagrangian

#: Damped Gauss-Newton steps towards the constraints.
STEPS = 30

#: Rows of a Jacobian that are computed in one pass.
CHUNK = 64


def settle(graph: Graph, tables: Mapping[str, Table], models: nn.ModuleDict) -> None:
    """Give every ``preconditioned`` model its scale of the inputs, its anchor and its metric, from the first train rows."""
    for name in models:
        model = models[name]
        if isinstance(model, Preconditioned):
            _settle(graph, tables, models, name, model)


def _settle(graph: Graph, tables: Mapping[str, Table], models: nn.ModuleDict, name: str, model: Preconditioned) -> None:
    exact = copy.deepcopy(models).double()
    stand_in = StandIn(exact[name])
    exact[name] = stand_in
    for module in exact.values():
        module.eval().requires_grad_(False)
    for program in assemble(graph, exact, torch.float64):
        if program.groups_by is not None:
            continue  # its outputs would be those of several rows at once
        table = tables[program.of].to(torch.device("cpu"), torch.float64)
        ids = table.splits["train"]
        inputs = _inputs(program, with_groups(table.batch(ids), [len(ids)]), stand_in)
        if inputs is None or not program.layout.columns:
            continue  # another model's data
        rows = with_groups(table.batch(ids[: model.rows]), [len(ids[: model.rows])])

        one = len(inputs["@row"]) < len(ids)  # the same on every row: one point is to meet the constraints of all
        points = 1 if one else len(rows.ids)

        def residuals(
            outputs: Tensor, rows: RowBatch = rows, program: Program = program, points: int = points
        ) -> Tensor:
            stand_in.answer = lambda inputs, said: outputs_of(outputs, model.slots)
            return Evaluation(*program.train(rows.values, rows.ids)).residuals.reshape(points, -1)

        solve, columns = graph.spec.solve, range(program.layout.columns)
        lagrangian = Lagrangian.of(
            program.layout, columns, solve.rho, solve.rho_equal, torch.device("cpu"), torch.float64
        )
        start = model.anchor.double().expand(points, -1).clone()
        rho, equal = (item.repeat(len(rows.ids) // points) for item in (lagrangian.rho, lagrangian.equal))
        point = feasible(residuals, start, rho, equal)
        slopes = jacobian(residuals, point)
        model.settle(point.mean(0), torch.einsum("c,ncj,nck->jk", rho, slopes, slopes) / len(rows.ids))
        model.show(inputs)


def _inputs(program: Program, rows: RowBatch, stand_in: StandIn) -> Mapping[str, Tensor] | None:
    """What the model is called with on these rows; None where the program does not call it."""
    stand_in.inputs = stand_in.answer = None
    program.train(rows.values, rows.ids)
    return stand_in.inputs


def jacobian(residuals: Any, point: Tensor) -> Tensor:
    """d residuals / d outputs of every row: [rows, columns, numbers], from a function [rows, numbers] to [rows, columns]."""
    outputs = point.detach().requires_grad_(True)
    found = residuals(outputs)
    columns = found.shape[1]
    chunks = []
    for first in range(0, columns, CHUNK):
        ends = torch.eye(columns, dtype=found.dtype)[first : first + CHUNK]
        seeds = ends[:, None, :].expand(-1, len(found), -1)
        (slopes,) = torch.autograd.grad(found, outputs, seeds, retain_graph=True, is_grads_batched=True)
        chunks.append(slopes)
    return torch.cat(chunks).transpose(0, 1)


def feasible(residuals: Any, start: Tensor, weights: Tensor, equal: Tensor) -> Tensor:
    """Outputs [rows, numbers] near ``start`` that meet the constraints as well as Levenberg and Marquardt's steps bring them.

    Least squares of ``sqrt(weight)`` times the violation; every row has a damping of its own.
    """

    def missed(outputs: Tensor) -> Tensor:
        found = residuals(outputs)
        return torch.where(equal, found, found.clamp(min=0)) * weights.sqrt()

    point, damping = start, start.new_full((len(start),), 1e-2)
    with torch.no_grad():
        value = missed(point).square().sum(1)
    for _ in range(STEPS):
        slopes = jacobian(missed, point)
        with torch.no_grad():
            error = missed(point)
            normal = slopes.transpose(1, 2) @ slopes
            normal.diagonal(dim1=1, dim2=2).add_(damping[:, None])
            step = torch.linalg.solve(normal, (slopes.transpose(1, 2) @ error[..., None])[..., 0])
            tried = point - step
            reached = missed(tried).square().sum(1)
            better = reached < value
            point = torch.where(better[:, None], tried, point)
            value = torch.where(better, reached, value)
            damping = torch.where(better, damping / 3, damping * 4).clamp(min=1e-9, max=1e9)
    return point.detach()
