"""Rows on which a constraint has no finite value: a bound of 1/0 is met by everything, and would be no constraint in silence."""

from __future__ import annotations

import torch
from torch import Tensor

from pdual.compiler.program import Program
from pdual.dsl.diagnostics import refuse
from pdual.runtime.data.tables import Table
from pdual.runtime.evaluation.violations import address

#: Fields of the row that are told.
_TOLD = 6


def check_finite(program: Program, table: Table, ids: Tensor, residuals: Tensor) -> None:
    """Refuse (PD312) the first entry, of ``residuals`` [n, columns] at rows ``ids`` [n], that is not finite."""
    if bool(torch.isfinite(residuals).all()):
        return
    row, column = (~torch.isfinite(residuals)).nonzero()[0].tolist()
    place = address(program.layout, column, table.address(int(ids[row])))
    raise refuse(
        "PD312",
        address=place,
        family=place.split("[")[0].split(".")[0],
        data=program.data,
        found="infinite" if bool(torch.isinf(residuals[row, column])) else "not a number",
        values=_values(table, ids[row : row + 1]) or None,
    )


def _values(table: Table, ids: Tensor) -> str:
    """The numbers of a row, those that are not finite or 0 first, since they are what is divided by."""
    values = table.batch(ids).values
    single = {
        n: v.item() for n, v in values.items() if isinstance(v, Tensor) and v.numel() == 1 and not n.startswith("@")
    }
    told = sorted(single.items(), key=lambda item: item[1] != 0)[:_TOLD]
    return ", ".join(f"`{name} = {value:g}`" for name, value in told if not isinstance(value, complex))
