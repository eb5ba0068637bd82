"""An entry as a function of the predictions: Lipschitz constant, curvature, strong convexity, by disciplined rules.

Predictions are the outputs of all model calls that an entry reads, as one vector in the Euclidean norm; fields and parameters are constants of
a row, known within their ranges. Where a rule says nothing, the smallest subexpression that breaks it is named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import hypot, isinf, sqrt

from pdual.compiler.interval_analysis import IntervalAnalysis
from pdual.compiler.ir import IndexAxis, Node, topological
from pdual.compiler.narrowing import Leaf
from pdual.dsl.operations import OPERATIONS
from pdual.dsl.operations.interval import FALSE, TRUE, Interval, add, multiply, point
from pdual.dsl.operations.operation import Curvature
from pdual.dsl.operations.slopes import slopes

At = Mapping[IndexAxis, int]
Gradient = dict[Leaf, Interval]
Bowl = list[tuple[float, Gradient]]
_Entry = tuple[int, tuple[int | None, ...], tuple[int, ...]]
Squares = dict[_Entry, tuple[Node, At, tuple[int, ...], int]]
"""What is squared in a sum of squares, and how often it stands there."""


class Breaks(Exception):  # noqa: N818 - the answer to a question, not an error
    """A rule says nothing about a subexpression."""

    def __init__(self, node: Node, why: str) -> None:
        self.node = node
        self.why = why
        super().__init__(why)


@dataclass
class Predictions:
    """The rules over one graph."""

    intervals: IntervalAnalysis
    _reads: dict[int, bool] = field(default_factory=dict)
    _gradients: dict[_Entry, Gradient] = field(default_factory=dict)
    _curvatures: dict[_Entry, Curvature] = field(default_factory=dict)
    _sums: dict[_Entry, Squares | None] = field(default_factory=dict)
    _bowls: dict[_Entry, Bowl] = field(default_factory=dict)

    def reads(self, node: Node) -> bool:
        """Whether a node's value depends on a prediction."""
        if node.identity not in self._reads:
            for item in topological([node]):
                below = (self._reads[argument.identity] for argument in item.arguments)
                self._reads[item.identity] = item.operation == "output" or any(below)
        return self._reads[node.identity]

    def lipschitz(self, node: Node, at: At, inner: tuple[int, ...] = ()) -> float:
        """The Lipschitz constant of an entry; raises Breaks where there is none that is known."""
        gradient = self.gradient(node, at, inner)
        return hypot(*(max(abs(slope.lo), abs(slope.hi)) for slope in gradient.values()))

    def gradient(self, node: Node, at: At, inner: tuple[int, ...] = ()) -> Gradient:
        """The range of the derivative in every prediction that an entry reads. Raises Breaks."""
        if not self.reads(node):
            return {}
        key = _entry(node, at, inner)
        if key not in self._gradients:
            self._gradients[key] = self._gradient(node, at, inner)
        return self._gradients[key]

    def _gradient(self, node: Node, at: At, inner: tuple[int, ...]) -> Gradient:
        if node.operation == "output":
            call = node.arguments[0]
            return {Leaf(str(call.attributes[0]), str(node.attributes[0]), inner, call.identity): TRUE}
        if node.operation in OPERATIONS:
            return self._composed(node, at, inner)
        total: Gradient = {}
        if node.operation == "reduce" and node.attributes[0] in ("max", "min"):
            terms = [self.gradient(n, a, i) for n, a, i, _ in self._terms(node, at, inner)]
            for leaf in {leaf for term in terms for leaf in term}:
                held = [term.get(leaf, FALSE) for term in terms]
                total[leaf] = Interval(min(x.lo for x in held), max(x.hi for x in held))
            return total
        for child, place, own, weight in self._terms(node, at, inner):
            _accumulate(total, self.gradient(child, place, own), weight)
        return total

    def _composed(self, node: Node, at: At, inner: tuple[int, ...]) -> Gradient:
        places = [inner if argument.inner else () for argument in node.arguments]
        squares = self._squares(node.arguments[0], at, places[0]) if node.operation == "root" else None
        if squares is not None:
            return self._of_norm(squares)
        ranges = [self.intervals.range(a, at, p) for a, p in zip(node.arguments, places, strict=True)]
        total: Gradient = {}
        for argument, place, slope in zip(node.arguments, places, slopes(node.operation, ranges), strict=True):
            inside = self.gradient(argument, at, place)
            if not inside:
                continue
            if slope is None:
                raise Breaks(node, "its value jumps, or has no derivative that is known")
            if isinf(slope.lo) or isinf(slope.hi):
                raise Breaks(node, f"its slope is in {slope}")
            _accumulate(total, inside, slope)
        return total

    def _of_norm(self, squares: Squares) -> Gradient:
        """A norm grows no faster than each of what it is the norm of, times the root of how often that stands there."""
        total: Gradient = {}
        for node, at, inner, times in squares.values():
            _accumulate(total, self.gradient(node, at, inner), Interval(-_root(times), _root(times)))
        return total

    def _terms(
        self, node: Node, at: At, inner: tuple[int, ...]
    ) -> Iterator[tuple[Node, At, tuple[int, ...], Interval]]:
        """What a structural node is the weighted sum of (of max and min: what it chooses from)."""
        child = node.arguments[0]
        own = inner if child.inner else ()
        match node.operation:
            case "spread":
                yield child, at, inner, TRUE
            case "collect":
                axes: tuple[IndexAxis, ...] = node.attributes
                yield child, {**at, **dict(zip(axes, inner, strict=False))}, inner[len(axes) :], TRUE
            case "select":
                place = self.intervals.range(node.arguments[1], at)
                if self.reads(node.arguments[1]):
                    raise Breaks(node, "which entry is taken depends on a prediction")
                members = range(int(place.lo), int(place.hi) + 1) if place.is_bounded else ()
                if not members:
                    raise Breaks(node, "which entry is taken is not known")
                weight = TRUE if len(members) == 1 else Interval(0.0, 1.0)
                for member in members:
                    yield child, at, (member, *inner), weight
            case "average":
                if len(node.arguments) > 1:
                    raise Breaks(node, "how many rows it is over is not known")
                yield child, {}, (), TRUE
            case "reduce":
                yield from self._reduced(node, at, own)
            case "scatter":
                yield from self._scattered(node, at, own)
            case _:
                raise Breaks(node, "no rule of this version covers it")

    def _reduced(
        self, node: Node, at: At, own: tuple[int, ...]
    ) -> Iterator[tuple[Node, At, tuple[int, ...], Interval]]:
        function, axis = node.attributes
        size = self.intervals.sizes.get(axis.set)
        if size is None or function not in ("sum", "mean", "max", "min"):
            raise Breaks(node, "how many values are reduced is not known")
        if len(node.arguments) > 1 and self.reads(node.arguments[1]):
            raise Breaks(node, "what is reduced depends on a prediction")
        places = [{**at, axis: member} for member in range(size)]
        kept = [self.intervals.range(node.arguments[1], p) if len(node.arguments) > 1 else TRUE for p in places]
        sure = sum(item == TRUE for item in kept)
        share = TRUE if function != "mean" else point(1.0 / sure) if sure == size else Interval(0.0, 1.0 / max(1, sure))
        for place, item in zip(places, kept, strict=True):
            if item != FALSE:
                yield node.arguments[0], place, own, multiply(share, item)

    def _scattered(
        self, node: Node, at: At, own: tuple[int, ...]
    ) -> Iterator[tuple[Node, At, tuple[int, ...], Interval]]:
        function, start, end = node.attributes
        here = at.get(end)
        if function != "sum" or here is None or start.set not in self.intervals.sizes:
            raise Breaks(node, "no rule of this version covers it")
        if any(self.reads(argument) for argument in node.arguments[1:]):
            raise Breaks(node, "what is summed depends on a prediction")
        for member in range(self.intervals.sizes[start.set]):
            place = {**at, start: member}
            lands = self.intervals.range(node.arguments[1], place)
            kept = self.intervals.range(node.arguments[2], place) if len(node.arguments) > 2 else TRUE
            if here in lands and kept != FALSE:
                yield node.arguments[0], place, own, kept if lands.is_point else Interval(0.0, 1.0)

    # --- curvature -----------------------------------------------------------------------------------------

    def curvature(self, node: Node, at: At, inner: tuple[int, ...] = ()) -> Curvature:
        """Affine, convex or concave in the predictions. Raises Breaks with the smallest subexpression that is none of them."""
        if not self.reads(node) or node.operation == "output":
            return Curvature.AFFINE
        key = _entry(node, at, inner)
        if key not in self._curvatures:
            self._curvatures[key] = self._curvature(node, at, inner)
        return self._curvatures[key]

    def _curvature(self, node: Node, at: At, inner: tuple[int, ...]) -> Curvature:
        if node.operation in OPERATIONS:
            return self._of_operation(node, at, inner)
        kinds = [(self.curvature(n, a, i), w) for n, a, i, w in self._terms(node, at, inner)]
        if node.operation == "select" and len(kinds) > 1:
            kinds = [(kind, TRUE) for kind, _ in kinds]  # one of them, by row
        chosen = node.attributes[0] if node.operation == "reduce" else "sum"
        outer = {"max": Curvature.CONVEX, "min": Curvature.CONCAVE}.get(chosen, Curvature.AFFINE)
        found = _joined([outer, *(kind for kind, _ in kinds)])
        if found is Curvature.UNKNOWN:
            raise Breaks(node, "it adds what is convex to what is concave")
        return found

    def _of_operation(self, node: Node, at: At, inner: tuple[int, ...]) -> Curvature:
        places = [inner if argument.inner else () for argument in node.arguments]
        if node.operation == "root" and self._is_norm(node.arguments[0], at, places[0]):
            return Curvature.CONVEX
        kinds = [self.curvature(a, at, p) for a, p in zip(node.arguments, places, strict=True)]
        ranges = [self.intervals.range(a, at, p) for a, p in zip(node.arguments, places, strict=True)]
        moving = [self.reads(argument) for argument in node.arguments]
        found = self._rule(node, kinds, ranges, moving)
        if found is Curvature.UNKNOWN:
            raise Breaks(node, f"`{node.operation}` of this is neither convex nor concave by the rules")
        return found

    def _rule(
        self, node: Node, kinds: Sequence[Curvature], ranges: Sequence[Interval], moving: Sequence[bool]
    ) -> Curvature:
        if node.operation in ("multiply", "divide"):
            if all(moving) or (node.operation == "divide" and moving[1]):
                return Curvature.UNKNOWN
            kind, factor = (kinds[0], ranges[1]) if moving[0] else (kinds[1], ranges[0])
            if kind is Curvature.AFFINE or factor.lo >= 0:
                return kind
            return _turned(kind) if factor.hi <= 0 else Curvature.UNKNOWN
        if node.operation == "where":
            return Curvature.UNKNOWN if moving[0] else _joined(kinds[1:])
        operation = OPERATIONS[node.operation]
        signs = [_direction(node.operation, operation.monotone, n, r) for n, r in enumerate(ranges)]
        outer = operation.curvature
        return _joined([outer, *(_through(outer, kind, sign) for kind, sign in zip(kinds, signs, strict=True))])

    def _is_norm(self, node: Node, at: At, inner: tuple[int, ...]) -> bool:
        """Whether this is a sum of squares of affine values: its root is then a norm."""
        squares = self._squares(node, at, inner)
        return squares is not None and all(
            self.curvature(n, a, i) is Curvature.AFFINE for n, a, i, _ in squares.values()
        )

    def _squares(self, node: Node, at: At, inner: tuple[int, ...]) -> Squares | None:
        """What a sum of squares is the sum of the squares of; None where it is another thing."""
        key = _entry(node, at, inner)
        if key not in self._sums:
            self._sums[key] = self._summed_squares(node, at, inner)
        return self._sums[key]

    def _summed_squares(self, node: Node, at: At, inner: tuple[int, ...]) -> Squares | None:
        match node.operation:
            case "square":
                item = node.arguments[0]
                place = inner if item.inner else ()
                return {_entry(item, at, place): (item, at, place, 1)}
            case "add":
                total: Squares = {}
                for argument in node.arguments:
                    part = self._squares(argument, at, inner if argument.inner else ())
                    if part is None:
                        return None
                    for key, (item, where, place, times) in part.items():
                        total[key] = (item, where, place, times + (total[key][3] if key in total else 0))
                return total
            case "select" | "collect" | "spread":
                terms = list(self._terms(node, at, inner))
                return self._squares(*terms[0][:3]) if len(terms) == 1 else None
        return None

    # --- strong convexity ----------------------------------------------------------------------------------

    def bowl(self, node: Node, at: At, inner: tuple[int, ...] = ()) -> Bowl:
        """Directions a_k with weights w_k >= 0 such that the entry minus sum of w_k / 2 (a_k x)^2 is convex. Raises Breaks where it is not."""
        key = _entry(node, at, inner)
        if key not in self._bowls:
            self._bowls[key] = _gathered(self._bowl(node, at, inner))
        return self._bowls[key]

    def _bowl(self, node: Node, at: At, inner: tuple[int, ...]) -> Bowl:
        if self.curvature(node, at, inner) not in (Curvature.AFFINE, Curvature.CONVEX):
            raise Breaks(node, "it is concave")
        places = [inner if argument.inner else () for argument in node.arguments]
        match node.operation:
            case "square" if self.curvature(node.arguments[0], at, places[0]) is Curvature.AFFINE:
                return [(2.0, self.gradient(node.arguments[0], at, places[0]))]
            case "add":
                return [item for a, p in zip(node.arguments, places, strict=True) for item in self.bowl(a, at, p)]
            case "subtract" if not self.reads(node.arguments[1]):
                return self.bowl(node.arguments[0], at, places[0])
            case "multiply" | "divide":
                moving = 0 if self.reads(node.arguments[0]) else 1
                factor = self.intervals.range(node.arguments[1 - moving], at, places[1 - moving])
                least = factor.lo if node.operation == "multiply" else 1.0 / factor.hi if factor.hi > 0 else 0.0
                if least > 0:
                    return [(least * w, a) for w, a in self.bowl(node.arguments[moving], at, places[moving])]
            case "reduce" | "scatter" if node.attributes[0] in ("sum", "mean"):
                terms = list(self._terms(node, at, inner))
                return [(w * max(0.0, k.lo), a) for n, p, i, k in terms for w, a in self.bowl(n, p, i)]
            case "spread" | "collect" | "select":
                terms = list(self._terms(node, at, inner))
                if len(terms) == 1:
                    return self.bowl(*terms[0][:3])
        return []


def _entry(node: Node, at: At, inner: tuple[int, ...]) -> _Entry:
    return node.identity, tuple(map(at.get, node.axes)), inner


def _gathered(bowl: Bowl) -> Bowl:
    """Each direction once, with the sum of its weights: a value may stand in a sum very many times."""
    weights: dict[int, tuple[float, Gradient]] = {}
    for weight, direction in bowl:
        before = weights.get(id(direction), (0.0, direction))[0]
        weights[id(direction)] = before + weight, direction
    return list(weights.values())


def _root(times: int) -> float:
    """The root of a count, rounded up."""
    return 1.0 if times == 1 else sqrt(times) * (1 + 2.0**-50)


def _accumulate(total: Gradient, inside: Gradient, slope: Interval) -> None:
    for leaf, known in inside.items():
        term = multiply(slope, known)
        total[leaf] = add(total[leaf], term) if leaf in total else term


def _joined(kinds: Sequence[Curvature]) -> Curvature:
    bent = {kind for kind in kinds if kind is not Curvature.AFFINE}
    if not bent:
        return Curvature.AFFINE
    return bent.pop() if len(bent) == 1 else Curvature.UNKNOWN


def _turned(kind: Curvature) -> Curvature:
    return {Curvature.CONVEX: Curvature.CONCAVE, Curvature.CONCAVE: Curvature.CONVEX}.get(kind, kind)


def _direction(operation: str, monotone: str, position: int, known: Interval) -> str:
    """Whether an operation grows in an argument; squares and moduli grow where it is not negative."""
    if operation in ("square", "abs"):
        return "+" if known.lo >= 0 else "-" if known.hi <= 0 else "?"
    return monotone[position] if len(monotone) > position else monotone[0]


def _through(outer: Curvature, kind: Curvature, sign: str) -> Curvature:
    """What an argument of this curvature makes of the result."""
    if kind is Curvature.AFFINE:
        return Curvature.AFFINE
    found = kind if sign == "+" else _turned(kind) if sign == "-" else Curvature.UNKNOWN
    return found if outer in (Curvature.AFFINE, found) else Curvature.UNKNOWN
