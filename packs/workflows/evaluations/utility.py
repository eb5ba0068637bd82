"""``flora.utility``: workflows ranked by the tasks that they are predicted to solve, against those that they solve."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from pdual.compiler.open_axes import calls_of
from pdual.dsl import typed
from pdual.dsl.types import GraphType
from pdual.packs.workflows.evaluations.ranked import Reals, expected_utility, utility
from pdual.packs.workflows.sources.table import PairTable
from pdual.runtime.evaluation.context import EvaluationContext, Scores

#: Rows of one call of the model.
BATCH = 512


def evaluate(context: EvaluationContext) -> Scores | None:
    """Of a split: ``published`` ranks workflows by how many of their tasks have a score above 0, ties in the order of workflow
    ids, as FLORA-Bench does; ``ties_averaged`` is the same with ties broken at random, ``by_probability`` ranks by the mean
    probability. Workflows without a row of the split are left out.

    None where no one model scores a workflow and a question that are fields of the row.
    """
    table = context.table
    call = _scoring(context)
    if call is None or not isinstance(table, PairTable):
        return None
    scores = _scores(context, call)
    workflow, solved = (column[context.ids].cpu().numpy() for column in (table.workflow, table.solved))
    truth = _by_workflow(workflow, solved.astype(float))
    counted = _by_workflow(workflow, (scores > 0).astype(float))
    probable = _by_workflow(workflow, 1 / (1 + np.exp(-scores)))
    return {
        "workflows": len(truth),
        "published": utility(truth, counted),
        "ties_averaged": expected_utility(truth, counted),
        "by_probability": expected_utility(truth, probable),
    }


def _scoring(context: EvaluationContext) -> typed.ModelCall | None:
    """The call of the only model of a graph, where its arguments are fields of the row."""
    models = [
        model.name
        for model in context.graph.spec.models
        if model.frozen_of is None and any(isinstance(kind, GraphType) for _, kind in model.signature.inputs)
    ]
    calls = [call for call in calls_of(context.graph.spec) if call.model in models]
    if len(models) != 1 or not calls or not all(isinstance(item, typed.FieldRef) for item in calls[0].arguments):
        return None
    return calls[0]


@torch.no_grad()
def _scores(context: EvaluationContext, call: typed.ModelCall) -> Reals:
    model = context.problem.models[call.model]
    signature = next(item.signature for item in context.graph.spec.models if item.name == call.model)
    names = [name for name, _ in signature.inputs]
    fields = [item.name for item in call.arguments if isinstance(item, typed.FieldRef)]
    said: list[Tensor] = []
    for ids in torch.split(context.ids, BATCH):
        rows = context.table.batch(ids).values
        (value,) = model({name: rows[field] for name, field in zip(names, fields, strict=True)}).outputs.values()
        said.append(value)
    found: Reals = torch.cat(said).double().cpu().numpy()
    return found


def _by_workflow(workflow: Reals, value: Reals) -> Reals:
    """The mean of each workflow's rows, workflows in ascending order."""
    _, place = np.unique(workflow, return_inverse=True)
    found: Reals = np.bincount(place, value) / np.bincount(place)
    return found
