"""The costs of a MATPOWER case: polynomials of degree 2 at most, and convex piecewise linear ones."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from pdual.dsl.diagnostics import Collector, Refusal, refuse
from pdual.dsl.spans import Span
from pdual.packs.power.cases.tables import Cost, counted, named

_PIECEWISE, _POLYNOMIAL = 1, 2
_STRAIGHT = 1e-9  # slopes that differ by less, relative to the largest, are one


def read_costs(units: Sequence[Sequence[float]], rows: Sequence[Sequence[float]], name: str, span: Span) -> list[Cost]:
    """The cost of every row of ``gen``.

    ``rows`` is ``gencost``: model, startup, shutdown, n, then n coefficients from the highest power down, or n corners (P, $/h).
    Raises PD513 (not one row a unit) and PD509 (a cost of another kind, naming the units).
    """
    active, reactive = rows[: len(units)], rows[len(units) :]
    if len(active) < len(units) or (reactive and len(reactive) != len(units)):
        found = counted(len(rows), "row")
        raise refuse("PD513", span, file=name, found=found, units=counted(len(units), "row"))
    costs: list[Cost] = []
    wrong: dict[str, list[str]] = {}
    for position, (unit, row) in enumerate(zip(units, active, strict=True), 1):
        complaint, cost = _cost(row)
        costs.append(cost)
        if complaint:
            wrong.setdefault(complaint, []).append(f"{position}@{unit[0]:g}")
    for position, row in enumerate(reactive, 1):
        complaint, cost = _cost(row)
        if complaint or cost != Cost():
            wrong.setdefault("a cost of reactive power", []).append(f"{position}@{units[position - 1][0]:g}")
    complaints = Collector()
    for complaint, labels in wrong.items():
        complaints.add("PD509", span, file=name, units=named(labels, "unit"), found=complaint)
    if complaints.diagnostics:
        raise Refusal(complaints.diagnostics)
    return costs


def _cost(row: Sequence[float]) -> tuple[str | None, Cost]:
    """What is wrong with a cost row (None: nothing), and the cost."""
    count = int(row[3])
    if row[0] == _PIECEWISE:
        return _piecewise(row[4:], count)
    if row[0] != _POLYNOMIAL:
        return f"cost model {row[0]:g}", Cost()
    if count < 0 or len(row) - 4 < count:
        return f"{len(row) - 4} of {count} coefficients", Cost()
    coefficients = [float(value) for value in row[4 : 4 + count]]
    leading = next((place for place, value in enumerate(coefficients) if value), count)
    if count - leading > 3:
        return f"degree {count - leading - 1}", Cost()
    c2, c1, c0 = [0.0, 0.0, 0.0, *coefficients][-3:]
    return None, Cost(c2, c1, c0)


def _piecewise(values: Sequence[float], count: int) -> tuple[str | None, Cost]:
    """The largest of its pieces, each drawn on to both sides, as MATPOWER has it outside of the corners."""
    if count < 2 or len(values) < 2 * count:
        return f"{len(values) // 2} of {max(count, 2)} corners of a piecewise linear one", Cost()
    corners = list(zip(values[0 : 2 * count : 2], values[1 : 2 * count : 2], strict=True))
    if any(right[0] <= left[0] for left, right in pairwise(corners)):
        return "corners of a piecewise linear one that are not in ascending order of P", Cost()
    slopes = [(right[1] - left[1]) / (right[0] - left[0]) for left, right in pairwise(corners)]
    room = _STRAIGHT * max(map(abs, slopes))
    if any(after < before - room for before, after in pairwise(slopes)):
        return "a piecewise linear one that is not convex (its slope falls)", Cost()
    pieces: list[tuple[float, float]] = []
    for (power, cost), slope in zip(corners, slopes, strict=False):
        if not pieces or slope > pieces[-1][1] + room:
            pieces.append((cost - slope * power, slope))
    if len(pieces) == 1:
        return None, Cost(0.0, pieces[0][1], pieces[0][0])
    return None, Cost(pieces=tuple(pieces))
