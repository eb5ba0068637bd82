"""Constants of every part of a spec, in scaled units: range, Lipschitz constant, curvature, cap; and of its objective."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite, prod
from typing import TypeVar

from pdual.compiler.compile import interval_analysis
from pdual.compiler.graph import DualChoice, Graph
from pdual.compiler.ir import Node, topological
from pdual.compiler.prediction import Breaks, Gradient, Predictions
from pdual.compiler.rows import PartRows
from pdual.dsl.operations.interval import Interval, add, multiply, point
from pdual.dsl.operations.operation import Curvature
from pdual.explaining.text import written

T = TypeVar("T")

#: Scaled rows of parts that differ by more than this factor are worth another scale.
APART = 1e3


@dataclass(frozen=True)
class Constants:
    """Of one part, or of the objective; everything scaled.

    ``range`` holds every entry's value; ``lipschitz`` is the largest of its entries' constants in the predictions (inf where there is
    none, and ``breaks`` says what breaks the rule); ``lipschitz_sum`` is their sum, ``lipschitz_squares`` that of the squares, each
    times the entry's cap, or not, as named. ``curvature`` is None where a rule broke. Of an ``average`` they are those of its
    mean in the predictions of a row, in the norm of the mean square over rows.
    """

    name: str
    data: str
    entries: int
    equality: bool
    range: Interval
    lipschitz: float
    lipschitz_caps: float
    lipschitz_sum: float
    lipschitz_squares: float
    curvature: Curvature | None
    cap: float
    breaks: tuple[str, ...]
    average: bool = False

    @property
    def bound(self) -> float:
        """B: the largest |value|."""
        return max(abs(self.range.lo), abs(self.range.hi))


@dataclass(frozen=True)
class Objective:
    """The objective: its range and so B0, its constants in the predictions, ``strong`` (mu), which data sets it reads."""

    range: Interval
    lipschitz: float
    curvature: Curvature | None
    strong: float
    data: tuple[str, ...]
    breaks: tuple[str, ...]

    @property
    def bound(self) -> float:
        """B0: the largest |value|."""
        return max(abs(self.range.lo), abs(self.range.hi))

    @property
    def width(self) -> float:
        """V0: the largest value less the smallest; over the Slater margin it bounds the multipliers of an optimum."""
        return self.range.hi - self.range.lo


def part_constants(graph: Graph) -> list[Constants]:
    """The constants of every part of every data set."""
    rules = Predictions(interval_analysis(graph.spec, graph.knowns, graph.sizes))
    found = [_part(graph, data.data, data.duals, part, rules) for data in graph.data for part in data.parts]
    averages = graph.averages
    over = [", ".join(averages.data_of(part)) for part in averages.parts]
    more = [_part(graph, data, averages.duals, part, rules) for data, part in zip(over, averages.parts, strict=True)]
    return found + [replace(item, average=True) for item in more]


def _part(graph: Graph, data: str, duals: Sequence[DualChoice], part: PartRows, rules: Predictions) -> Constants:
    layout = part.layout
    cap = next((choice.cap for choice in duals if layout.name in choice.parts), inf)
    low, high, largest, total, squares = inf, -inf, 0.0, 0.0, 0.0
    kinds: set[Curvature | None] = set()
    breaks: dict[str, None] = {}
    for members, interval, scale in zip(layout.members, part.intervals, layout.scale, strict=True):
        at = dict(zip(part.axes, members, strict=True))
        low, high = min(low, interval.lo / scale), max(high, interval.hi / scale)
        slope = _asked(lambda at=at: rules.lipschitz(part.residual, at), inf, graph, breaks) / scale  # type: ignore[misc]
        kinds.add(_asked(lambda at=at: rules.curvature(part.residual, at), None, graph, breaks))  # type: ignore[misc]
        largest, total, squares = max(largest, slope), total + slope, squares + slope * slope
    held = kinds - {Curvature.AFFINE}
    curvature = Curvature.AFFINE if not held else held.pop() if len(held) == 1 else None
    return Constants(
        layout.name, data, layout.size, layout.sense == "==", Interval(low, high), largest, cap * total if total else 0.0,
        total, squares, curvature, cap, tuple(breaks),
    )  # fmt: skip


def objective_constants(graph: Graph) -> Objective:
    """The constants of the whole objective, which must be over rows; over groups and without data none are derived."""
    rules = Predictions(interval_analysis(graph.spec, graph.knowns, graph.sizes))
    terms = [(data.data, term) for data in graph.data for term in data.objective]
    grouped = [data.data for data in graph.data if any(group.objective for group in data.groups)]
    breaks: dict[str, None] = {}
    total, slope = point(0.0), 0.0
    kinds: set[Curvature | None] = set()
    bowl: list[tuple[float, Gradient]] = []
    for _, term in terms:
        total = add(total, multiply(rules.intervals.range(term.value, {}), point(1.0 / term.scale)))
        slope += _asked(lambda t=term: rules.lipschitz(t.value, {}), inf, graph, breaks) / term.scale  # type: ignore[misc]
        kinds.add(_asked(lambda t=term: rules.curvature(t.value, {}), None, graph, breaks))  # type: ignore[misc]
        none: list[tuple[float, Gradient]] = []
        found = _asked(lambda t=term: rules.bowl(t.value, {}), none, graph, breaks)  # type: ignore[misc]
        bowl += [(weight / term.scale, direction) for weight, direction in found]
    for data in grouped:
        breaks[f"the objective over groups of {data}: no rule of this version covers it"] = None
        total, slope = Interval(-inf, inf), inf
        kinds.add(None)
    for term in graph.data_free:
        total = add(total, multiply(rules.intervals.range(term.value, {}), point(1.0 / term.scale)))
    held = kinds - {Curvature.AFFINE}
    curvature = Curvature.AFFINE if not held else held.pop() if len(held) == 1 else None
    data_sets = tuple(dict.fromkeys([*(name for name, _ in terms), *grouped]))
    mu = _smallest(bowl, _predictions(graph)) if curvature is Curvature.CONVEX else 0.0
    return Objective(total, slope, curvature, mu, data_sets, tuple(breaks))


def _predictions(graph: Graph) -> int | None:
    """How many real predictions a row's objective, constraints and duals read; None where that is not known."""
    from pdual.dsl.declarations.signature import width

    # Calls count, not models: each has predictions of its own, and one under an index as many as its set has members.
    models = {model.name: model for model in graph.spec.models}
    total = 0
    for call in _calls(graph):
        sizes = [graph.sizes.get(axis.set) for axis in call.axes]
        outputs = [width(output.type, graph.sizes) for output in models[str(call.attributes[0])].signature.outputs]
        if None in sizes or None in outputs:
            return None
        total += prod(size for size in sizes if size is not None) * sum(size for size in outputs if size is not None)
    return total


def _calls(graph: Graph) -> list[Node]:
    roots = [term.value for data in graph.data for term in data.objective]
    parts = [*(part for data in graph.data for part in data.parts), *graph.averages.parts]
    roots += [root for part in parts for root in (part.residual, part.mask) if root is not None]
    found = [node for node in topological(roots) if node.operation == "call"]
    frozen = graph.spec.frozen
    # Multipliers that read a prediction are those of a row only where the minimiser has no choice there. A frozen model has none.
    read = topological(node for data in graph.data for node in data.features.values())
    found += [node for node in read if node.operation == "call" and node.attributes[0] not in frozen]
    return list({node.identity: node for node in found}.values())


def _smallest(bowl: Sequence[tuple[float, Gradient]], predictions: int | None) -> float:
    """The smallest eigenvalue of sum of w a a^T over all predictions, less what the rounding of a symmetric solver may add."""
    import numpy as np

    leaves = list(dict.fromkeys(leaf for _, direction in bowl for leaf in direction))
    if not leaves or predictions is None or len(leaves) < predictions:
        return 0.0  # some prediction does not enter: flat along it
    matrix = np.zeros((len(leaves), len(leaves)))
    for weight, direction in bowl:
        if any(slope.hi - slope.lo > 1e-9 * max(abs(slope.lo), abs(slope.hi)) for slope in direction.values()):
            if len(direction) > 1:
                continue  # a direction that differs by row: what it adds to each is not known
            ((leaf, slope),) = direction.items()
            least = 0.0 if 0 in slope else min(abs(slope.lo), abs(slope.hi))
            matrix[leaves.index(leaf), leaves.index(leaf)] += weight * least**2
            continue
        vector = np.zeros(len(leaves))
        for leaf, slope in direction.items():
            vector[leaves.index(leaf)] = (slope.lo + slope.hi) / 2
        matrix += weight * np.outer(vector, vector)
    found = float(np.linalg.eigvalsh(matrix)[0])
    return max(0.0, found - 1e-9 * float(np.abs(matrix).max()))


def _asked(ask: Callable[[], T], otherwise: T, graph: Graph, breaks: dict[str, None]) -> T:
    try:
        return ask()
    except Breaks as reason:
        words = written(graph.spec.source, reason.node.span) or reason.node.operation
        breaks[f"`{words}`: {reason.why}"] = None
        return otherwise


def scaling_advice(parts: Sequence[Constants]) -> list[str]:
    """Parts whose scaled rows are orders of magnitude apart, as far as ranges tell."""
    known = [part for part in parts if isfinite(part.bound) and part.bound > 0]
    if len(known) < 2:
        return []
    small, large = min(known, key=lambda p: p.bound), max(known, key=lambda p: p.bound)
    if large.bound / small.bound <= APART:
        return []
    return [
        f"rows of {large.name} may reach {large.bound:.3g} and those of {small.name} {small.bound:.3g}, in units of their feasible ranges,"
        " by the declared ranges: the same rho weighs both"
    ]


__all__ = ["Constants", "Objective", "objective_constants", "part_constants", "scaling_advice"]
