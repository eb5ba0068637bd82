"""Rows that a language model will be asked about: each is tokenised, checked, and remembered as far as nothing that trains is in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import nn

from pdual.compiler.graph import Graph
from pdual.compiler.open_axes import calls_of, featured_calls_of
from pdual.dsl import typed
from pdual.packs.language.models.causal_lm import CausalLm, pairs_of
from pdual.packs.language.models.frozen import FrozenLm, Pair
from pdual.runtime.data.tables import Table


def read_texts(graph: Graph, tables: Mapping[str, Table], models: nn.ModuleDict) -> None:
    """Tokenise the rows of every split for every call of a language model.

    Raises what ``CausalLm.check`` raises, with the row's address.
    """
    featured = set(featured_calls_of(graph.spec))
    for call in dict.fromkeys(calls_of(graph.spec)):
        model, data = models[call.model], data_of(call)
        if not isinstance(model, CausalLm | FrozenLm) or data not in tables:
            continue
        pairs = asked(call, tables[data], torch.cat(list(tables[data].splits.values())))
        if isinstance(model, FrozenLm):
            model.expect(list(pairs.values()), features=call in featured)
            continue
        model.expect(list(pairs.values()))
        for row, (prompt, answer) in pairs.items():
            model.check(prompt, answer, data, lambda row=row, table=tables[data]: table.address(row))  # type: ignore[misc]


def asked(call: typed.ModelCall, table: Table, ids: torch.Tensor) -> Mapping[int, Pair]:
    """Prompt and answer of the call by row."""
    values = table.batch(ids).values
    columns = [_column(item, values) for item in call.arguments]
    return dict(zip(ids.tolist(), pairs_of(*columns), strict=True))


def data_of(call: typed.ModelCall) -> str:
    """The data set whose texts a call reads; empty where it reads anything else."""
    fields = [item for item in call.arguments if isinstance(item, typed.FieldRef)]
    plain = len(fields) + sum(isinstance(item, typed.Literal) for item in call.arguments) == len(call.arguments)
    names = {item.data for item in fields}
    return next(iter(names)) if plain and len(names) == 1 else ""


def _column(argument: typed.TypedExpression, values: Mapping[str, object]) -> str | Sequence[str]:
    if isinstance(argument, typed.FieldRef):
        column = values[argument.name]
        assert isinstance(column, Sequence)
        return column
    assert isinstance(argument, typed.Literal)
    return str(argument.value)
