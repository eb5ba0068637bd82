"""Which language model a data set's rows are put to, and which texts they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from torch import nn

from pdual.packs.language.models.causal_lm import CausalLm
from pdual.packs.language.models.frozen import FrozenLm
from pdual.packs.language.models.language_model import Pair, pairs_by_row
from pdual.runtime.evaluation.context import EvaluationContext
from pdual.runtime.models.called_rows import calls_on_rows


def model_of(context: EvaluationContext) -> tuple[CausalLm, Sequence[Pair]] | None:
    """The only language model that the spec calls on the rows that are measured, and the pair of each row; None where there is none."""
    models = context.problem.models
    calls = [
        called
        for called in calls_on_rows(context.graph, {context.data: context.table})
        if isinstance(models[called.call.model], CausalLm)
    ]
    if len(calls) != 1:
        return None
    model = models[calls[0].call.model]
    assert isinstance(model, CausalLm)
    pairs = pairs_by_row(replace(calls[0], ids=context.ids))
    return model, [pairs[row] for row in context.ids.tolist()]


def reference_of(models: nn.ModuleDict, model: CausalLm) -> FrozenLm:
    """What the model said before it was trained: the spec's own frozen one, else one made now."""
    found = next((item for item in models.values() if isinstance(item, FrozenLm) and item.of is model), None)
    return found if found is not None else model.frozen()
