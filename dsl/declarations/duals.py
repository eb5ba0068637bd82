"""The kinds of dual that come with pdual, and the update of each in plain numbers."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum

from pdual.dsl.declarations.dual import Column, DualKind, FunctionClass
from pdual.dsl.declarations.references import Settings

_HERE = "pdual.runtime.duals"


def clip(value: float, low: float, high: float) -> float:
    """The nearest number within bounds."""
    return min(max(value, low), high)


def _relaxed(column: Column) -> list[float]:
    """max(g, -lam / rho) of each row, g of an equality; 0 where the row has no constraint."""
    pairs = zip(column.residuals, column.multipliers, column.live, strict=True)
    return [(g if column.equal else max(g, -lam / column.rho)) if live else 0.0 for g, lam, live in pairs]


def _mean(values: Sequence[float], column: Column) -> float:
    return fsum(values) / max(1, sum(column.live))


def _pointwise(column: Column, kept: Sequence[float], settings: Settings) -> tuple[Sequence[float], Sequence[float]]:
    pairs = zip(column.multipliers, column.residuals, strict=True)
    return [clip(lam + column.rho * g, column.low, column.high) for lam, g in pairs], ()


def _shared(column: Column, kept: Sequence[float], settings: Settings) -> tuple[Sequence[float], Sequence[float]]:
    (level,) = kept or (0.0,)
    level = clip(level + column.rho * _mean(_relaxed(column), column), column.low, column.high)
    return [level] * len(column.residuals), (level,)


def _hybrid(column: Column, kept: Sequence[float], settings: Settings) -> tuple[Sequence[float], Sequence[float]]:
    level, *deviations = kept or [0.0] * (1 + len(column.residuals))
    relaxed = _relaxed(column)
    level = clip(level + column.rho / 2 * _mean(relaxed, column), column.low, column.high)
    deviations = [
        clip(b + column.rho / 2 * r, column.low - level, column.high - level)
        for b, r in zip(deviations, relaxed, strict=True)
    ]
    return [level + b for b in deviations], (level, *deviations)


def _zero(column: Column, kept: Sequence[float], settings: Settings) -> tuple[Sequence[float], Sequence[float]]:
    return [0.0] * len(column.residuals), ()


POINTWISE = DualKind(
    "pointwise",
    "`pointwise(cap = G)`: a multiplier for every row and entry",
    builder=f"{_HERE}.pointwise:build",
    numbers=lambda rows, columns: None if rows is None else rows * columns,
    rests=True,
    exact=True,
    functions=FunctionClass.TABLES,
    meaning=_pointwise,
)

SHARED = DualKind(
    "shared",
    "`shared(cap = G)`: a multiplier for every entry, the same on all rows",
    builder=f"{_HERE}.shared:build",
    numbers=lambda rows, columns: columns,
    generalises=True,
    alike=True,
    averages=True,
    exact=True,
    functions=FunctionClass.CONSTANTS,
    meaning=_shared,
)

HYBRID = DualKind(
    "hybrid",
    "`hybrid(cap = G)`: a shared multiplier and one a row, added",
    builder=f"{_HERE}.hybrid:build",
    numbers=lambda rows, columns: None if rows is None else (rows + 1) * columns,
    exact=True,
    functions=FunctionClass.TABLES,
    meaning=_hybrid,
)

LEARNED = DualKind(
    "learned",
    "`learned(ARCHITECTURE, on = EXPR, cap = G)`: a network that has multipliers for new rows too",
    arguments=("architecture", "on", "cap"),
    builder=f"{_HERE}.learned:build",
    generalises=True,
    rests=True,
    fitted=True,
    functions=FunctionClass.NETWORKS,
)

#: A formula over models. It has no name in a spec: it is written out.
FORMULA = DualKind(
    "formula",
    "a formula over models",
    builder=f"{_HERE}.formula:build",
    generalises=True,
    rests=True,
    fitted=True,
    functions=FunctionClass.FORMULAS,
)

PENALTY = DualKind(
    "penalty",
    "no multipliers: the penalty alone",
    arguments=(),
    builder=f"{_HERE}.fixed:build",
    numbers=lambda rows, columns: 0,
    multipliers=False,
    generalises=True,
    rests=True,
    alike=True,
    averages=True,
    functions=FunctionClass.ZERO,
    meaning=_zero,
)

NONE = DualKind(
    "none",
    "no multipliers and no penalty: violations are measured only",
    arguments=(),
    numbers=lambda rows, columns: 0,
    in_force=False,
    multipliers=False,
    generalises=True,
    rests=True,
    alike=True,
    averages=True,
    functions=FunctionClass.ZERO,
)
