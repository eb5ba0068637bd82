"""What declared ranges say of the rows that were loaded: constraints that a row can never meet, or never violate, before anything is trained."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from pdual.compiler.compile import make_walk
from pdual.compiler.graph import DataGraph, Graph
from pdual.compiler.ir import Node
from pdual.compiler.row_ranges import facts
from pdual.compiler.rows import PartRows
from pdual.compiler.walk import Walk
from pdual.dsl.diagnostics import Diagnostic, diagnostic
from pdual.dsl.spans import NOWHERE
from pdual.runtime.data import Table

#: Rows that are looked at together.
_CHUNK = 4096
#: Addresses that are told.
_TOLD = 5


class PartOnRows(NamedTuple):
    """One part on all rows of a data set, of every split; ``live``, ``never`` and ``always`` are numbers of entries, summed over rows.

    ``rows``: the addresses of the rows with an entry that can never hold, in the order of the data.
    """

    data: str
    family: str
    part: str
    total: int
    live: int
    never: int
    always: int
    rows: tuple[str, ...]


def facts_of_rows(graph: Graph, tables: Mapping[str, Table]) -> tuple[PartOnRows, ...]:
    """Every part that is a constraint on rows, not on groups of them."""
    walk = make_walk(graph.spec, graph.knowns, graph.sizes)
    return tuple(
        _on_rows(data, part, walk, tables[data.of])
        for data in graph.data
        if data.grouping is None
        for part in data.parts
    )


def impossible_rows(graph: Graph, tables: Mapping[str, Table]) -> tuple[Diagnostic, ...]:
    """A warning (PD305) for every constraint that some rows can never meet; of all rows alike PD302 has told."""
    walk = make_walk(graph.spec, graph.knowns, graph.sizes)
    spans = {family.name: family.span for block in graph.spec.blocks for family in block.families}
    found: dict[str, list[PartOnRows]] = {}
    for data in graph.data:
        for part in data.parts if data.grouping is None else ():
            if any(True for _ in fields_read(part)):
                told = _on_rows(data, part, walk, tables[data.of])
                if told.rows:
                    found.setdefault(told.family, []).append(told)
    return tuple(_warning(name, parts, spans.get(name, NOWHERE)) for name, parts in found.items())


def _warning(family: str, parts: Sequence[PartOnRows], span: Any) -> Diagnostic:
    rows = tuple(dict.fromkeys(row for part in parts for row in part.rows))
    return diagnostic(
        "PD305",
        span,
        family=family,
        data=parts[0].data,
        count=f"{len(rows):,}",
        total=f"{parts[0].total:,}",
        rows=", ".join(rows[:_TOLD]) + (", ..." if len(rows) > _TOLD else ""),
    )


def fields_read(part: PartRows) -> Iterator[str]:
    """The fields of the row that a part reads itself, not through a model; a complex one by component."""
    seen: set[int] = set()
    left: list[Node] = [part.residual, *([part.mask] if part.mask is not None else [])]
    while left:
        node = left.pop()
        if node.identity in seen or node.operation in ("call", "features", "average"):
            continue
        seen.add(node.identity)
        if node.operation == "field":
            _, name, component = node.attributes
            yield f"{name}.{component}" if component else str(name)
        left.extend(node.arguments)


def _on_rows(data: DataGraph, part: PartRows, walk: Walk, table: Table) -> PartOnRows:
    names = set(fields_read(part))
    ids = torch.from_numpy(np.unique(np.concatenate([split.numpy() for split in table.splits.values()])))
    live = never = always = 0
    rows: list[str] = []
    for start in range(0, len(ids), _CHUNK):
        chunk = ids[start : start + _CHUNK]
        values = columns(table.batch(chunk).values, names) if names else {}
        found = facts(part, walk, values, len(chunk))
        live, never, always = (
            live + int(found.live.sum()),
            never + int(found.never.sum()),
            always + int(found.always.sum()),
        )
        rows += [table.address(int(chunk[place])) for place in np.flatnonzero(found.never.any(1)).tolist()]
    layout = part.layout
    return PartOnRows(data.data, layout.family, layout.name, len(ids), live, never, always, tuple(rows))


def columns(values: Mapping[str, object], names: Iterable[str]) -> dict[str, NDArray[Any]]:
    """Those of the named fields of a batch that hold numbers."""
    return {
        name: column.detach().cpu().numpy() for name in names if isinstance(column := values.get(name), torch.Tensor)
    }
