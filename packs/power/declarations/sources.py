"""The sources on power grids: ``power.case`` (what a grid is) and ``power.demands`` (what it must supply)."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from pdual.dsl.declarations.beside import CaseName, FileOrName
from pdual.dsl.declarations.references import GivenReference, Settings
from pdual.dsl.declarations.source import Offer, SourceDeclaration, SourceRole
from pdual.dsl.declarations.splits import Shares, split_sizes
from pdual.dsl.types import REAL, ArrayType, Element, Kind, MemberOf, SetAxis


class PowerCaseSettings(Settings):
    """``power.case("case.m")``: a shipped case, a ``.m`` file, or one in ``$PDUAL_DATA/power``."""

    name: CaseName


class PowerDemandsSettings(Settings):
    """``power.demands(grid, spread = 0.2)``: demands that have an optimum, with that optimum.

    ``samples`` counts kept rows, ``split`` is the share of them that goes to train, val and test. ``draw``
    gives another test split, the others stay. ``iterations`` bounds the interior-point solver: what it does
    not solve is not kept. ``file`` is an ``.npz`` with demands of one's own (``load_re``, ``load_im``: [rows,
    bus] in per unit) instead of draws.
    """

    grid: GivenReference
    samples: int = Field(10_000, ge=1)
    spread: float = Field(0.2, gt=0, lt=1)
    split: Shares = (0.8, 0.1, 0.1)
    seed: int = Field(0, ge=0)
    draw: int = Field(0, ge=0)
    iterations: int = Field(300, ge=1)
    file: FileOrName | None = None


def _on(element: Element, axis: str) -> ArrayType:
    return ArrayType(element, (SetAxis(axis),))


_CASE = Offer(
    sets=("bus", "gen", "branch", "piece"),
    fields=(
        ("at", _on(MemberOf("bus"), "gen")),
        ("source", _on(MemberOf("bus"), "branch")),
        ("target", _on(MemberOf("bus"), "branch")),
        ("slack", _on(Kind.BOOL, "bus")),
        ("load", _on(Kind.COMPLEX, "bus")),
        ("shunt", _on(Kind.COMPLEX, "bus")),
        ("v_min", _on(Kind.REAL, "bus")),
        ("v_max", _on(Kind.REAL, "bus")),
        ("series", _on(Kind.COMPLEX, "branch")),
        ("charge_source", _on(Kind.COMPLEX, "branch")),
        ("charge_target", _on(Kind.COMPLEX, "branch")),
        ("tap", _on(Kind.COMPLEX, "branch")),
        ("rate", _on(Kind.REAL, "branch")),
        ("angle_min", _on(Kind.REAL, "branch")),
        ("angle_max", _on(Kind.REAL, "branch")),
        ("c0", _on(Kind.REAL, "gen")),
        ("c1", _on(Kind.REAL, "gen")),
        ("c2", _on(Kind.REAL, "gen")),
        ("height", ArrayType(Kind.REAL, (SetAxis("gen"), SetAxis("piece")))),
        ("slope", ArrayType(Kind.REAL, (SetAxis("gen"), SetAxis("piece")))),
        ("usual_cost", _on(Kind.REAL, "gen")),
        ("s_min", _on(Kind.COMPLEX, "gen")),
        ("s_max", _on(Kind.COMPLEX, "gen")),
        ("v_own", _on(Kind.COMPLEX, "bus")),
        ("s_own", _on(Kind.COMPLEX, "gen")),
        ("base_mva", REAL),
    ),
)

_DEMANDS = Offer(
    fields=(
        ("load", _on(Kind.COMPLEX, "bus")),
        ("optimum", REAL),
        ("v", _on(Kind.COMPLEX, "bus")),
        ("s", _on(Kind.COMPLEX, "gen")),
    )
)


def _case_offer(settings: Settings) -> Offer:
    return _CASE


def _demands_offer(settings: Settings) -> Offer:
    return _DEMANDS


def _no_rows(settings: Settings) -> None:
    return None


def _demand_rows(settings: Settings) -> Mapping[str, int] | None:
    assert isinstance(settings, PowerDemandsSettings)
    return split_sizes(settings.samples, settings.split) if settings.file is None else None


POWER_CASE = SourceDeclaration(
    name="power.case",
    role=SourceRole.GIVEN,
    summary="a transmission grid in per unit and radians: a shipped case or a MATPOWER file",
    settings=PowerCaseSettings,
    positional=("name",),
    offer=_case_offer,
    rows=_no_rows,
    builder="pdual.packs.power.cases.case:load_case",
)

POWER_DEMANDS = SourceDeclaration(
    name="power.demands",
    role=SourceRole.DATA,
    summary="random demands on a grid with their optimal power flow and its multipliers",
    settings=PowerDemandsSettings,
    positional=("grid",),
    offer=_demands_offer,
    rows=_demand_rows,
    builder="pdual.packs.power.optima.demands:load_demands",
    drawing="pdual.packs.power.drawing:draw",
)
