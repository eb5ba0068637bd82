"""``tofu("forget10")``: questions and answers about 200 invented authors, one split a data set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch

from pdual.dsl.diagnostics import refuse
from pdual.dsl.spans import Span
from pdual.packs.language.declarations.sources import TofuSettings
from pdual.packs.language.sources.files import Finder, Found, find_sampled, find_split, fingerprint
from pdual.packs.language.sources.records import Record, read_records, text_of
from pdual.runtime.data.context import SourceContext
from pdual.runtime.data.tables import ColumnTable

#: What is read where the spec declares no fields.
FIELDS = ("question", "answer")


def build(settings: TofuSettings, context: SourceContext) -> ColumnTable:
    """The texts of a split, all of it ``train``, in the order of its file; a row is called by its line.

    Raises what ``find_split`` and ``read_records`` raise, and PD551 (more rows are asked for than there are).
    """
    return _table(settings, context, find_split)


def build_sample(settings: TofuSettings, context: SourceContext) -> ColumnTable:
    """The rows of a split that ship with pdual, at most as many as are asked for."""
    kept = kept_records(find_sampled(settings.split, context), settings, context, find_sampled)
    rows = None if settings.rows is None else min(settings.rows, len(kept))
    table = _table(settings.model_copy(update={"rows": rows}), context, find_sampled)
    return replace(table, fingerprint=f"sample/{table.fingerprint}")


def _table(settings: TofuSettings, context: SourceContext, find: Finder) -> ColumnTable:
    found = find(settings.split, context)
    kept = kept_records(found, settings, context, find)
    names = {item.name: item.column or item.name for item in context.fields.values()} or {key: key for key in FIELDS}
    texts = {
        name: [text_of(record, line, key, found, context.span) for line, record in kept] for name, key in names.items()
    }
    ids = torch.arange(len(kept))
    if settings.rows is not None:
        if settings.rows > len(kept):
            raise refuse("PD551", context.span, split=settings.split, asked=settings.rows, found=len(kept))
        random = torch.Generator().manual_seed(settings.seed)
        ids = torch.randperm(len(kept), generator=random)[: settings.rows].sort().values
    mark = f"tofu/{fingerprint(found)}/rows={settings.rows},seed={settings.seed},without={settings.without}"
    labels = [f"line {line}" for line, _ in kept]
    return ColumnTable({}, {"train": ids}, mark, labels=labels, texts=texts)


def kept_records(
    spec_file: Found, settings: TofuSettings, context: SourceContext, find: Finder = find_split
) -> Sequence[tuple[int, Record]]:
    """The records of a split with their lines, without those that another split has too."""
    records = read_records(spec_file, context.span)
    if not settings.without:
        return records
    other = find(settings.without, replace(context, file=None))
    left_out = {_pair(record, line, other, context.span) for line, record in read_records(other, context.span)}
    kept = [(line, record) for line, record in records if _pair(record, line, spec_file, context.span) not in left_out]
    if not kept:
        raise refuse("PD551", context.span, split=f"{settings.split} without {settings.without}", asked=1, found=0)
    return kept


def _pair(record: Record, line: int, spec_file: Found, span: Span) -> tuple[str, str]:
    question, answer = (text_of(record, line, key, spec_file, span) for key in FIELDS)
    return question, answer
