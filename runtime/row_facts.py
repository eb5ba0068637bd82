"""What declared ranges say of the rows that were loaded: constraints that a row can never meet, or never violate, before anything is trained."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from pdual.compiler.compile import make_walk
from pdual.compiler.graph import DataGraph, Graph
from pdual.compiler.ir import Node
from pdual.compiler.row_ranges import RowWalk
from pdual.compiler.rows import PartRows
from pdual.compiler.walk import Walk
from pdual.dsl.diagnostics import Diagnostic, diagnostic
from pdual.dsl.spans import Span
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
    over_rows = [data for data in graph.data if data.grouping is None and data.parts]
    return tuple(item for data in over_rows for item in _on_rows(data, walk, tables[data.of]))


def impossible_rows(graph: Graph, tables: Mapping[str, Table]) -> tuple[Diagnostic, ...]:
    """A warning (PD305) for every constraint that some rows can never meet; of all rows alike PD302 has told."""
    spans = {family.name: family.span for block in graph.spec.blocks for family in block.families}
    found: dict[str, list[PartOnRows]] = {}
    for part in facts_of_rows(graph, tables):
        if part.rows:
            found.setdefault(part.family, []).append(part)
    return tuple(_warning(name, parts, spans[name]) for name, parts in found.items())


def _warning(family: str, parts: Sequence[PartOnRows], span: Span) -> Diagnostic:
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


def _on_rows(data: DataGraph, walk: Walk, table: Table) -> Iterator[PartOnRows]:
    ids = torch.from_numpy(np.unique(np.concatenate([split.numpy() for split in table.splits.values()])))
    counts = np.zeros((len(data.parts), 3), dtype=np.int64)
    rows: list[list[str]] = [[] for _ in data.parts]
    reads = any(map(_reads_fields, data.parts))
    for start in range(0, len(ids), _CHUNK):
        chunk = ids[start : start + _CHUNK]
        ranges = RowWalk(walk, columns(table.batch(chunk).values) if reads else {}, len(chunk))
        for place, part in enumerate(data.parts):
            found = ranges.facts(part)
            counts[place] += found.live.sum(), found.never.sum(), found.always.sum()
            rows[place] += [table.address(int(chunk[row])) for row in np.flatnonzero(found.never.any(1)).tolist()]
    for part, (live, never, always), named in zip(data.parts, counts.tolist(), rows, strict=True):
        layout = part.layout
        yield PartOnRows(data.data, layout.family, layout.name, len(ids), live, never, always, tuple(named))


def _reads_fields(part: PartRows) -> bool:
    """Whether a part reads a field of the row itself, not through a model: without one, rows need not be gathered."""
    seen: set[int] = set()
    left: list[Node] = [part.residual, *([part.mask] if part.mask is not None else [])]
    while left:
        node = left.pop()
        if node.operation == "field":
            return True
        if node.identity not in seen and node.operation not in ("call", "features", "average"):
            seen.add(node.identity)
            left.extend(node.arguments)
    return False


def columns(values: Mapping[str, object]) -> dict[str, NDArray[Any]]:
    """The fields of a batch that hold numbers."""
    return {name: item.detach().cpu().numpy() for name, item in values.items() if isinstance(item, torch.Tensor)}
