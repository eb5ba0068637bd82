"""``flora("Coding-GD")``: agentic workflows, tasks, and which workflow solves which task."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, chain
from pathlib import Path

import torch
from torch import Tensor

from pdual.dsl.diagnostics import Refusal, refuse
from pdual.dsl.typed import TypedField
from pdual.dsl.types import ArrayType, FixedAxis, GraphType, SetAxis
from pdual.packs.workflows.declarations.sources import FLORA_ENCODER, FLORA_SAMPLED, FloraSettings
from pdual.packs.workflows.graphs import GraphStore
from pdual.packs.workflows.sources.embeddings import FILE, embed
from pdual.packs.workflows.sources.files import Found, find_records
from pdual.packs.workflows.sources.records import Graph, Records, read_records
from pdual.packs.workflows.sources.table import FIELDS, PairTable
from pdual.runtime.data.context import SourceContext
from pdual.runtime.data.limits import limits_of, rows_named


def build(settings: FloraSettings, context: SourceContext) -> PairTable:
    """The pairs of a domain in the order of its files: train, val, test.

    Raises what ``find_records``, ``read_records`` and ``embed`` raise, PD544 (a vector is declared with another width) and
    PD535 (an embedding is outside the declared range).
    """
    found = find_records(settings.domain, context)
    records = read_records(found, context.span)
    _warn(settings, found, records, context)
    # Embeddings beside the records are those of the usual encoder; whoever names another one wants that.
    given = found.folder / FILE if settings.encoder == FLORA_ENCODER else None
    local = context.folder / Path(settings.encoder).expanduser()
    encoder = str(local) if local.is_dir() else settings.encoder
    embeddings = torch.from_numpy(embed(records.texts, encoder, given, context))
    question = torch.tensor(records.question)
    for field in context.fields.values():
        _check(field, embeddings, question, found, context)
    content = hashlib.sha256(embeddings.numpy().tobytes()).hexdigest()[:12]
    table = PairTable(
        embeddings,
        graph_store(records.graphs),
        torch.tensor(records.graph),
        question,
        torch.tensor(records.workflow),
        torch.tensor(records.task),
        torch.tensor(records.solved),
        _splits(records.sizes),
        f"flora/{found.name}/{records.digest}/{content}",
        {field.name: field.column or field.name for field in context.fields.values()}
        or {name: name for name in FIELDS},
    )
    table = table if settings.limit is None else table.limited(settings.limit)
    return table.with_flips(settings.flip, settings.seed) if settings.flip else table


def build_sample(settings: FloraSettings, context: SourceContext) -> PairTable:
    """The pairs that ship with pdual, with their embeddings."""
    table = build(settings, replace(context, file=Path(__file__).parent.parent / "samples" / "flora" / FLORA_SAMPLED))
    return replace(table, fingerprint=f"sample/{table.fingerprint}")


def graph_store(graphs: Sequence[Graph]) -> GraphStore:
    """Graphs of texts side by side."""
    members = torch.tensor(list(chain.from_iterable(nodes for nodes, _ in graphs)), dtype=torch.int64)
    edges = torch.tensor(list(chain.from_iterable(edges for _, edges in graphs)), dtype=torch.int64)
    return GraphStore(
        members,
        _offsets([len(nodes) for nodes, _ in graphs]),
        edges.reshape(-1, 2).T.contiguous(),
        _offsets([len(edges) for _, edges in graphs]),
    )


def _offsets(lengths: Sequence[int]) -> Tensor:
    return torch.tensor([0, *accumulate(lengths)])


def _splits(sizes: Mapping[str, int]) -> Mapping[str, Tensor]:
    ends = accumulate(sizes.values())
    return {name: torch.arange(end - size, end) for (name, size), end in zip(sizes.items(), ends, strict=True) if size}


def _warn(settings: FloraSettings, spec_file: Found, records: Records, context: SourceContext) -> None:
    """What is legal and not what one expects."""
    said: list[str] = []
    if spec_file.name != settings.domain:
        said.append(f"`{settings.domain}` was asked for, the rows are those of {spec_file.name}")
    if records.dropped:
        said.append(f"{records.dropped} records of {spec_file.name} have no nodes and are left out")
    if records.unread:
        said.append(f"keys of {spec_file.name} that are not read: {', '.join(records.unread)}")
    texts = Counter(task for task, _ in set(zip(records.task, records.question, strict=True)))
    several = sum(count > 1 for count in texts.values())
    if several:
        said.append(f"{several} task ids of {spec_file.name} stand for several texts each")
    for line in said:
        context.progress.advance(0, f"warning: {line}")


def _check(field: TypedField, embeddings: Tensor, question: Tensor, spec_file: Found, context: SourceContext) -> None:
    """Hold a declared vector to the embeddings: its width, and its range where it has one."""
    arrays = [array for _, array in field.type.fields] if isinstance(field.type, GraphType) else [field.type]
    for array in arrays:
        declared = _width(array, context)
        if declared is not None and declared != embeddings.shape[1]:
            raise refuse("PD544", field.span, field=field.name, declared=declared, found=embeddings.shape[1])
    if field.low is not None or field.high is not None:
        outside = torch.zeros(len(embeddings), dtype=torch.bool)
        for limit, worse in ((field.low, torch.lt), (field.high, torch.gt)):
            if limit is not None:
                outside |= worse(embeddings, limit).any(1)
        rows = outside.index_select(0, question).nonzero().flatten()
        if len(rows):
            raise _outside(field, rows, len(question), spec_file)


def _outside(field: TypedField, rows: Tensor, total: int, spec_file: Found) -> Refusal:
    return refuse(
        "PD535", field.span, field=field.name, expected=f"numbers {limits_of(field)}", found="others",
        rows=rows_named(rows.tolist()), count=len(rows), total=total, file=spec_file.folder,
    )  # fmt: skip


def _width(array: ArrayType, context: SourceContext) -> int | None:
    for axis in array.axes:
        if isinstance(axis, SetAxis) and axis.set in context.sets:
            return len(context.sets[axis.set])
        if isinstance(axis, FixedAxis):
            return axis.size
    return None
