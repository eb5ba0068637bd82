"""From the tables of a case to known structure in per unit and radians."""

from __future__ import annotations

import cmath
import hashlib
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from pdual.dsl.declarations.known import Known
from pdual.packs.power.cases.tables import REFERENCE_BUS, BranchRow, Case, Cost, UnitRow, counted

_FULL_TURN = 360.0
_OWN = {"v_own", "s_own"}  # no operating point, where a file has no angles
_DERIVED = {"height", "slope", "usual_cost"}  # they say nothing more about a grid whose costs are polynomials


def known_of(case: Case) -> Known:
    """Sets, fields and notes of a checked case.

    Every branch is a two-port: an ideal transformer ``tap`` : 1 at its source side, then ``series`` = 1 / (r
    + jx) with ``charge_source`` and ``charge_target`` = j b / 2 at its two ends:

        out  = conj(series + charge_source) |v_source / tap|^2 - conj(series) v_source conj(v_target) / tap
        into = conj(series + charge_target) |v_target|^2 - conj(series) conj(v_source) v_target / conj(tap)
    """
    buses, units, branches = case.live_buses, case.live_units, case.live_branches
    place = {bus.number: position for position, bus in enumerate(buses)}
    base = case.base_mva
    width = max((len(unit.cost.pieces) for unit in units), default=0) or 1
    sets = {
        "bus": tuple(str(bus.number) for bus in buses),
        "gen": tuple(unit.label for unit in units),
        "branch": _branch_labels(branches),
    }
    fields: dict[str, Any] = {
        "at": [place[unit.bus] for unit in units],
        "source": [place[row.source] for row in branches],
        "target": [place[row.target] for row in branches],
        "slack": [bus.type == REFERENCE_BUS for bus in buses],
        "load": [complex(bus.p, bus.q) / base for bus in buses],
        "shunt": [complex(bus.g, bus.b) / base for bus in buses],
        "v_min": [bus.v_min for bus in buses],
        "v_max": [bus.v_max for bus in buses],
        "series": [1 / complex(row.r, row.x) for row in branches],
        "charge_source": [complex(0.0, row.b / 2) for row in branches],
        "charge_target": [complex(0.0, row.b / 2) for row in branches],
        "tap": [cmath.rect(row.ratio or 1.0, math.radians(row.shift)) for row in branches],
        "rate": [row.rate / base if row.rate else math.inf for row in branches],
        "angle_min": [max(-math.pi, -_angle(-row.angle_min)) for row in branches],
        "angle_max": [min(math.pi, _angle(row.angle_max)) for row in branches],
        "c0": [unit.cost.c0 for unit in units],
        "c1": [unit.cost.c1 * base for unit in units],
        "c2": [unit.cost.c2 * base**2 for unit in units],
        "height": [[height for height, _ in _pieces(unit, width)] for unit in units],
        "slope": [[slope * base for _, slope in _pieces(unit, width)] for unit in units],
        "usual_cost": usual_cost(case),
        "s_min": [complex(unit.p_min / base, unit.q_min / base) for unit in units],
        "s_max": [complex(unit.p_max / base, unit.q_max / base) for unit in units],
        "v_own": [cmath.rect(bus.v, math.radians(bus.angle)) for bus in buses],
        "s_own": [complex(unit.p, unit.q) / base for unit in units],
        "base_mva": base,
    }
    left_out = set() if any(unit.cost.pieces for unit in units) else _DERIVED
    left_out = left_out if any(bus.angle for bus in buses) else left_out | _OWN
    fingerprint = _fingerprint(sets, {name: value for name, value in fields.items() if name not in left_out})
    pieces = tuple(str(number) for number in range(1, width + 1))
    return Known(sets | {"piece": pieces}, fields, fingerprint, _notes(case))


def _pieces(unit: UnitRow, width: int) -> list[tuple[float, float]]:
    """Height and slope of ``width`` pieces, the last one repeated; flat ones where the cost has none."""
    pieces = unit.cost.pieces or ((0.0, 0.0),)
    return [pieces[min(place, len(pieces) - 1)] for place in range(width)]


def usual_cost(case: Case) -> list[float]:
    """What the grid's own demand costs, $/h by unit, when every unit serves the same share of its capacity.

    Where the sum is no positive number (capacities without an end or of 0, costs of 0 or below, a grid that exports), the size of
    each unit's cost at an equal part of the demand's size; 1 in all where nothing costs anything.
    """
    base, units = case.base_mva, case.live_units
    demand = sum(bus.p / base for bus in case.live_buses)
    capacities = [unit.p_max / base for unit in units]
    total = sum(capacities)
    if math.isfinite(total) and total > 0:
        share = demand / total
        found = [_at(unit.cost, share * capacity, base) for unit, capacity in zip(units, capacities, strict=True)]
        if 0 < sum(found) < math.inf:
            return found
    each = sum(abs(bus.p) for bus in case.live_buses) / base / len(units)
    found = [(abs(_at(unit.cost, each, base)) + abs(_at(unit.cost, -each, base))) / 2 for unit in units]
    return found if 0 < sum(found) < math.inf else [1 / len(units)] * len(units)


def _at(cost: Cost, power: float, base: float) -> float:
    """A cost at a power in per unit."""
    curve = cost.c0 + cost.c1 * base * power + cost.c2 * base**2 * power**2
    return curve + max((height + slope * base * power for height, slope in cost.pieces), default=0.0)


def _angle(degrees: float) -> float:
    """An upper limit in radians; MATPOWER writes 0 or a full turn where there is none."""
    return math.pi if degrees == 0 or degrees >= _FULL_TURN else math.radians(degrees)


def _branch_labels(branches: Sequence[BranchRow]) -> tuple[str, ...]:
    seen: Counter[str] = Counter()
    labels = []
    for row in branches:
        seen[row.label] += 1
        labels.append(row.label if seen[row.label] == 1 else f"{row.label}#{seen[row.label]}")
    return tuple(labels)


def _fingerprint(sets: Mapping[str, tuple[str, ...]], fields: Mapping[str, Any]) -> str:
    content = repr((sorted(sets.items()), sorted(fields.items())))
    return hashlib.sha256(content.encode()).hexdigest()


def _notes(case: Case) -> tuple[str, ...]:
    buses = len(case.buses) - len(case.live_buses)
    units = len(case.units) - len(case.live_units)
    branches = len(case.branches) - len(case.live_branches)
    free = sum(1 for row in case.live_branches if not row.rate)
    notes = (
        (buses, f"{counted(buses, 'isolated bus', 'isolated buses')} left out"),
        (units, f"{counted(units, 'unit')} out of service left out"),
        (branches, f"{counted(branches, 'branch', 'branches')} out of service left out"),
        (free, f"{counted(free, 'branch', 'branches')} without a flow limit"),
    )
    return tuple(text for count, text in notes if count)
