"""What no weight can move: a value whose slope in every weight is 0 wherever it has one.

A multiplier then grows without effect, and descent finds nothing to follow. Said only where it is certain: a slope that is not
known counts as one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from pdual.compiler.graph import Graph, ObjectiveTerm
from pdual.compiler.interval_analysis import IntervalAnalysis
from pdual.compiler.ir import Node, Scalar
from pdual.compiler.layout import Sense
from pdual.compiler.rows import PartRows
from pdual.dsl import typed
from pdual.dsl.diagnostics import Collector, Label
from pdual.dsl.operations import OPERATIONS
from pdual.dsl.operations.interval import EVERYTHING, FALSE, Interval
from pdual.dsl.operations.slopes import slopes
from pdual.dsl.spans import Span

#: Structural nodes that pass on the slope of their first argument alone: the others say where, and which count.
_OF_THE_FIRST = frozenset(
    {"output", "select", "collect", "spread", "member", "average", "reduce", "reduce_rows", "scatter", "aggregate"}
)


@dataclass(frozen=True, slots=True)
class Stop:
    """The node at which a slope in the weights ends."""

    node: Node


@dataclass(frozen=True)
class Flatness:
    """Which nodes some weight moves. ``frozen``: the models that never train."""

    intervals: IntervalAnalysis
    frozen: frozenset[str]
    _found: dict[int, bool | Stop] = field(default_factory=dict)

    def of(self, root: Node) -> bool | Stop:
        """True where some weight may move a node, False where it reads no model, else where the slope ends."""
        found, waiting = self._found, [root]
        while waiting:
            node = waiting[-1]
            if node.identity not in found:
                missing = [item for item in node.arguments if item.identity not in found]
                if missing:
                    waiting.extend(missing)
                    continue
                found[node.identity] = self._state(node)
            waiting.pop()
        return found[root.identity]

    def _state(self, node: Node) -> bool | Stop:
        below = [self._found[item.identity] for item in node.arguments]
        if node.operation in ("call", "norm") and node.name not in self.frozen:
            return True
        if True in (below[place] for place in self._passing(node, below)):
            return True
        stopped = next((item for item in below if isinstance(item, Stop)), None)
        if stopped is not None:
            return stopped
        return Stop(node) if True in below or node.operation in ("call", "norm", "features", "feature_input") else False

    def _passing(self, node: Node, below: list[bool | Stop]) -> Iterator[int]:
        """The arguments whose slope a node passes on."""
        if node.operation == "call":
            yield from range(len(node.arguments))
        if node.kind is not Scalar.REAL:
            return  # truth values and whole numbers jump, and stand still in between
        if node.operation in _OF_THE_FIRST:
            yield 0
        elif node.operation in OPERATIONS and True in below:
            known = slopes(node.operation, [self._range(item) for item in node.arguments])
            yield from (place for place, slope in enumerate(known) if slope != FALSE)

    def _range(self, node: Node) -> Interval:
        return EVERYTHING if node.inner else self.intervals.range(node, {})  # wherever its indices stand


def report_flat(graph: Graph, intervals: IntervalAnalysis, diagnostics: Collector) -> None:
    """PD307 for every constraint that no weight can move, PD308 for every such term of the objective."""
    if not graph.spec.models:
        return  # nothing is to be trained
    flatness = Flatness(intervals, graph.spec.frozen)
    spans = {family.name: family.span for block in graph.spec.blocks for family in block.families}
    spans |= {average.name: average.span for average in graph.spec.averages}
    parts = [*(part for data in graph.data for part in data.parts), *graph.averages.parts]
    for family, own in _by_family(parts).items():
        if all(map(_holds, own)) or any(part.impossible for part in own):
            continue  # PD301 and PD302 say so
        states = [flatness.of(part.residual) for part in own]
        if True not in states:
            _tell("PD307", spans[family], states[0], diagnostics, family=family)
    for written, term in _terms(graph):
        state = flatness.of(term.value)
        if state is not True and not term.value.constant and not _is_switched_off(state):
            _tell("PD308", written.span, state, diagnostics)


def _is_switched_off(state: bool | Stop) -> bool:
    """Whether a slope ends at a factor of 0: the weight of a term, which is set so on purpose."""
    return isinstance(state, Stop) and state.node.operation == "multiply"


def _by_family(parts: Iterable[PartRows]) -> Mapping[str, list[PartRows]]:
    families: dict[str, list[PartRows]] = {}
    for part in parts:
        families.setdefault(part.layout.family, []).append(part)
    return families


def _holds(part: PartRows) -> bool:
    return all(interval.hi <= 0 for interval in part.intervals) and part.layout.sense is Sense.AT_MOST


def _terms(graph: Graph) -> Iterator[tuple[typed.TypedObjective, ObjectiveTerm]]:
    """Every term as written, and lowered; none where the objective is left out."""
    for data in graph.data:
        blocks = [block for block in graph.spec.blocks if block.over == data.data]
        if data.grouping is None:
            yield from zip([term for block in blocks for term in block.objectives], data.objective, strict=False)
        grouped = [block for block in graph.spec.blocks if block.data == data.data and block.group_by is not None]
        for block, group in zip([block for block in grouped if block.objectives], data.groups, strict=False):
            yield from zip(block.objectives, group.objective, strict=False)
    yield from zip(graph.spec.objectives, graph.data_free, strict=False)


def _tell(code: str, span: Span, state: bool | Stop, diagnostics: Collector, **facts: object) -> None:
    if not isinstance(state, Stop):
        diagnostics.add(code, span, why="it reads no model", no_model="", **facts)
        return
    node = state.node
    label = Label(node.span, "stop")
    if node.operation in ("call", "norm"):
        diagnostics.add(code, span, label, why=f"`{node.name}` is frozen", trained="", **facts)
    elif node.operation in ("features", "feature_input"):
        diagnostics.add(code, span, label, why="features are read without their slope", trained="", **facts)
    elif node.kind is Scalar.REAL:
        diagnostics.add(code, span, label, why="its slope is 0 within the declared ranges", **facts)
    else:
        kind = "a truth value" if node.kind is Scalar.BOOL else "a whole number"
        diagnostics.add(code, span, label, why=f"{kind} jumps, and stands still in between", step="", **facts)
