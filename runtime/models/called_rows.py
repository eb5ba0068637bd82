"""The rows that a spec calls a model on, and the arguments of the call as they stand in the table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from pdual.compiler.graph import Graph
from pdual.compiler.open_axes import calls_of, featured_calls_of
from pdual.dsl import typed
from pdual.runtime.data.tables import Table


@dataclass(frozen=True, slots=True)
class CalledRows:
    """Rows ``ids`` ([n]) of the data set ``data`` and one call of a model on them. ``features``: whether the features of the call are read."""

    call: typed.ModelCall
    data: str
    table: Table
    ids: Tensor
    features: bool

    def columns(self) -> list[str | Sequence[str]]:
        """Of each argument the texts of the rows, or the one text that the spec gives."""
        values = self.table.batch(self.ids).values
        return [_column(item, values) for item in self.call.arguments]


def calls_on_rows(graph: Graph, tables: Mapping[str, Table]) -> Iterator[CalledRows]:
    """Every call whose arguments are fields of rows and literals, with the rows of all splits, each call once."""
    featured = set(featured_calls_of(graph.spec))
    for call in dict.fromkeys(calls_of(graph.spec)):
        data = _data_of(call)
        if data in tables:
            yield CalledRows(call, data, tables[data], torch.cat(list(tables[data].splits.values())), call in featured)


def _data_of(call: typed.ModelCall) -> str:
    """The data set whose fields are the arguments of a call, empty where an argument is computed."""
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
