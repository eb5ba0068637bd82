"""A loss that is not finite: where it began, for the user."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from pdual.compiler.program import Evaluation, Program
from pdual.dsl.diagnostics import Refusal, refuse
from pdual.runtime.data import Table
from pdual.runtime.optimisers import finite
from pdual.runtime.profile import address


@torch.no_grad()
def diverged(
    models: nn.ModuleDict,
    batches: Iterable[tuple[Program, Table, Tensor]],
    outer: int,
    step: int,
    saved: int | None,
) -> Refusal:
    """The refusal (PD601) for a loss that is not finite, naming the first entry that is not.

    ``batches`` are the rows of the step, per data set; ``saved`` is the outer iteration of the last state
    that was saved. Weights that are themselves not finite are named instead of a row: every row would be to
    blame.
    """
    broken = next((name for name, model in models.items() if not finite(model.parameters())), None)
    found = None if broken else next((place for batch in batches if (place := _first(*batch))), None)
    return refuse("PD601", outer=outer, step=step, model=broken, address=found, saved=saved)


def _first(program: Program, table: Table, ids: Tensor) -> str | None:
    rows = table.batch(ids)
    found = Evaluation(*program.evaluate(rows.values, rows.ids))
    bad = (~torch.isfinite(found.residuals)).nonzero()
    if len(bad):
        row, column = bad[0].tolist()
        return address(program.layout, column, table.address(int(ids[row])))
    if found.objective is not None and len(bad := (~torch.isfinite(found.objective)).nonzero()):
        return f"objective[{table.address(int(ids[int(bad[0])]))}]"
    return None
