"""Does a case describe one connected grid with limits that can be met?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from pdual.dsl.diagnostics import Collector, Refusal
from pdual.dsl.spans import Span
from pdual.packs.power.cases.tables import REFERENCE_BUS, BranchRow, Case, enumerated, named


def check_case(case: Case, span: Span) -> None:
    """Raises a Refusal with everything that is wrong.

    PD505 a limit below 0, PD506 unknown bus, PD507 not one reference bus, PD508 limits that cross, PD510 a
    bus twice, PD511 a branch without impedance, PD512 buses out of reach, PD514 no unit in service.
    """
    found = Collector()
    _check_bus_numbers(case, span, found)
    _check_places(case, span, found)
    if not found.diagnostics:
        _check_service(case, span, found)
        _check_connection(case, span, found)
        _check_limits(case, span, found)
        _check_impedances(case, span, found)
    if found.diagnostics:
        raise Refusal(found.diagnostics)


def _check_bus_numbers(case: Case, span: Span, diagnostics: Collector) -> None:
    times = Counter(bus.number for bus in case.buses)
    twice = [str(number) for number, count in times.items() if count > 1]
    if twice:
        diagnostics.add("PD510", span, file=case.file, found=named(twice, "bus", "buses"), table="bus")


def _check_places(case: Case, span: Span, diagnostics: Collector) -> None:
    buses = [str(bus.number) for bus in case.buses]
    numbers = {bus.number for bus in case.buses}
    units = {unit.label: unit.bus for unit in case.units if unit.bus not in numbers}
    ends = ((row.label, end) for row in case.branches for end in (row.source, row.target))
    branches = {label: end for label, end in ends if end not in numbers}
    for strays, noun, plural in ((units, "unit", "units"), (branches, "branch", "branches")):
        if strays:
            places = enumerated(list(dict.fromkeys(f"bus {number}" for number in strays.values())))
            elements = named(list(strays), noun, plural)
            diagnostics.add("PD506", span, file=case.file, elements=elements, found=places, buses=enumerated(buses))


def _check_service(case: Case, span: Span, diagnostics: Collector) -> None:
    if not case.live_units:
        diagnostics.add("PD514", span, file=case.file, element="unit")


def _check_connection(case: Case, span: Span, diagnostics: Collector) -> None:
    references = [bus.number for bus in case.buses if bus.type == REFERENCE_BUS]
    if len(references) != 1:
        text = f"{len(references)} ({enumerated([str(number) for number in references])})"
        fix = "set the type of the others to 2" if references else "set the type of a bus with a unit to 3"
        diagnostics.add("PD507", span, file=case.file, found=text if references else "none", fix=fix)
        return
    reached = _reached(references[0], case.live_branches)
    apart = [str(bus.number) for bus in case.live_buses if bus.number not in reached]
    if apart:
        diagnostics.add("PD512", span, file=case.file, buses=named(apart, "bus", "buses"))


def _reached(start: int, branches: Sequence[BranchRow]) -> set[int]:
    neighbours: dict[int, set[int]] = {}
    for row in branches:
        neighbours.setdefault(row.source, set()).add(row.target)
        neighbours.setdefault(row.target, set()).add(row.source)
    reached, waiting = {start}, [start]
    while waiting:
        fresh = neighbours.get(waiting.pop(), set()) - reached
        reached |= fresh
        waiting += fresh
    return reached


def _check_limits(case: Case, span: Span, diagnostics: Collector) -> None:
    if crossing := list(_crossing(case)):
        diagnostics.add("PD508", span, file=case.file, found=enumerated(crossing), count=len(crossing))
    negative = {
        "Vmin": [f"Vmin = {bus.v_min:g} at bus {bus.number}" for bus in case.live_buses if bus.v_min < 0],
        "rateA": [f"rateA = {row.rate:g} of {row.label}" for row in case.live_branches if row.rate < 0],
    }
    for column, wrong in negative.items():
        if wrong:
            expected, count = f"`{column}` of 0 or more", len(wrong)
            diagnostics.add("PD505", span, file=case.file, expected=expected, found=enumerated(wrong), count=count)


def _crossing(case: Case) -> Iterator[str]:
    for bus in case.live_buses:
        if bus.v_min > bus.v_max:
            yield f"Vmin = {bus.v_min:g} > Vmax = {bus.v_max:g} at bus {bus.number}"
    for unit in case.live_units:
        if unit.p_min > unit.p_max:
            yield f"Pmin = {unit.p_min:g} > Pmax = {unit.p_max:g} of unit {unit.label}"
        if unit.q_min > unit.q_max:
            yield f"Qmin = {unit.q_min:g} > Qmax = {unit.q_max:g} of unit {unit.label}"
    for row in case.live_branches:
        if row.angle_min and row.angle_max and row.angle_min > row.angle_max:
            yield f"angmin = {row.angle_min:g} > angmax = {row.angle_max:g} of branch {row.label}"


def _check_impedances(case: Case, span: Span, diagnostics: Collector) -> None:
    shorted = [row.label for row in case.live_branches if row.r == row.x == 0]
    if shorted:
        diagnostics.add("PD511", span, file=case.file, branches=named(shorted, "branch", "branches"))
