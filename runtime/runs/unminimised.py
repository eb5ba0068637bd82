"""``--minimize none``: what the objective came to, though nothing minimised it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import torch

from pdual.compiler.assemble import assemble, data_free_terms
from pdual.compiler.compile import lower
from pdual.compiler.graph import Graph
from pdual.dsl.diagnostics import Refusal
from pdual.runtime.evaluation.evaluate import evaluate
from pdual.runtime.evaluation.metrics import objective
from pdual.runtime.training.run import Run


@torch.no_grad()
def objectives(graph: Graph, run: Run) -> Mapping[str, float]:
    """The objective by split, in the problem's units, from one pass over the rows of each with the models of the run, which must
    be in evaluation mode. Splits without rows for it are left out; empty where the spec's objective cannot be lowered, which a
    run that drops it never asked for.
    """
    try:
        whole, _ = lower(graph.spec, graph.knowns, {"*": "none"})
    except Refusal:
        return {}
    models, options = run.problem.models, run.options
    programs = {program.data: program for program in assemble(whole, models, options.placement.dtype)}
    free = [
        float(term.evaluate(models)) * whole.objective_scale
        for term in data_free_terms(whole, models, options.placement.dtype)
    ]
    for program in programs.values():
        program.evaluate.to(options.placement.device)

    def terms(split: str) -> Iterator[float]:
        for training_set in run.training_sets:
            if split in training_set.table.splits and len(ids := training_set.table.splits[split]):
                program, groups = programs[training_set.name], training_set.groups_of(ids)
                found = evaluate(program, training_set.table, ids, training_set.evaluation_batch, groups=groups)
                if (value := objective(program, found)) is not None:
                    yield value

    return {split: sum(own) for split in run.splits if (own := [*terms(split), *free])}
