"""Which language model a data set's rows are put to, and which texts they are."""

from __future__ import annotations

from collections.abc import Sequence

from torch import nn

from pdual.compiler.open_axes import calls_of
from pdual.runtime.architectures.causal_lm import CausalLm
from pdual.runtime.architectures.language_frozen import FrozenLm, Pair
from pdual.runtime.architectures.language_rows import asked, data_of
from pdual.runtime.evaluations.context import EvaluationContext


def model_of(context: EvaluationContext) -> tuple[CausalLm, Sequence[Pair]] | None:
    """The only language model that the spec calls on these rows, and what it is asked about each; None where there is none."""
    calls = [
        call
        for call in dict.fromkeys(calls_of(context.graph.spec))
        if isinstance(context.problem.models[call.model], CausalLm) and data_of(call) == context.data
    ]
    if len(calls) != 1:
        return None
    model = context.problem.models[calls[0].model]
    assert isinstance(model, CausalLm)
    return model, list(asked(calls[0], context.table, context.ids).values())


def reference_of(models: nn.ModuleDict, model: CausalLm) -> FrozenLm:
    """What the model said before it was trained: the spec's own frozen one, else one made now."""
    found = next((item for item in models.values() if isinstance(item, FrozenLm) and item.of is model), None)
    return found if found is not None else model.frozen()
