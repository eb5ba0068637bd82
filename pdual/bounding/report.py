"""What ``pdual bounds`` reports: claims with derivations, assumptions, the certificate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import fsum, inf, isfinite
from typing import Any

from pdual.bounding.assumptions import Assumption, assumptions, covered, has_convex_class
from pdual.bounding.certificate import MEANINGS, Bound, certificate
from pdual.bounding.estimate import Estimate, Measure, Measured, rows, used
from pdual.bounding.parts import Constants, Objective, objective_constants, part_constants, scaling_advice
from pdual.compiler.graph import Graph
from pdual.dsl.diagnostics import refuse
from pdual.dsl.near import nearest
from pdual.explaining.render import table
from pdual.explaining.text import between, number

#: What a user may give; the rest is derived.
GIVEN = ("s", "nuH", "nuPhi", "zeta0", "zeta", "zetaL", "R0", "R", "RL", "N", "N0", "delta", "rho")

#: How a constant that was measured is said to be known.
ORIGINS = {"estimate": "estimated", "bound": "bound", "choice": "chosen"}


@dataclass(frozen=True)
class Report:
    """All of it; ``known`` are the constants that went into the certificate, ``given`` those of them that the user gave."""

    parts: tuple[Constants, ...]
    objective: Objective
    estimates: tuple[Estimate, ...]
    assumptions: tuple[Assumption, ...]
    known: Mapping[str, float]
    given: Mapping[str, float]
    bounds: tuple[Bound, ...]
    advice: tuple[str, ...]

    @property
    def covered(self) -> bool:
        """Whether no assumption fails."""
        return covered(self.assumptions)

    @property
    def estimated(self) -> tuple[str, ...]:
        """The constants of the certificate that nothing vouches for beyond the rows they were measured on."""
        taken = [item.name for item in self.estimates if item.used and item.kind == "estimate"]
        return tuple(name for name in taken if name not in self.given)


def report(graph: Graph, given: Mapping[str, float], measure: Measure | None = None) -> Report:
    """The report on a lowered spec; ``measure`` asks a run for what is not derived, and what is ``given`` counts in its place."""
    parts = part_constants(graph)
    objective = objective_constants(graph)
    found = measure(parts, objective) if measure is not None else Measured()
    measured = used(found.estimates)
    hull = {"nuH": 0.0} if has_convex_class(graph) else {}
    known = {"rho": graph.spec.solve.rho, **hull, **found.facts, **measured, **given}
    known |= _derived(parts, objective, known["rho"])
    missed = [item.name for item in found.estimates if item.value is not None and item.value <= 0 and not item.used]
    origins = dict.fromkeys(hull, "derived") | dict.fromkeys(missed, "missed") | dict.fromkeys(given, "given")
    origins |= {
        item.name: ORIGINS[item.kind]
        for item in found.estimates
        if item.name in measured and item.name not in given and item.used
    }
    return Report(
        tuple(parts),
        objective,
        found.estimates,
        tuple(assumptions(graph, parts, objective, known, origins)),
        known,
        given,
        tuple(certificate(known)),
        tuple(_advice(parts, objective, known)),
    )


def numbers(given: Mapping[str, str]) -> dict[str, float]:
    """Constants as they are given. Raises PD716 for one that may not be, PD704 where it is no number."""
    found = {}
    for name, text in given.items():
        if name not in GIVEN:
            known = ", ".join(f"`{item}`" for item in GIVEN)
            raise refuse("PD716", name=name, names=known, near=nearest(name, GIVEN))
        try:
            value = float(text)
        except ValueError:
            value = -1.0
        if not 0 <= value < inf:
            raise refuse("PD704", option="--know", expected="a number that is not negative", found=text)
        found[name] = value
    return found


def _derived(parts: Sequence[Constants], objective: Objective, rho: float) -> dict[str, float]:
    return {
        "B0": objective.bound,
        "V0": objective.width,
        "B": fsum(part.entries * part.bound for part in parts),
        "L0": objective.lipschitz,
        "LC": fsum(part.lipschitz_caps for part in parts),
        "L1": fsum(part.lipschitz_sum for part in parts),
        "L2": fsum(part.lipschitz_squares for part in parts),
        "W": fsum(part.entries * max(part.bound, part.cap / rho) for part in parts),
        "n": float(sum(part.entries for part in parts)),
        "Gamma": fsum(part.entries * part.cap for part in parts),
        # No strong convexity is known as none: what is divided by it is then missing, not infinite.
        **({"mu": objective.strong} if objective.strong > 0 else {}),
    }


def _advice(parts: Sequence[Constants], objective: Objective, known: Mapping[str, float]) -> Iterator[str]:
    yield from scaling_advice(parts)
    margin = known.get("s", 0.0)
    # An equality has multipliers of both signs, and s says nothing of averages.
    signed = any(part.equality or part.average for part in parts)
    if margin > 0 and isfinite(objective.width) and parts and not signed:
        yield (
            f"optimal multipliers of a row sum to at most {objective.width / margin:.6g} in the mean over rows: (largest - smallest objective) / s;"
            " a single row may need a larger one, and a cap above this may bind there"
        )


def lines(report: Report) -> Iterator[str]:
    """The report for people."""
    yield "constraints, scaled"
    head = ("part", "entries", "form", "in", "L", "curvature", "cap")
    yield from (f"  {row}" for row in table([head, *map(_part, report.parts)]))
    for part in report.parts:
        for reason in part.breaks:
            yield f"    {part.name}: {reason}"
    yield "objective, scaled"
    objective = report.objective
    shape = str(objective.curvature) if objective.curvature is not None else "no rule"
    yield f"  in {between(*objective.range)}, L0 = {_constant(objective.lipschitz)}, {shape}, mu = {number(objective.strong)}"
    for reason in objective.breaks:
        yield f"    {reason}"
    if report.estimates:
        yield "measured on the run"
        yield from (f"  {row}" for row in table(list(rows(report.estimates, report.given))))
    yield "assumptions of the paper"
    yield from (f"  {row}" for row in table([(item.name, item.verdict, item.why) for item in report.assumptions]))
    with_estimates = f", with estimates of {', '.join(report.estimated)}" if report.estimated else ""
    yield "certificate" + (with_estimates if report.covered else ": not covered, since an assumption fails")
    if report.covered:
        for bound in report.bounds:
            yield f"  {bound.name}: {bound.bounds} <= {bound.left}"
        missing = sorted({name for bound in report.bounds for name in bound.missing})
        yield from (f"    {name}: {MEANINGS[name]}" for name in missing)
    if report.advice:
        yield "advice"
        yield from (f"  {item}" for item in report.advice)


def _part(part: Constants) -> tuple[str, ...]:
    shape = str(part.curvature) if part.curvature is not None else "no rule"
    form = "== 0" if part.equality else "<= 0"
    return (
        part.name,
        str(part.entries),
        form,
        between(*part.range),
        _constant(part.lipschitz),
        shape,
        number_or(part.cap),
    )


def number_or(value: float) -> str:
    """A number, or ``inf``."""
    return number(value) if isfinite(value) else "inf"


def _constant(value: float) -> str:
    return number(value) if isfinite(value) else "none"


def as_json(report: Report) -> dict[str, Any]:
    """The report in the command's JSON document; the certificate is null where it is not covered."""
    return {
        "parts": [asdict(part) for part in report.parts],
        "objective": asdict(report.objective),
        "estimates": [asdict(item) for item in report.estimates],
        "assumptions": [asdict(item) for item in report.assumptions],
        "constants": dict(report.known),
        "covered": report.covered,
        "certificate": [asdict(bound) for bound in report.bounds] if report.covered else None,
        "advice": list(report.advice),
    }
