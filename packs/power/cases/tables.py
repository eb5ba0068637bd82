"""The tables of a power case as published: MW, MVAr, per unit impedances, degrees, $/h for MW."""

from __future__ import annotations

from collections.abc import Sequence

from pdual.dsl.record import record

REFERENCE_BUS = 3
ISOLATED_BUS = 4


@record(frozen=True, slots=True)
class BusRow:
    """One bus; its shunt ``g`` and ``b`` is in MW and MVAr at 1 p.u.

    ``type``: 1 load, 2 generation, 3 reference, 4 isolated. ``v`` and ``angle`` (degrees) are an operating point.
    """

    number: int
    type: int
    p: float
    q: float
    g: float
    b: float
    v_max: float
    v_min: float
    v: float = 1.0
    angle: float = 0.0


@record(frozen=True, slots=True)
class Cost:
    """$/h of P in MW: ``c2 P^2 + c1 P + c0``, plus the largest of ``height + slope P`` over ``pieces`` where there are any."""

    c2: float = 0.0
    c1: float = 0.0
    c0: float = 0.0
    pieces: tuple[tuple[float, float], ...] = ()


@record(frozen=True, slots=True)
class UnitRow:
    """One generating unit; ``position`` counts from 1, ``p`` and ``q`` are an operating point."""

    position: int
    bus: int
    in_service: bool
    q_max: float
    q_min: float
    p_max: float
    p_min: float
    cost: Cost
    p: float = 0.0
    q: float = 0.0

    @property
    def label(self) -> str:
        """``3@5``: the third unit, at bus 5."""
        return f"{self.position}@{self.bus}"


@record(frozen=True, slots=True)
class BranchRow:
    """One line or transformer; ``rate`` 0 is no limit, ``ratio`` 0 is 1, an angle limit of 0 is none."""

    source: int
    target: int
    in_service: bool
    r: float
    x: float
    b: float
    rate: float
    ratio: float
    shift: float
    angle_min: float
    angle_max: float

    @property
    def label(self) -> str:
        """``6->8``: from bus 6 to bus 8."""
        return f"{self.source}->{self.target}"


@record(frozen=True, slots=True)
class Case:
    """A whole case. ``file`` is how diagnostics call it."""

    file: str
    base_mva: float
    buses: tuple[BusRow, ...]
    units: tuple[UnitRow, ...]
    branches: tuple[BranchRow, ...]

    @property
    def live_buses(self) -> tuple[BusRow, ...]:
        """The buses that are not isolated."""
        return tuple(bus for bus in self.buses if bus.type != ISOLATED_BUS)

    @property
    def live_units(self) -> tuple[UnitRow, ...]:
        """The units in service at a bus that is."""
        numbers = {bus.number for bus in self.live_buses}
        return tuple(unit for unit in self.units if unit.in_service and unit.bus in numbers)

    @property
    def live_branches(self) -> tuple[BranchRow, ...]:
        """The branches in service between buses that are."""
        numbers = {bus.number for bus in self.live_buses}
        return tuple(row for row in self.branches if row.in_service and {row.source, row.target} <= numbers)


def enumerated(items: Sequence[str]) -> str:
    """The first three in backticks and how many more there are."""
    shown = ", ".join(f"`{item}`" for item in items[:3])
    return shown if len(items) <= 3 else f"{shown} and {len(items) - 3} more"


def counted(number: int, noun: str, plural: str = "") -> str:
    """``1 row``, ``2 rows``."""
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"


def named(items: Sequence[str], noun: str, plural: str = "") -> str:
    """The noun, then the first three items: ``units `1@5`, `2@8```."""
    return f"{noun if len(items) == 1 else plural or f'{noun}s'} {enumerated(items)}"
