"""A loss that is not finite: where it began, for the user."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from pdual.compiler.program import MEMBERS, Evaluation, Program
from pdual.dsl.diagnostics import Diagnostic, Refusal, refuse
from pdual.dsl.spans import NOWHERE
from pdual.dsl.typed import TypedSpec
from pdual.dsl.types import ArrayType, MemberOf
from pdual.runtime.data.groups import group_codes
from pdual.runtime.data.tables import RowBatch, Table, with_groups
from pdual.runtime.evaluation.result import EvaluationResult
from pdual.runtime.evaluation.violations import address
from pdual.runtime.optimisation.optimisers import finite


@torch.no_grad()
def diverged(
    models: nn.ModuleDict,
    batches: Iterable[tuple[Program, Table, RowBatch]],
    outer: int,
    step: int,
    saved: int | None,
    first: bool = False,
) -> Refusal:
    """The refusal (PD601) for a loss that is not finite, naming the first entry that is not; PD606 where a group has
    nothing to average.

    ``batches`` are the rows of the step, per data set; ``saved`` is the outer iteration of the last state
    that was saved. Weights that are themselves not finite are named instead of a row: every row would be to
    blame. ``first``: no step was taken before.
    """
    batches = list(batches)
    for program, table, rows in batches:
        empty = _empty(program, rows)
        if empty is not None:
            assert program.grouped_by is not None
            key = group_codes(table, torch.tensor([empty]), program.grouped_by)[1][0]
            return refuse("PD606", data=program.data, field=program.grouped_by, key=key, address=table.address(empty))
    broken = next((name for name, model in models.items() if not finite(model.parameters())), None)
    found = None if broken else next((place for batch in batches if (place := _first(*batch))), None)
    taken = 0 if first else None
    return refuse("PD601", outer=outer, step=step, model=broken, saved=saved, taken=taken, **(found or {}))


def unaveraged(result: EvaluationResult, table: Table) -> RowBatch | None:
    """The first row of a pass with a value to be averaged that is not finite, as a batch; None where all are."""
    assert result.averaged is not None
    bad = ~torch.isfinite(result.averaged).all(1)
    return with_groups(table.batch(result.ids[bad][:1]), [1]) if bool(bad.any()) else None


def located(refusal: Refusal, spec: TypedSpec) -> Refusal:
    """The same refusal, pointing at the constraint, the average or the objective of the spec that it is about."""
    return Refusal([_located(item, spec) for item in refusal.diagnostics])


def _located(item: Diagnostic, spec: TypedSpec) -> Diagnostic:
    facts = dict(item.facts)
    if item.code == "PD606":
        item = replace(item, facts=tuple({**facts, "key": _label(facts, spec)}.items()))
    if item.code not in ("PD312", "PD601", "PD606", "PD607", "PD608") or "data" not in facts or item.span != NOWHERE:
        return item
    if "average" in facts or item.code == "PD608":
        averages = [average.span for average in spec.averages if facts["data"] in average.data]
        return replace(item, span=averages[0]) if averages else item
    grouped = item.code in ("PD606", "PD607")
    blocks = [
        block
        for block in spec.blocks
        if facts["data"] in (block.data, block.over) and (block.group_by is not None or not grouped)
    ]
    spans = [family.span for block in blocks for family in block.families if family.name == facts.get("family")]
    spans += [objective.span for block in blocks for objective in block.objectives]
    return replace(item, span=spans[0]) if spans else item


def _label(facts: Mapping[str, str], spec: TypedSpec) -> str:
    """What the rows of a group share, where they hold the position of a member of a set."""
    kinds = {field.name: field.type for data in spec.data if data.name == facts["data"] for field in data.fields}
    kind = kinds.get(facts["field"])
    labels = {item.name: item.labels for item in spec.sets}
    if isinstance(kind, ArrayType) and isinstance(kind.element, MemberOf):
        members = labels.get(kind.element.set)
        return members[int(facts["key"])] if members is not None else facts["key"]
    return facts["key"]


def _empty(program: Program, rows: RowBatch) -> int | None:
    """A row of a group whose objective is a mean over nothing, while all rows have finite values."""
    found = Evaluation(*program.evaluate(rows.values, rows.ids))
    if found.group_objective is None or not bool(torch.isfinite(found.residuals).all()):
        return None
    bad = torch.isnan(found.group_objective).nonzero()
    return int(rows.ids[_members(rows)[bad[0, 0], 0]]) if len(bad) else None


def _members(rows: RowBatch) -> Tensor:
    members = rows.values[MEMBERS]
    assert isinstance(members, Tensor)
    return members


def _first(program: Program, table: Table, rows: RowBatch) -> dict[str, Any] | None:
    """The first entry that is not finite, as facts: its ``address``, ``data`` and, of a constraint, ``family``."""
    ids = rows.ids
    found = Evaluation(*program.evaluate(rows.values, rows.ids))
    bad = (~torch.isfinite(found.residuals)).nonzero()
    if len(bad):
        row, column = bad[0].tolist()
        place = address(program.layout, column, table.address(int(ids[row])))
        return {"address": place, "data": program.data, "family": place.split("[")[0].split(".")[0]}
    if found.objective is not None and len(bad := (~torch.isfinite(found.objective)).nonzero()):
        return {"address": f"objective[{table.address(int(ids[int(bad[0])]))}]", "data": program.data}
    if found.averaged is not None and len(bad := (~torch.isfinite(found.averaged)).nonzero()):
        return {"address": f"average[{table.address(int(ids[int(bad[0, 0])]))}]", "data": program.data, "average": True}
    return None
