"""Which language model a data set's rows are put to, and which texts they are."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from pdual.compiler.graph import Graph
from pdual.compiler.open_axes import calls_of
from pdual.packs.language.models.causal_lm import CausalLm
from pdual.packs.language.models.frozen import FrozenLm, Pair
from pdual.packs.language.models.rows import asked, data_of
from pdual.runtime.data.tables import Table
from pdual.runtime.evaluation.context import EvaluationContext


def model_of(context: EvaluationContext) -> tuple[CausalLm, Sequence[Pair]] | None:
    """The language model of the rows that are measured, as ``asked_of`` has it."""
    return asked_of(context.graph, context.problem.models, context.data, context.table, context.ids)


def asked_of(
    graph: Graph, models: nn.ModuleDict, data: str, table: Table, ids: Tensor
) -> tuple[CausalLm, Sequence[Pair]] | None:
    """The only language model that the spec calls on these rows, and what it is asked about each; None where there is none."""
    calls = [
        call
        for call in dict.fromkeys(calls_of(graph.spec))
        if isinstance(models[call.model], CausalLm) and data_of(call) == data
    ]
    if len(calls) != 1:
        return None
    model = models[calls[0].model]
    assert isinstance(model, CausalLm)
    found = asked(calls[0], table, ids)
    return model, [found[row] for row in ids.tolist()]


def reference_of(models: nn.ModuleDict, model: CausalLm) -> FrozenLm:
    """What the model said before it was trained: the spec's own frozen one, else one made now."""
    found = next((item for item in models.values() if isinstance(item, FrozenLm) and item.of is model), None)
    return found if found is not None else model.frozen()
