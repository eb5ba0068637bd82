"""How the multipliers of optimal power flow on a grid are counted, here and in the literature."""

from __future__ import annotations

from dataclasses import replace
from math import isfinite

from pdual.dsl.declarations.known import Known


def with_counts(known: Known) -> Known:
    """A ``power.case`` with the notes of ``count_notes`` after its own."""
    sizes = {name: len(members) for name, members in known.sets.items()}
    references, rated = sum(known.fields["slack"]), sum(map(isfinite, known.fields["rate"]))
    notes = count_notes(sizes["bus"], references, sizes["gen"], rated, sizes["branch"])
    return replace(known, notes=(*known.notes, *notes))


def count_notes(buses: int, references: int, units: int, rated: int, branches: int) -> tuple[str, ...]:
    """What a spec with every constraint of AC optimal power flow holds, against the count that is usually quoted.

    The usual count is 3 |bus| equalities (Re and Im of the balance, and an angle reference of which only the slack
    buses' are live), 2 |bus| voltage limits, 4 |gen| generation limits and 6 |branch| limits: two-sided apparent power
    at both ends, of which ``|S| >= 0`` says nothing, and two-sided angle differences. ``rated`` branches have a finite
    rating.
    """
    equalities, voltage, generation, limits = 3 * buses, 2 * buses, 4 * units, 6 * branches
    usual = equalities + voltage + generation + limits
    trivial, masked, unrated = 2 * branches, buses - references, 2 * (branches - rated)
    live = usual - trivial - masked - unrated
    return (
        f"AC optimal power flow is usually counted with {usual} multipliers a row on this grid: "
        f"{equalities} equalities + {voltage} voltage + {generation} generation + {limits} branch limits",
        f"{live} of them are live: {masked} angle references are masked and {trivial} rows say |S| >= 0, "
        f"which is always true{f'; {unrated} flow limits are infinite' if unrated else ''}",
    )
