"""The paper's assumptions, one by one: whether a spec meets them, and why.

Boero, Nixon and Ribeiro, "Learning Samples Importance: Parameterizing Dual Variables in
Everywhere Learning": uniform convergence, approximation of the optimal
multiplier, convex and Lipschitz losses, approximate convexity, strict Slater, complexity of the dual class.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

from pdual.bounding.parts import Constants, Objective
from pdual.compiler.graph import Graph
from pdual.compiler.ir import called, nested
from pdual.dsl.declarations.registry import architectures
from pdual.dsl.operations.operation import Curvature

HOLDS, FAILS, UNKNOWN = "holds", "fails", "unknown"


@dataclass(frozen=True)
class Assumption:
    """One assumption, its verdict, and the reason."""

    name: str
    verdict: str
    why: str


def assumptions(
    graph: Graph,
    parts: Sequence[Constants],
    objective: Objective,
    known: Mapping[str, float],
    origins: Mapping[str, str],
) -> list[Assumption]:
    """All of them, in the paper's order. ``origins`` says of constants whether they are ``given`` or ``estimated``; ``missed``: a
    margin that is not positive.
    """
    return [
        *_on_rows(parts),
        _one_distribution(graph, objective),
        _bounded(parts, objective),
        _capped(parts),
        _given("uniform convergence", known, origins, ("zeta0", "zeta"), ("R0", "R"), "rates of the loss classes"),
        _given(
            "approximation of the multiplier",
            known,
            origins,
            ("nuPhi",),
            (),
            "the distance of the dual class from lambda*",
        ),
        _curved(parts, objective),
        _lipschitz(parts, objective),
        _given(
            "approximate convexity of the model class",
            known,
            origins,
            ("nuH",),
            (),
            "the distance from the convex hull",
        ),
        _slater(parts, known, origins),
        _given("complexity of the dual class", known, origins, ("zetaL",), ("RL",), "the rate of the dual class"),
    ]


def covered(assumptions: Sequence[Assumption]) -> bool:
    """Whether no assumption fails: otherwise the bounds are not covered by the paper's theorems."""
    return all(item.verdict != FAILS for item in assumptions)


def has_convex_class(graph: Graph) -> bool:
    """Whether the models that constraints and objective read form a convex class: then it is its own convex hull, and nuH is 0."""
    roots = [
        root for data in graph.data for root in (*(t.value for t in data.objective), *(p.residual for p in data.parts))
    ]
    roots += [term.value for data in graph.data for group in data.groups for term in group.objective]
    names = called(roots)
    models = [model for model in graph.spec.models if model.name in names and model.frozen_of is None]
    convex = [
        model.architecture is not None and architectures()[model.architecture.architecture].convex(model.signature)
        for model in models
    ]
    # Functions of the form f(g(x)) are no convex set where those f and g are: the weights multiply.
    return bool(convex) and all(convex) and not nested(roots)


def _on_rows(parts: Sequence[Constants]) -> list[Assumption]:
    """The theorems are about constraints that hold on every row; nothing is said of specs that have no others."""
    averages = [part.name for part in parts if part.average]
    if not averages:
        return []
    why = f"{', '.join(averages)} bounds an average, and the theorems are about what holds on every row"
    return [Assumption("constraints on every row", FAILS, why)]


def _one_distribution(graph: Graph, objective: Objective) -> Assumption:
    name = "one set of rows"
    constrained = {data.data for data in graph.data if data.parts or data.means}
    if not objective.data:
        return Assumption(name, FAILS, "the objective reads no rows: it does not depend on predictions")
    if constrained and set(objective.data) != constrained:
        over = f"the objective is over {', '.join(objective.data)}, constraints over {', '.join(sorted(constrained))}"
        return Assumption(name, FAILS, f"{over}: strong convexity says nothing on the rows of the constraints")
    return Assumption(name, HOLDS, f"objective and constraints are over {', '.join(objective.data)}")


def _bounded(parts: Sequence[Constants], objective: Objective) -> Assumption:
    open_ = [part.name for part in parts if not isfinite(part.bound)]
    if not isfinite(objective.bound):
        open_ = ["the objective", *open_]
    if open_:
        why = f"no bound of {', '.join(open_)}: declare ranges (`in [lo, hi]`) of the outputs and fields that they read"
        return Assumption("bounded losses", FAILS, why)
    return Assumption("bounded losses", HOLDS, f"B0 = {objective.bound:.6g}, largest B = {_largest(parts):.6g}, scaled")


def _largest(parts: Sequence[Constants]) -> float:
    return max((part.bound for part in parts), default=0.0)


def _capped(parts: Sequence[Constants]) -> Assumption:
    open_ = [part.name for part in parts if not isfinite(part.cap)]
    if open_:
        return Assumption("bounded multipliers", FAILS, f"{', '.join(open_)} has no cap")
    return Assumption("bounded multipliers", HOLDS, "every multiplier has a cap")


def _given(
    name: str,
    known: Mapping[str, float],
    origins: Mapping[str, str],
    direct: Sequence[str],
    through: Sequence[str],
    what: str,
) -> Assumption:
    if all(item in known for item in direct):
        origins_ = {origins.get(item, "given") for item in direct}
        origin = next((item for item in ("estimated", "derived") if item in origins_), "given")
        return Assumption(name, HOLDS, f"{origin}: " + ", ".join(f"{item} = {known[item]:g}" for item in direct))
    if through and all(item in known for item in (*through, "N", "N0", "delta")):
        said = ", ".join(f"{item} = {known[item]:g} ({origins.get(item, 'given')})" for item in through)
        return Assumption(name, HOLDS, f"by Rademacher complexities: {said}")
    return Assumption(name, UNKNOWN, f"{what} must be estimated: --know {' --know '.join(f'{d}=...' for d in direct)}")


def _curved(parts: Sequence[Constants], objective: Objective) -> Assumption:
    name = "convex losses, strongly convex objective"
    wrong = [p for p in parts if p.curvature not in (Curvature.AFFINE, *([] if p.equality else [Curvature.CONVEX]))]
    if wrong:
        first = wrong[0].breaks[0] if wrong[0].breaks else f"it is {wrong[0].curvature}"
        return Assumption(name, FAILS, f"{wrong[0].name} is not convex by the rules: {first}")
    if objective.curvature not in (Curvature.AFFINE, Curvature.CONVEX):
        first = objective.breaks[0] if objective.breaks else f"it is {objective.curvature}"
        return Assumption(name, FAILS, f"the objective is not convex by the rules: {first}")
    if objective.strong <= 0:
        return Assumption(
            name,
            FAILS,
            "convex, but mu = 0: some prediction is not curved; with nuH = 0 the augmented bound needs no mu",
        )
    return Assumption(name, HOLDS, f"convex by the rules, mu = {objective.strong:.6g}")


def _lipschitz(parts: Sequence[Constants], objective: Objective) -> Assumption:
    open_ = [p.name for p in parts if not isfinite(p.lipschitz)]
    reasons = [reason for p in parts if not isfinite(p.lipschitz) for reason in p.breaks]
    if not isfinite(objective.lipschitz):
        open_, reasons = ["the objective", *open_], [*objective.breaks, *reasons]
    if open_:
        first = f": {reasons[0]}" if reasons else ""
        return Assumption("Lipschitz losses", FAILS, f"no constant of {', '.join(open_)}{first}")
    largest = max((p.lipschitz for p in parts), default=0.0)
    return Assumption("Lipschitz losses", HOLDS, f"L0 = {objective.lipschitz:.6g}, largest L = {largest:.6g}, scaled")


def _slater(parts: Sequence[Constants], known: Mapping[str, float], origins: Mapping[str, str]) -> Assumption:
    name = "strict feasibility"
    equalities = [part.name for part in parts if part.equality]
    if equalities:
        return Assumption(name, FAILS, f"{', '.join(equalities)} is an equality, which has no interior: not covered")
    never = [part.name for part in parts if part.range.lo >= 0]
    if never:
        return Assumption(name, FAILS, f"{', '.join(never)} is never met with a margin within the declared ranges")
    if "s" in known:
        return Assumption(name, HOLDS, f"{origins.get('s', 'given')}: s = {known['s']:g}")
    if origins.get("s") == "missed":
        return Assumption(
            name, UNKNOWN, "the predictor of the run does not meet every constraint: no Slater point was shown"
        )
    margins = [-part.range.lo for part in parts if isfinite(part.range.lo)]
    most = f" (at most {min(margins):.6g} by the ranges)" if margins else ""
    return Assumption(name, UNKNOWN, f"the margin must be measured: --know s=...{most}")
