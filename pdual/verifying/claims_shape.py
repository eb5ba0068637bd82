"""Claims about rows as functions of the predictions: Lipschitz constants and curvature hold between any two points."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from math import fsum, hypot, isfinite, prod, sqrt
from typing import TypeAlias

from pdual.bounding.parts import Objective, objective_constants
from pdual.compiler.ir import topological
from pdual.compiler.prediction import Breaks, Predictions
from pdual.dsl.operations.operation import Curvature
from pdual.verifying.case import RowsCase
from pdual.verifying.claim import Case, Claim
from pdual.verifying.claims_rows import over_rows
from pdual.verifying.outcomes import Falsified, Undefined
from pdual.verifying.subject import Meant, Subject

Key: TypeAlias = tuple[str, str, tuple[int, ...]]
#: Rounding, relative to the largest number on the way.
ROUNDING = 1e-11


def _constants(subject: Subject, data: str) -> dict[Key, tuple[float | None, Curvature | None]]:
    """Lipschitz constant and curvature of every entry, in the problem's units; None where no rule gives one."""
    remembered: dict[str, dict[Key, tuple[float | None, Curvature | None]]] = subject.__dict__.setdefault("_shapes", {})
    if data not in remembered:
        rules = Predictions(subject.intervals)
        found: dict[Key, tuple[float | None, Curvature | None]] = {}
        for part in subject.graph.over(data).parts:
            for members in part.layout.members:
                at = dict(zip(part.axes, members, strict=True))
                constant: float | None = None
                kind: Curvature | None = None
                with suppress(Breaks):
                    constant = rules.lipschitz(part.residual, at)
                with suppress(Breaks):
                    kind = rules.curvature(part.residual, at)
                found[part.layout.family, part.layout.part, members] = (constant, kind)
        remembered[data] = found
    return remembered[data]


def _entries(points: list[list[Meant]]) -> Iterator[tuple[int, Key, list[float]]]:
    for number, rows in enumerate(zip(*points, strict=True)):
        for key in rows[0].entries:
            entries = [row.entries[key] for row in rows]
            if not any(entry.masked for entry in entries):
                yield number, key, [entry.residual for entry in entries]


def check_lipschitz(subject: Subject, case: Case) -> None:
    """|g(p) - g(q)| <= L |p - q| for the predictions p of the case and others q within their ranges."""
    assert isinstance(case, RowsCase)
    constants = _constants(subject, case.data)
    if all(constant is None for constant, _ in constants.values()):
        raise Undefined("no constant is claimed")
    session = subject.session(case)
    points = session.between
    calls = _calls(subject, case.data)
    distances = [_farthest(apart, calls) for apart in session.distances]
    slack = ROUNDING * session.largest
    for number, key, (one, other, _) in _entries(points):
        constant, distance = constants.get(key, (None, None))[0], distances[number]
        if constant is not None and abs(one - other) > constant * distance * (1 + 1e-9) + slack:
            raise Falsified(
                f"{_name(key)} in row {number} changes by {abs(one - other):.10g} over a distance of {distance:.10g}: more than"
                f" L = {constant:.10g}"
            )


def check_curvature(subject: Subject, case: Case) -> None:
    """Half way between two points a convex row is at most the mean, a concave one at least, an affine one both."""
    assert isinstance(case, RowsCase)
    constants = _constants(subject, case.data)
    if all(kind is None for _, kind in constants.values()):
        raise Undefined("no curvature is claimed")
    session = subject.session(case)
    points = session.between
    slack = ROUNDING * session.largest
    for number, key, (one, other, middle) in _entries(points):
        kind = constants.get(key, (None, None))[1]
        above = middle - (one + other) / 2
        if kind is None:
            continue
        if (kind is not Curvature.CONCAVE and above > slack) or (kind is not Curvature.CONVEX and above < -slack):
            raise Falsified(
                f"{_name(key)} in row {number} is {above:.10g} above the mean half way, and is claimed {kind}"
            )


def _calls(subject: Subject, data: str) -> int:
    """How many calls the rows of a data set read, one under an index as often as its set has members."""
    calls = [node for node in topological(subject.graph.over(data).roots) if node.operation == "call"]
    return sum(prod(subject.graph.sizes.get(axis.set, 1) for axis in call.axes) for call in calls)


def _farthest(apart: list[float], calls: int) -> float:
    """How far the predictions of a row moved at most: calls with the same arguments are one here and several in a vector of predictions."""
    return hypot(*apart, sqrt(max(0, calls - len(apart))) * max(apart, default=0.0))


def check_bowl(subject: Subject, case: Case) -> None:
    """Half way between two points the objective is below the mean by mu / 8 |p - q|^2: p and q are what all calls of a row say, of constraints too."""
    assert isinstance(case, RowsCase)
    claimed = objective_of(subject)
    if claimed.strong <= 0 or claimed.data != (case.data,):
        raise Undefined("no strong convexity is claimed")
    session = subject.session(case)
    points = session.between
    for number, (apart, *rows) in enumerate(zip(session.distances, *points, strict=True)):
        values = [row.objective for row in rows]
        one, other, middle = (value if value is not None and isfinite(value) else None for value in values)
        if one is None or other is None or middle is None:
            raise Undefined("the objective has no number")
        below, least = fsum((one / 2, other / 2, -middle)), claimed.strong / 8 * hypot(*apart) ** 2
        slack = ROUNDING * max(session.largest, abs(one), abs(other))
        if below < least * (1 - 1e-9) - slack:
            raise Falsified(
                f"the objective of row {number} is {below:.10g} below the mean half way, and mu = {claimed.strong:.10g} asks for"
                f" {least:.10g}"
            )


def objective_of(subject: Subject) -> Objective:
    """The constants of the objective of a spec, derived once."""
    found: Objective | None = subject.__dict__.get("_objective")
    if found is None:
        found = subject.__dict__["_objective"] = objective_constants(subject.graph)
    return found


def _name(key: Key) -> str:
    family, part, members = key
    return f"{family}.{part}{list(members)}" if part else f"{family}{list(members)}"


CLAIMS = (
    Claim(
        "lipschitz", "between any predictions a row changes no faster than its Lipschitz constant", over_rows,
        check_lipschitz, RowsCase, every=4,
    ),
    Claim("curvature", "a row bends the way that the rules say", over_rows, check_curvature, RowsCase, every=4),
    Claim(
        "bowl", "the objective bends by mu at least in what every call says that a row reads", over_rows, check_bowl,
        RowsCase, every=4,
    ),
)  # fmt: skip
