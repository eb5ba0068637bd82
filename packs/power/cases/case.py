"""``power.case``: from a name to known structure. A shipped case needs the standard library only."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

from pdual.dsl.declarations.known import Known
from pdual.dsl.declarations.references import Settings
from pdual.dsl.diagnostics import refuse
from pdual.packs.power.cases.checks import check_case
from pdual.packs.power.cases.files import SHIPPED_CASES, find_case
from pdual.packs.power.cases.network import known_of
from pdual.packs.power.cases.notes import with_counts
from pdual.packs.power.cases.tables import BranchRow, BusRow, Case, Cost, UnitRow, enumerated, named
from pdual.packs.power.declarations.sources import PowerCaseSettings
from pdual.runtime.data.context import SourceContext


def load_case(settings: Settings, context: SourceContext) -> Known:
    """The grid that a spec names: sets ``bus``, ``gen``, ``branch`` and the fields of ``power.case``.

    Per unit on ``base_mva`` and radians; what is out of service is left out (``Known.notes`` counts it).
    Raises a Refusal with PD501 to PD514 where the case is not found or does not describe a grid.
    """
    assert isinstance(settings, PowerCaseSettings)
    place = find_case(settings.name, context)
    case = shipped_case(settings.name) if place is None else _read(place, settings.name, context)
    check_case(case, context.span)
    _check_pieces(case, context)
    return with_counts(known_of(case))


def _check_pieces(case: Case, context: SourceContext) -> None:
    """Refuses a spec that reads the polynomials of costs and not the pieces that this case has beside them."""
    bent = [unit.label for unit in case.live_units if unit.cost.pieces]
    polynomials, pieces = {"c0", "c1", "c2"} & set(context.fields), {"height", "slope"} - set(context.fields)
    if bent and polynomials and pieces:
        raise refuse(
            "PD522", context.span, file=case.file, units=named(bent, "unit"), missing=enumerated(sorted(pieces))
        )


def shipped_case(name: str) -> Case:
    """A table that pdual carries, of PGLib-OPF v23.07."""
    text = files("pdual.packs.power.cases").joinpath(f"data/{SHIPPED_CASES[name]}").read_text(encoding="utf-8")
    content = json.loads(text)
    units = zip(_records(content["gen"]), _records(content["gencost"]), strict=True)
    return Case(
        name,
        float(content["base_mva"]),
        tuple(_bus(row) for row in _records(content["bus"])),
        tuple(_unit(position, row | cost) for position, (row, cost) in enumerate(units, 1)),
        tuple(_branch(row) for row in _records(content["branch"])),
    )


def _read(place: Path, name: str, context: SourceContext) -> Case:
    # a spec on the shipped case must not pay for the reader
    from pdual.packs.power.cases.matpower import read_matpower

    return read_matpower(place, name, context.span)


def _records(table: dict[str, Any]) -> list[dict[str, float]]:
    return [dict(zip(table["columns"], map(float, row), strict=True)) for row in table["rows"]]


def _bus(row: dict[str, float]) -> BusRow:
    values = (row[name] for name in ("Pd", "Qd", "Gs", "Bs", "Vmax", "Vmin"))
    return BusRow(int(row["bus"]), int(row["type"]), *values)


def _unit(position: int, row: dict[str, float]) -> UnitRow:
    limits = (row["Qmax"], row["Qmin"], row["Pmax"], row["Pmin"])
    return UnitRow(position, int(row["bus"]), row["status"] > 0, *limits, Cost(row["c2"], row["c1"], row["c0"]))


def _branch(row: dict[str, float]) -> BranchRow:
    values = (row[name] for name in ("r", "x", "b", "rateA", "ratio", "shift", "angmin", "angmax"))
    return BranchRow(int(row["from"]), int(row["to"]), row["status"] > 0, *values)
