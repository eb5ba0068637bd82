"""From IR to a problem that can be solved: rows are loaded, models built, programs assembled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import torch
from torch import nn

from pdual.compiler.assemble import assemble, average_plan, data_free_terms
from pdual.compiler.compile import used_data
from pdual.compiler.graph import Graph
from pdual.compiler.open_axes import called_signature, calls_of, is_closed
from pdual.compiler.program import Program
from pdual.dsl import typed
from pdual.dsl.catalogue import CATALOGUE
from pdual.dsl.declarations.known import Known
from pdual.dsl.declarations.registry import sources
from pdual.dsl.declarations.source import BOUND_NAME
from pdual.dsl.diagnostics import Refusal, refuse
from pdual.dsl.extensions import named
from pdual.runtime.data.context import SourceContext
from pdual.runtime.data.groups import GroupTable, group_codes
from pdual.runtime.data.split_groups import kept_together
from pdual.runtime.data.tables import Table
from pdual.runtime.models.build import build_model
from pdual.runtime.models.called_rows import calls_on_rows
from pdual.runtime.models.interface import as_model
from pdual.runtime.problem.anchor import settle
from pdual.runtime.problem.problem import Block, Problem
from pdual.runtime.problem.samples import missing_of


def load_tables(spec: typed.TypedSpec, knowns: Mapping[str, Known], context: SourceContext) -> Mapping[str, Table]:
    """The rows of every data set that a block ranges over or a constraint averages over."""
    used = used_data(spec)
    return {data.name: _table(spec, data, knowns, context) for data in spec.data if data.name in used}


def _table(spec: typed.TypedSpec, data: typed.TypedData, knowns: Mapping[str, Known], context: SourceContext) -> Table:
    declaration = sources()[data.source or BOUND_NAME]
    own = replace(
        context,
        name=data.name,
        span=data.span,
        knowns=knowns,
        fields={item.name: item for item in data.fields},
        sets={item.name: item.labels for item in spec.sets if item.labels is not None},
        grouped_by=kept_together(spec, data),
        file=context.files.get(data.name),
    )
    if data.name in context.samples:
        assert declaration.sample is not None
        table: Table = named(declaration.sample.builder)(data.settings, own)
    else:
        table = _whole(data, declaration.builder, own)
    return table.limited(context.limit) if context.limit is not None else table


def _whole(data: typed.TypedData, builder: str, context: SourceContext) -> Table:
    """The rows of a source. What is not there is refused with a word about the sample, where one could stand in."""
    try:
        table: Table = named(builder)(data.settings, context)
    except Refusal as refusal:
        sample = missing_of(data, context)
        if sample is None or not all(CATALOGUE[item.code].offers_sample for item in refusal.diagnostics):
            raise
        told = [replace(item, facts=(*item.facts, ("sample", sample.words))) for item in refusal.diagnostics]
        raise Refusal(told, refusal.source) from None
    return table


def read_rows(graph: Graph, tables: Mapping[str, Table], models: nn.ModuleDict) -> None:
    """Have models check the rows of these tables that they are called on. Raises what ``Model.read_rows`` raises."""
    for called in calls_on_rows(graph, tables):
        as_model(models[called.call.model]).read_rows(called)


def prepare(graph: Graph, tables: Mapping[str, Table], dtype: torch.dtype, given: Mapping[str, nn.Module]) -> Problem:
    """The problem of a lowered spec over loaded rows; ``given`` are the models that come from Python."""
    models = build_models(graph, tables, given)
    settle(graph, tables, models)
    copy_frozen(graph, models)
    models = models.to(dtype)
    read_rows(graph, tables, models)
    programs = assemble(graph, models, dtype)
    return Problem(
        name=graph.spec.name,
        blocks=tuple(_block(program, table_of(program, tables)) for program in programs),
        models=models,
        settings=graph.spec.solve,
        terms=data_free_terms(graph, models, dtype),
        sizes=graph.sizes,
        knowns=graph.knowns,
        averages=average_plan(graph),
    )


def _block(program: Program, table: Table) -> Block:
    """A program and its rows, which are numbered by their groups where the program is over groups."""
    if program.grouped_by is None:
        return Block(program, table)
    ids = torch.cat(list(table.splits.values())).sort().values
    groups = torch.zeros(int(ids.max()) + 1, dtype=torch.long)
    groups[ids] = group_codes(table, ids, program.grouped_by)[0]
    return Block(program, table, groups)


def table_of(program: Program, tables: Mapping[str, Table]) -> Table:
    """What a program is over: the rows of a data set, or groups of them."""
    table = tables[program.of]
    return table if program.grouping is None else GroupTable.of(table, program.grouping)


def build_models(graph: Graph, tables: Mapping[str, Table], given: Mapping[str, nn.Module]) -> nn.ModuleDict:
    """Every model of the spec by name."""
    rows = max((_places(table) for table in tables.values()), default=0)
    models = nn.ModuleDict()
    widths: dict[str, int] = {}
    called = {call.model for call in calls_of(graph.spec)}
    # One that nothing calls, which PD115 warned of, may be as wide as nothing tells.
    own = [
        model
        for model in graph.spec.models
        if model.frozen_of is None and (model.name in called or is_closed(model.signature))
    ]
    # Some are as wide as the features of others, which only those tell once they are there.
    for model in sorted(own, key=lambda item: not is_closed(called_signature(item, graph.spec))):
        if model.architecture is None:
            if model.name not in given:
                raise refuse("PD610", model.span, model=model.name)
            models[model.name] = given[model.name]
        else:
            signature = called_signature(model, graph.spec, widths)
            models[model.name] = build_model(model.architecture, signature, graph.sizes, graph.knowns, rows, model.span)
        if (width := as_model(models[model.name]).feature_width) is not None:
            copies = (item.name for item in graph.spec.models if item.frozen_of == model.name)
            widths |= dict.fromkeys((model.name, *copies), width)
    copy_frozen(graph, models)
    return models


def _places(table: Table) -> int:
    """One more than the last position of a row: rows that a limit leaves out keep theirs."""
    return max((int(ids.max()) + 1 for ids in table.splits.values() if len(ids)), default=0)


def copy_frozen(graph: Graph, models: nn.ModuleDict) -> None:
    """A frozen model is a copy of the other's initial weights that never trains; a model that has ``frozen()`` makes its own."""
    for model in graph.spec.models:
        if model.frozen_of is not None:
            models[model.name] = as_model(models[model.frozen_of]).frozen()
