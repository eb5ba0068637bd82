"""The claim about the size of optimal multipliers, on programs that are small enough to be solved by hand."""

from __future__ import annotations

from math import isfinite

from pdual.bounding.certificate import certificate
from pdual.bounding.parts import Objective
from pdual.verifying.case import RowsCase
from pdual.verifying.claim import Case, Claim
from pdual.verifying.claims_rows import over_rows
from pdual.verifying.claims_shape import objective_of
from pdual.verifying.outcomes import Falsified, Undefined
from pdual.verifying.subject import Meant, Subject


def check_prices(subject: Subject, case: Case) -> None:
    """A row chooses w in [0, 1] between two predictions p and q, and pays the mean of its objective there.

    One constraint moves by the same mean from -s at p to just above 0 at q, which its threshold is set to. Where q is cheaper, the optimum
    stays just short of it, p is a Slater point of margin s, and the multiplier is what q is cheaper by over what the row changes by.
    """
    assert isinstance(case, RowsCase)
    objective = objective_of(subject)
    if objective.data != (case.data,) or not isfinite(objective.width):
        raise Undefined("no range of the objective is claimed")
    largest = _largest(subject, objective)
    told = False
    for number, (first, other, _) in enumerate(zip(*subject.session(case).between, strict=True)):
        if (price := _price(first, other)) is not None:
            told = True
            if price > largest * (1 + 1e-9) + 1e-12 * abs(objective.bound):
                raise Falsified(
                    f"in row {number} the optimal multiplier is {price:.10g} / s, and at most {largest:.10g} / s is claimed"
                )
    if not told:
        raise Undefined("no constraint binds")


def _largest(subject: Subject, objective: Objective) -> float:
    """What the certificate takes for the sum of optimal multipliers, times s: the duality gap where all else is 1 or 0. Found once."""
    known: float | None = subject.__dict__.get("_prices")
    if known is None:
        known = subject.__dict__["_prices"] = _gap(objective)
    return known


def _gap(objective: Objective) -> float:
    nothing = dict.fromkeys(("L0", "nuPhi", "zeta0", "zeta", "zetaL", "B", "Gamma"), 0.0)
    known = {"B0": objective.bound, "V0": objective.width, "L1": 1.0, "s": 1.0, "nuH": 1.0, **nothing}
    (found,) = [bound.value for bound in certificate(known) if bound.name == "sensitivity"]
    assert found is not None
    return found


def _price(one: Meant, other: Meant) -> float | None:
    """The multiplier times s; None where the objective is the same at both points, or no inequality tells them apart."""
    if one.objective is None or other.objective is None or not isfinite(one.objective - other.objective):
        return None
    dear, cheap = (one, other) if one.objective > other.objective else (other, one)
    assert dear.objective is not None
    assert cheap.objective is not None
    changes = [
        cheap.entries[key].residual - entry.residual
        for key, entry in dear.entries.items()
        if not entry.masked and key in cheap.entries and not cheap.entries[key].masked
    ]
    if dear.objective == cheap.objective or not any(change > 0 and isfinite(change) for change in changes):
        return None
    return dear.objective - cheap.objective


CLAIMS = (
    Claim(
        "prices", "optimal multipliers of a row sum to at most (largest - smallest objective) / s", over_rows, check_prices,
        RowsCase, every=4,
    ),
)  # fmt: skip
