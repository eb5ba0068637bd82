"""Real rows filled in: every constraint on the first train row, with its two sides at the untrained models.

Values are the reference interpreter's, in double precision; models are run as a run starts with them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from pdual.compiler.graph import DataGraph, Graph
from pdual.compiler.interpreter import (
    Environment,
    EvaluationError,
    GroupValues,
    RowEntry,
    RowValues,
    Value,
    average_of,
    rows_of,
)
from pdual.compiler.interpreter_scope import frozen
from pdual.compiler.layout import PartLayout, Sense
from pdual.dsl import typed
from pdual.dsl.declarations.signature import part_names
from pdual.dsl.types import ArrayType, Kind, RecordType
from pdual.runtime.data.context import SourceContext
from pdual.runtime.data.groups import GroupTable, rows_in
from pdual.runtime.data.tables import Table
from pdual.runtime.problem.prepare import load_tables, prepare
from pdual.runtime.storage.records import TOLERANCE

#: Rows that are loaded of each split; the first is shown, and averages are over all of them. Groups are of more.
_LOADED, _IN_GROUPS = 8, 1000
_UNSHOWN = "texts and graphs are not shown"


class Instance(NamedTuple):
    """One entry of one part on one row, in the problem's units: ``left relation right``, violated by ``scaled`` of its scale."""

    part: str
    address: str
    left: float
    relation: str
    right: float
    scaled: float
    violated: bool
    masked: bool


class Instances(NamedTuple):
    """A row of a data set, or a group of so many ``rows``; ``skipped`` says why nothing is shown. Of a constraint on averages
    (``average``) it is over so many train rows of each data set that it reads.
    """

    data: str
    row: str
    entries: tuple[Instance, ...]
    skipped: str | None = None
    average: str | None = None
    rows: int | None = None

    @property
    def title(self) -> str:
        """What is shown, in words."""
        if self.average is None:
            of = "" if self.rows is None else f" of {self.rows} row{'s' * (self.rows != 1)}"
            return f"{self.data}[{self.row}]{of}"
        return f"{self.average}, an average over the first {self.rows} train rows of {self.data}"

    def as_json(self) -> dict[str, Any]:
        """As JSON data."""
        return {**self._asdict(), "entries": [item._asdict() for item in self.entries]}


def instances(graph: Graph, count: int, context: SourceContext, seed: int = 0) -> tuple[Instances, ...]:
    """The first ``count`` entries of every part, on the first train row of each data set, and every constraint on averages over
    the first train rows. Raises a Refusal for wrong data.
    """
    torch.manual_seed(seed)
    loaded = _IN_GROUPS if any(data.grouping for data in graph.data) else _LOADED
    tables = load_tables(graph.spec, graph.knowns, replace(context, limit=loaded))
    problem = prepare(graph, tables, torch.float64, {})
    problem.models.eval()
    environment = Environment(graph.spec.param_values, graph.knowns, {k: tuple(v) for k, v in graph.labels.items()})
    found = []
    for data in graph.data:
        table = tables[data.of]
        if data.grouping is not None:
            table = GroupTable.of(table, data.grouping)
        ids = table.splits["train"][:1]
        row, values = table.address(int(ids[0])), _unit(graph.spec, data.of, table, ids, problem.models)
        if values is None:
            found.append(Instances(data.data, row, (), _UNSHOWN))
            continue
        try:
            entries = tuple(_entries(graph.spec, data, count, row, environment, values))
        except EvaluationError as error:
            found.append(Instances(data.data, row, (), str(error)))
            continue
        found.append(Instances(data.data, row, entries, rows=rows_in(table, ids) if data.grouping else None))
    found += [_averaged(graph, average, tables, problem.models, environment) for average in graph.spec.averages]
    return tuple(found)


def _averaged(
    graph: Graph,
    average: typed.TypedAverage,
    tables: Mapping[str, Table],
    models: nn.ModuleDict,
    environment: Environment,
) -> Instances:
    """A constraint on averages over the rows that were loaded."""
    shown: dict[str, list[RowValues]] = {}
    names, count = ", ".join(average.data), min(_LOADED, *(len(tables[data].splits["train"]) for data in average.data))
    for data in average.data:
        rows = [
            _row(graph.spec, data, tables[data], ids, models)
            for ids in torch.split(tables[data].splits["train"][:count], 1)
        ]
        shown[data] = [row for row in rows if row is not None]
        if len(shown[data]) < count:
            return Instances(names, "", (), _UNSHOWN, average.name, count)
    try:
        known = {entry.part: entry for entry in average_of(average, environment, shown)}
    except EvaluationError as error:
        return Instances(names, "", (), str(error), average.name, count)
    layouts = [part.layout for part in graph.averages.parts if part.layout.family == average.name]
    entries = tuple(_instance(layout, 0, layout.name, known[layout.part]) for layout in layouts)
    return Instances(names, "", entries, None, average.name, count)


def _unit(
    spec: typed.TypedSpec, data: str, table: Table, ids: Tensor, models: nn.ModuleDict
) -> RowValues | GroupValues | None:
    """One row, or one group, as the interpreter reads it; None where a row has a field that is no tensor."""
    if not isinstance(table, GroupTable):
        return _row(spec, data, table, ids, models)
    rows = [_row(spec, data, table.table, one, models) for one in torch.split(table.rows[int(ids[0])], 1)]
    known = [row for row in rows if row is not None]
    # What a row of a group calls, the group may call too: none of these models tells rows apart by their position.
    return GroupValues(known, _Called(spec, models, table.rows[int(ids[0])][:1])) if len(known) == len(rows) else None


def _row(spec: typed.TypedSpec, data: str, table: Table, ids: Tensor, models: nn.ModuleDict) -> RowValues | None:
    """One row as the interpreter reads it; None where it has a field that is no tensor."""
    fields = _fields(spec, data, table.batch(ids).values)
    return None if fields is None else RowValues(fields, _Called(spec, models, ids))


def lines_of(instances: tuple[Instances, ...]) -> list[str]:
    """For people: a block for each part, a line for each entry, INFES where it is violated."""
    lines: list[str] = []
    for item in instances:
        lines += [*([""] if lines else []), f"{item.title}, models untrained"]
        if item.skipped is not None:
            lines.append(f"  {item.skipped}")
        part = None
        width = max((len(entry.address) for entry in item.entries), default=0)
        for entry in item.entries:
            if entry.part != part:
                lines += ["", f"  {entry.part}"]
                part = entry.part
            sides = f"{entry.left:>12.6g} {entry.relation} {entry.right:<12.6g}"
            mark = f"INFES {abs(entry.left - entry.right):.4g}, {entry.scaled:.4g} scaled" if entry.violated else ""
            lines.append(
                f"    {entry.address:<{width}}  {'switched off on this row' if entry.masked else sides}  {mark}".rstrip()
            )
    return lines


def _entries(
    spec: typed.TypedSpec,
    data: DataGraph,
    count: int,
    row: str,
    environment: Environment,
    values: RowValues | GroupValues,
) -> Iterator[Instance]:
    families = {family.name: family for block in spec.blocks for family in block.families}
    rows: dict[str, list[RowEntry]] = {}
    for rows_of_part in data.parts:
        layout = rows_of_part.layout
        family = families[layout.family]
        if family.name not in rows:
            rows[family.name] = rows_of(family, environment, values)
        known = {entry.members: entry for entry in rows[family.name] if entry.part == layout.part}
        for place, members in enumerate(layout.members[:count]):
            address = ", ".join(filter(None, (row, layout.addresses[place])))
            yield _instance(layout, place, f"{layout.name}[{address}]", known[members])


def _instance(layout: PartLayout, place: int, address: str, entry: RowEntry) -> Instance:
    scaled = (abs(entry.residual) if layout.sense is Sense.EQUAL else entry.residual) / layout.scale[place]
    return Instance(
        part=layout.name,
        address=address,
        left=entry.left,
        relation="==" if layout.sense is Sense.EQUAL else "<=",
        right=entry.right,
        scaled=scaled,
        violated=not entry.masked and scaled > TOLERANCE,
        masked=entry.masked,
    )


def _fields(spec: typed.TypedSpec, data: str, values: Mapping[str, object]) -> dict[str, Value] | None:
    """The fields of a batch of one row as nested lists; None where one is no tensor."""
    declared = spec.data_set(data)
    found: dict[str, Value] = {}
    for field in declared.fields:
        if not isinstance(field.type, ArrayType):
            return None
        parts = [values.get(name) for name in part_names(field.name, field.type)]
        tensors = [part for part in parts if isinstance(part, Tensor)]
        if len(tensors) < len(parts):
            return None
        found[field.name] = _joined(tensors).squeeze(0).tolist()
    return found


def _joined(parts: list[Tensor]) -> Tensor:
    return torch.complex(*(part.double() for part in parts)) if len(parts) == 2 else parts[0]


class _Called:
    """Models as the interpreter calls them; a call that was made is not made again."""

    def __init__(self, spec: typed.TypedSpec, models: nn.ModuleDict, ids: Tensor) -> None:
        self._signatures = {model.name: model for model in spec.models}
        self._modules = models
        self._ids = ids
        self._made: dict[Any, Value] = {}

    def __call__(self, model: str, arguments: tuple[Value, ...]) -> Value:
        key = (model, frozen(arguments))
        if key not in self._made:
            self._made[key] = self._output(model, arguments)
        return self._made[key]

    @torch.no_grad()
    def _output(self, name: str, arguments: tuple[Value, ...]) -> Value:
        model = self._signatures[name]
        inputs: dict[str, Tensor] = {"@row": self._ids}
        for (argument, kind), value in zip(model.signature.inputs, arguments, strict=True):
            assert isinstance(kind, ArrayType)
            tensor = torch.tensor([value], dtype=_DTYPES.get(kind.element))  # type: ignore[arg-type]
            names = part_names(argument, kind)
            inputs |= dict(zip(names, (tensor.real, tensor.imag) if len(names) == 2 else (tensor,), strict=True))
        outputs = self._modules[name](inputs).outputs
        found = {
            output.name: _joined([outputs[part] for part in part_names(output.name, output.type)]).squeeze(0).tolist()
            for output in model.signature.outputs
        }
        return found if isinstance(model.output, RecordType) else found[model.signature.outputs[0].name]


_DTYPES = {Kind.REAL: torch.float64, Kind.COMPLEX: torch.complex128, Kind.BOOL: torch.bool}
