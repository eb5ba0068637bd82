"""The costs of a MATPOWER case: polynomials of degree 2 at most."""

from __future__ import annotations

from collections.abc import Sequence

from pdual.dsl.diagnostics import Collector, Refusal, refuse
from pdual.dsl.spans import Span
from pdual.runtime.sources.power_tables import counted, named

Coefficients = tuple[float, float, float]

_PIECEWISE, _POLYNOMIAL = 1, 2
_NOTHING = (0.0, 0.0, 0.0)


def read_costs(
    units: Sequence[Sequence[float]], rows: Sequence[Sequence[float]], name: str, span: Span
) -> list[Coefficients]:
    """(c2, c1, c0) of every row of ``gen``: c2 P^2 + c1 P + c0 in $/h, P in MW.

    ``rows`` is ``gencost``: model, startup, shutdown, n, then n coefficients from the highest power down.
    Raises PD513 (not one row a unit) and PD509 (a cost of another kind, naming the units).
    """
    active, reactive = rows[: len(units)], rows[len(units) :]
    if len(active) < len(units) or (reactive and len(reactive) != len(units)):
        found = counted(len(rows), "row")
        raise refuse("PD513", span, file=name, found=found, units=counted(len(units), "row"))
    costs: list[Coefficients] = []
    wrong: dict[str, list[str]] = {}
    for position, (unit, row) in enumerate(zip(units, active, strict=True), 1):
        complaint, coefficients = _polynomial(row)
        costs.append(coefficients)
        if complaint:
            wrong.setdefault(complaint, []).append(f"{position}@{unit[0]:g}")
    for position, row in enumerate(reactive, 1):
        if any(row[4:]):
            wrong.setdefault("a cost of reactive power", []).append(f"{position}@{units[position - 1][0]:g}")
    complaints = Collector()
    for complaint, labels in wrong.items():
        complaints.add("PD509", span, file=name, units=named(labels, "unit"), found=complaint)
    if complaints.diagnostics:
        raise Refusal(complaints.diagnostics)
    return costs


def _polynomial(row: Sequence[float]) -> tuple[str | None, Coefficients]:
    """What is wrong with a cost row (None: nothing), and its coefficients."""
    if row[0] != _POLYNOMIAL:
        return ("a piecewise linear one" if row[0] == _PIECEWISE else f"cost model {row[0]:g}"), _NOTHING
    count = int(row[3])
    if count < 0 or len(row) - 4 < count:
        return f"{len(row) - 4} of {count} coefficients", _NOTHING
    coefficients = [float(value) for value in row[4 : 4 + count]]
    leading = next((place for place, value in enumerate(coefficients) if value), count)
    if count - leading > 3:
        return f"degree {count - leading - 1}", _NOTHING
    c2, c1, c0 = [0.0, 0.0, 0.0, *coefficients][-3:]
    return None, (c2, c1, c0)
