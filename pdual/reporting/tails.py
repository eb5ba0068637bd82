"""The tail of violations, the distribution of constraints, and rows at their cap, of one measured split."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from pdual.compiler.layout import Layout, PartLayout, Sense
from pdual.reporting.facts import AtCap, Curve, Tail
from pdual.runtime.data.tables import Table
from pdual.runtime.evaluation.metrics import Measured
from pdual.runtime.evaluation.violations import address, factors, families, unit

#: The share of the worst rows that ``cvar`` is the mean of.
CVAR = 0.05

#: Entries that are named as the worst.
NAMED = 3

#: Points of a distribution.
POINTS = 201

ALL = "all"


def tails(split: str, item: Measured, table: Table) -> Iterator[Tail]:
    """Of every family, and of all together where they are counted alike and there are several."""
    groups = families(item.violations.layout)
    every = list(item.violations.layout.parts)
    if len(groups) > 1 and len({unit(part) for part in every}) == 1:
        yield _tail(split, ALL, every, item, table)
    for family, parts in groups.items():
        yield _tail(split, family, parts, item, table)


def _tail(split: str, family: str, parts: list[PartLayout], item: Measured, table: Table) -> Tail:
    violations = item.violations
    largest = violations.largest(parts).double()
    ordered = largest.sort(descending=True).values
    count = max(1, round(CVAR * len(ordered)))
    columns = violations.columns(parts)
    return Tail(
        split=split,
        family=family,
        unit=_unit(parts),
        mean=float(largest.mean()),
        p95=float(largest.quantile(0.95)),
        p99=float(largest.quantile(0.99)),
        largest=float(ordered[0]),
        cvar=float(ordered[:count].mean()),
        violated=float(violations.violated[:, columns].any(1).double().mean()),
        worst=tuple(_worst(item, table, violations.violation[:, columns], columns, violations.violated[:, columns])),
    )


def _worst(
    item: Measured, table: Table, violation: Tensor, columns: Tensor, among: Tensor
) -> Iterator[tuple[str, float]]:
    """The largest violations of different rows, among some entries."""
    values, entries = torch.where(among, violation, -1.0).max(1)
    for row in values.argsort(descending=True, stable=True)[:NAMED].tolist():
        if float(values[row]) > 0:
            name = table.address(int(item.result.ids[row]))
            yield address(item.violations.layout, int(columns[entries[row]]), name), float(values[row])


def curves(split: str, item: Measured) -> Iterator[Curve]:
    """The distribution of every family's left - right (of an equality: its absolute value), in its unit; entries without a finite value are left out."""
    layout = item.violations.layout
    own = torch.tensor(factors(layout), dtype=torch.float64, device=item.result.residuals.device)
    values = item.result.residuals.double() * own
    for family, parts in families(layout).items():
        columns = item.violations.columns(parts)
        live = values[:, columns][item.violations.live[:, columns]]
        equal = parts[0].sense is Sense.EQUAL
        if equal:
            live = live.abs()
        live = live[torch.isfinite(live)].sort().values
        if not len(live):
            continue
        places = torch.linspace(0, len(live) - 1, POINTS, device=live.device).round().long()
        violated = item.violations.violated[:, columns] & item.violations.live[:, columns]
        met = 1 - float(violated.sum()) / max(1, int(item.violations.live[:, columns].sum()))
        yield Curve(split, family, _unit(parts), tuple(live[places].tolist()), met, equal)


def at_cap(split: str, item: Measured, table: Table) -> Iterator[AtCap]:
    """Every row with a multiplier at its cap."""
    violations = item.violations
    if violations.at_cap is None or not violations.has_multipliers:
        return
    measures = _measures(violations.layout)
    for row in violations.at_cap.any(1).nonzero().squeeze(1).tolist():
        capped = violations.at_cap[row]
        column = int(torch.where(capped, violations.violation[row], -1.0).argmax())
        name = table.address(int(item.result.ids[row]))
        place = address(violations.layout, column, name)
        yield AtCap(split, name, int(capped.sum()), place, float(violations.violation[row, column]), measures[column])


def _measures(layout: Layout) -> list[str]:
    return [unit(part) for part in layout.parts for _ in range(part.size)]


def _unit(parts: list[PartLayout]) -> str:
    found = {unit(part) for part in parts}
    return found.pop() if len(found) == 1 else "mixed"
