"""What declared ranges say of the rows that were loaded: constraints that a row can never meet, or never violate, before anything is trained."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from pdual.compiler.compile import interval_analysis
from pdual.compiler.graph import DataGraph, Graph
from pdual.compiler.interval_analysis import IntervalAnalysis
from pdual.compiler.ir import topological
from pdual.compiler.row_ranges import RowWalk
from pdual.compiler.rows import PartRows
from pdual.dsl.declarations.signature import Sizes
from pdual.dsl.diagnostics import Diagnostic, diagnostic
from pdual.dsl.spans import Span
from pdual.dsl.types import Axis, FixedAxis, SetAxis
from pdual.runtime.data.tables import Table

#: Rows that are looked at together, where memory allows.
_CHUNK = 4096
#: Numbers that are found together, or before a run: entries that a row changes, times rows. A second or two.
_LOOKS = 2_000_000
#: Entries that are found before a run whatever the rows are: each costs as much as hundreds of rows do.
_MOST_ENTRIES = 100_000
#: Addresses that are told.
_TOLD = 5


class PartOnRows(NamedTuple):
    """One part on the rows of a data set, of every split; ``live``, ``never`` and ``always`` are numbers of entries, summed over rows.

    ``looked_at`` of the ``total`` rows were, evenly spread. ``rows``: the addresses of those with an entry that can never hold, in the
    order of the data.
    """

    data: str
    family: str
    part: str
    total: int
    looked_at: int
    live: int
    never: int
    always: int
    rows: tuple[str, ...]


def facts_of_rows(graph: Graph, tables: Mapping[str, Table], bounded: bool = False) -> tuple[PartOnRows, ...]:
    """Every part that is a constraint on rows, not on groups of them.

    ``bounded``: a program of many entries is looked at on some rows alone, one of very many on none, so that it takes seconds at most.
    """
    intervals = interval_analysis(graph.spec, graph.knowns, graph.sizes)
    over_rows = [data for data in graph.data if data.grouping is None and data.parts]
    return tuple(item for data in over_rows for item in _on_rows(data, intervals, tables[data.of], bounded))


def impossible_rows(graph: Graph, tables: Mapping[str, Table]) -> tuple[Diagnostic, ...]:
    """A warning (PD305) for every constraint that some rows can never meet; of all rows alike PD302 has told.

    What it costs is bounded: of a large program the rows are a sample.
    """
    spans = {family.name: family.span for block in graph.spec.blocks for family in block.families}
    found: dict[str, list[PartOnRows]] = {}
    for part in facts_of_rows(graph, tables, bounded=True):
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
        total=f"{parts[0].looked_at:,}",
        every=f"{parts[0].total:,}" if parts[0].looked_at < parts[0].total else None,
        rows=", ".join(rows[:_TOLD]) + (", ..." if len(rows) > _TOLD else ""),
    )


def _on_rows(data: DataGraph, intervals: IntervalAnalysis, table: Table, bounded: bool) -> Iterator[PartOnRows]:
    ids = torch.from_numpy(np.unique(np.concatenate([split.numpy() for split in table.splits.values()])))
    total = len(ids)
    entries = max(1, _entries(data.parts, intervals.sizes))
    if bounded:
        looked_at = 0 if entries > _MOST_ENTRIES else min(total, _LOOKS // entries)
        ids = ids[torch.linspace(0, total - 1, looked_at).round().long()] if looked_at < total else ids
    together = max(1, min(_CHUNK, _LOOKS // entries))
    counts = np.zeros((len(data.parts), 3), dtype=np.int64)
    rows: list[list[str]] = [[] for _ in data.parts]
    reads = _entries(data.parts, {}) > 0  # without a field of their own, rows need not be gathered
    for start in range(0, len(ids), together):
        chunk = ids[start : start + together]
        ranges = RowWalk(intervals, columns(table.batch(chunk).values) if reads else {}, len(chunk))
        for place, part in enumerate(data.parts):
            found = ranges.facts(part)
            counts[place] += found.live.sum(), found.never.sum(), found.always.sum()
            rows[place] += [table.address(int(chunk[row])) for row in np.flatnonzero(found.never.any(1)).tolist()]
    for part, (live, never, always), named in zip(data.parts, counts.tolist(), rows, strict=True):
        layout = part.layout
        yield PartOnRows(data.data, layout.family, layout.name, total, len(ids), live, never, always, tuple(named))


def _entries(parts: Sequence[PartRows], sizes: Sizes) -> int:
    """How many numbers of a row the ranges of these parts are made of, at most: those that read its fields, not through a model."""
    roots = [node for part in parts for node in (part.residual, part.mask) if node is not None]

    def _length(axis: Axis) -> int:
        return axis.size if isinstance(axis, FixedAxis) else (isinstance(axis, SetAxis) and sizes.get(axis.set)) or 1

    reads: set[int] = set()
    total = 0
    for node in topological(roots):
        through = node.operation not in ("call", "features", "average")
        if node.operation == "field" or (through and any(one.identity in reads for one in node.arguments)):
            reads.add(node.identity)
            total += prod(sizes.get(axis.set) or 1 for axis in node.axes) * prod(map(_length, node.inner))
    return total


def columns(values: Mapping[str, object]) -> dict[str, NDArray[Any]]:
    """The fields of a batch that hold numbers."""
    return {name: item.detach().cpu().numpy() for name, item in values.items() if isinstance(item, torch.Tensor)}
