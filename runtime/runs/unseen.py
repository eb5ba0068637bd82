"""Rows that a run never saw: what its models predict for them, and what multipliers it gives them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from pdual.compiler.graph import DataGraph, Graph
from pdual.compiler.ir import Node, topological
from pdual.compiler.program import Evaluation
from pdual.dsl import typed
from pdual.dsl.declarations.registry import answers_by_row, sources
from pdual.dsl.declarations.signature import part_names
from pdual.dsl.diagnostics import refuse
from pdual.dsl.extensions import named
from pdual.dsl.types import TEXT, ArrayType, FixedAxis, Kind, MemberOf, SetAxis
from pdual.runtime.data.context import SourceContext
from pdual.runtime.data.standards import Standard, standardised
from pdual.runtime.data.tables import ColumnTable, Ragged, Table, joined, with_groups
from pdual.runtime.models.interface import as_model
from pdual.runtime.sources.table import read_fields
from pdual.runtime.training.run import Run
from pdual.runtime.training.training_sets import TrainingSet


@dataclass(frozen=True)
class Unseen:
    """``outputs`` of the models by ``model`` or ``model.part``: [n, *axes], ragged where their length differs from row to row, none
    where multipliers were asked for; ``multipliers`` [n, columns], scaled, 0 where an entry is masked, else None; ``residuals``
    [n, columns], scaled, None where the rows lack a field of a constraint.
    """

    table: Table
    ids: Tensor
    outputs: Mapping[str, Tensor | Ragged]
    multipliers: Tensor | None
    residuals: Tensor | None


def prediction_fields(data: DataGraph) -> set[str]:
    """The fields, by part, that models of the spec read in this data set's blocks."""
    calls = [node for node in topological(data.roots) if node.operation == "call"]
    return _fields(argument for call in calls for argument in call.arguments)


def multiplier_fields(data: DataGraph) -> set[str]:
    """The fields, by part, that multipliers depend on, and whether an entry is there at all."""
    masks = [part.mask for part in data.parts if part.mask is not None]
    return value_fields(data) | _fields(masks)


def text_fields(data: DataGraph, own: typed.TypedData) -> set[str]:
    """The texts that models read: none can be left out, nothing stands for a text."""
    return prediction_fields(data) & {item.name for item in own.fields if item.type == TEXT}


def value_fields(data: DataGraph) -> set[str]:
    """The fields, by part, that the values of multipliers depend on."""
    formulas = [formula.value for choice in data.duals for formula in choice.formulas]
    return _fields([*data.features.values(), *formulas])


def constraint_fields(data: DataGraph) -> set[str]:
    """The fields, by part, that constraints read."""
    return _fields(
        [*(part.residual for part in data.parts), *(part.mask for part in data.parts if part.mask is not None)]
    )


def _fields(roots: Iterable[Node]) -> set[str]:
    found = set()
    for node in topological(roots):
        if node.operation == "field":
            _, name, component = node.field
            found.add(f"{name}.{component}" if component else name)
    return found


def standards_of(table: Table) -> Mapping[str, Standard]:
    """By what fields of a table were standardised."""
    return table.standards if isinstance(table, ColumnTable) else {}


def read_unseen(
    graph: Graph,
    data: typed.TypedData,
    file: Path,
    needed: set[str],
    context: SourceContext,
    standards: Mapping[str, Standard],
) -> Table:
    """The rows of a file: ``needed`` fields have to be there, others are read where they are; ``standards``: of the run's train rows.

    Columns as a table's (``--data`` of rows that are bound); what no column can hold, such as a graph, is read by the data
    set's own source. Raises PD53x, PD547.
    """
    own = replace(
        context,
        name=data.name,
        span=data.span,
        knowns=graph.knowns,
        fields={item.name: item for item in data.fields},
        sets={name: tuple(labels) for name, labels in graph.labels.items()},
        file=file,
        files={data.name: file},
    )
    if all(isinstance(item.type, ArrayType) for item in data.fields) or data.source is None:
        wanted = {name for name in own.fields if _parts(own.fields[name]) & needed}
        found, texts, called = read_fields(own, file, wanted, standards)
        columns = standardised(found, own.fields, standards, file)
        ids = torch.arange(len(next(iter((*columns.values(), *texts.values())))))
        return ColumnTable(columns, {"new": ids}, str(file), texts=texts, called=called)
    table: Table = named(sources()[data.source].builder)(data.settings, own)
    return table


def _parts(field: typed.TypedField) -> set[str]:
    return set(part_names(field.name, field.type)) if isinstance(field.type, ArrayType) else {field.name}


@torch.no_grad()
def look(run: Run, graph: Graph, training_set: TrainingSet, table: Table, multipliers: bool) -> Unseen:
    """One pass over all rows of a table. Fields that it lacks are 0, and nothing that is returned depends on them.

    Raises PD730 where multipliers are asked for and those of some part are no function of the row, PD732 where a model has
    no prediction for a new row.
    """
    _check_models(graph)
    if multipliers:
        check_multipliers(training_set)
    data = graph.over(training_set.name)
    own = graph.spec.data_set(training_set.name)
    device, dtype = training_set.train_ids.device, run.options.placement.dtype
    has = _held(table)
    placed = _completed(table, own, graph).to(device, dtype)
    ids = torch.cat(list(placed.splits.values())).sort().values
    outputs: dict[str, list[Tensor | Ragged]] = {}
    read, residuals = [], []
    models: Mapping[str, nn.Module] = {} if multipliers else dict(run.problem.models.items())
    heard: dict[str, list[Tensor | Ragged]] = {}
    hooks = [_listen(name, model, heard) for name, model in models.items()]
    try:
        for piece in torch.split(ids, training_set.evaluation_batch):
            rows = with_groups(placed.batch(piece), [len(piece)])
            found = Evaluation(*training_set.program.evaluate(rows.values, rows.ids))
            _keep(heard, len(piece), outputs)
            residuals.append(found.residuals)
            if multipliers:
                values = training_set.multipliers.read(rows.ids, found.features, rows.values, seen=False)
                spread = training_set.multipliers.spread(values)
                read.append(spread if found.mask is None else torch.where(found.mask, spread, 0.0))
    finally:
        for hook in hooks:
            hook.remove()
    whole = has is None or constraint_fields(data) <= has
    return Unseen(
        table,
        ids.cpu(),
        {name: _whole(pieces).cpu() for name, pieces in outputs.items()},
        torch.cat(read) if multipliers else None,
        torch.cat(residuals) if whole else None,
    )


def _listen(name: str, model: nn.Module, heard: dict[str, list[Tensor | Ragged]]) -> RemovableHandle:
    """Keep what a model returns, under its name and its parts' names; what it says of every word is left out."""
    wide = as_model(model).wide

    def keep(module: nn.Module, inputs: Any, found: Any) -> None:
        for part in found.outputs:
            if part not in wide:
                heard.setdefault(f"{name}.{part}" if part else name, []).append(found.outputs[part])

    return model.register_forward_hook(keep)


def _keep(heard: dict[str, list[Tensor | Ragged]], rows: int, outputs: dict[str, list[Tensor | Ragged]]) -> None:
    """What was heard of one batch, call by call: the second call of a model is ``f (2)``. What is the same on every row is said of each."""
    for name, calls in heard.items():
        for number, said in enumerate(calls, 1):
            if isinstance(said, Tensor) and len(said) != rows:
                said = said.expand(rows, *said.shape[1:])
            outputs.setdefault(name if number == 1 else f"{name} ({number})", []).append(said)
    heard.clear()


def _whole(pieces: Sequence[Tensor | Ragged]) -> Tensor | Ragged:
    ragged = [piece for piece in pieces if isinstance(piece, Ragged)]
    return joined(ragged) if ragged else torch.cat([piece for piece in pieces if isinstance(piece, Tensor)])


def _check_models(graph: Graph) -> None:
    for model in graph.spec.models:
        if answers_by_row(model.architecture, model.signature):
            raise refuse("PD732", model=model.name)


def check_multipliers(training_set: TrainingSet) -> None:
    """PD730 where those of some part are no function of the row."""
    for plan, kind in zip(training_set.multipliers.plans, training_set.multipliers.kinds, strict=True):
        if not kind.generalises:
            raise refuse("PD730", parts=", ".join(f"`{name}`" for name in plan.parts), kind=plan.kind)


def _held(table: Table) -> set[str] | None:
    """The fields that a table of columns has; None: all."""
    return {*table.columns, *table.texts} if isinstance(table, ColumnTable) else None


def _completed(table: Table, data: typed.TypedData, graph: Graph) -> Table:
    """The table with 0 in the fields that it lacks."""
    if not isinstance(table, ColumnTable):
        return table
    columns = dict(table.columns)
    for field in data.fields:
        assert isinstance(field.type, ArrayType)
        for part in part_names(field.name, field.type):
            if part not in columns:
                columns[part] = torch.zeros(len(table), *column_shape(field.type, graph), dtype=column_kind(field.type))
    return replace(table, columns=columns)


def column_shape(kind: ArrayType, graph: Graph) -> list[int]:
    """The sizes of a field's axes."""
    sizes = []
    for axis in kind.axes:
        if isinstance(axis, SetAxis):
            sizes.append(graph.sizes[axis.set])
        elif isinstance(axis, FixedAxis):
            sizes.append(axis.size)
    return sizes


def column_kind(kind: ArrayType) -> torch.dtype:
    """What a column of a field holds; float64 stands for the run's precision."""
    if isinstance(kind.element, MemberOf) or kind.element in (Kind.INT, Kind.ID):
        return torch.int64
    return torch.bool if kind.element is Kind.BOOL else torch.float64
