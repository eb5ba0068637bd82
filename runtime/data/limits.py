"""What a field's declared range asks of its values, and which rows do not do it, in words."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isinf

from pdual.dsl.typed import TypedField

#: Rows that a message names.
SHOWN = 3


def bounds_of(field: TypedField) -> tuple[float, float]:
    """The declared range; infinite where none is."""
    return -inf if field.low is None else field.low, inf if field.high is None else field.high


def limits_of(field: TypedField) -> str:
    """``at least 0 and at most 1``; empty without a range."""
    low, high = bounds_of(field)
    limits = ("" if isinf(low) else f"at least {low:g}", "" if isinf(high) else f"at most {high:g}")
    return " and ".join(filter(None, limits))


def rows_named(rows: Sequence[int]) -> str:
    """``rows 0, 3, 4, ...``: the first of these, counted from 0 as their addresses are."""
    shown = ", ".join(str(row) for row in rows[:SHOWN]) + (", ..." if len(rows) > SHOWN else "")
    return f"{'row' if len(rows) == 1 else 'rows'} {shown}"
