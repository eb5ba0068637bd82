"""The value of every node of a program beside the range that was derived for it, entry by entry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Protocol
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from pdual.compiler.assemble import emission_of
from pdual.compiler.constants import Constants
from pdual.compiler.graph import DataGraph, Graph
from pdual.compiler.interval_analysis import IntervalAnalysis
from pdual.compiler.ir import Node, Scalar, topological
from pdual.dsl.types import FixedAxis, SetAxis
from pdual.runtime.data.tables import Ragged, RowBatch
from pdual.verifying.calls import Calls
from pdual.verifying.case import RowsCase

#: Drawn within their ranges, or not numbers.
_LEFT_OUT = frozenset({"field", "output", "call", "features", "feature_input", "present"})


@dataclass(frozen=True)
class Ranged:
    """A node with its range: ``low`` and ``high`` broadcast against its value, [batch, *axes, *inner]."""

    node: Node
    low: Tensor
    high: Tensor


@dataclass(frozen=True)
class Held(Ranged):
    """The same with a value."""

    value: Tensor


@dataclass(frozen=True)
class _Emitted:
    nodes: tuple[Ranged, ...]
    module: nn.Module


class Subject(Protocol):
    """What values are computed with: a lowered spec and its models."""

    @property
    def graph(self) -> Graph:
        """The spec."""

    @property
    def intervals(self) -> IntervalAnalysis:
        """Its ranges."""

    @property
    def models(self) -> Mapping[str, nn.Module]:
        """The models by name."""

    def ask(self, calls: Calls) -> None:
        """Let the models answer from these calls."""

    def batch(self, case: RowsCase) -> RowBatch:
        """The rows as the program reads them."""


_KNOWN: WeakKeyDictionary[Subject, dict[str, _Emitted]] = WeakKeyDictionary()


def ranged_nodes(subject: Subject, data: DataGraph) -> tuple[Ranged, ...]:
    """Every node over a data set that is a number, with its range."""
    found = []
    for node in topological(data.roots):
        if node.operation in _LEFT_OUT or node.kind is Scalar.OPAQUE or node.constant:
            continue
        found.append(_ranged(node, subject.intervals))
    return tuple(found)


def values_of_nodes(subject: Subject, case: RowsCase, calls: Calls) -> Iterator[Held]:
    """Every ranged node's value on the rows of a case, in double precision."""
    emitted = _KNOWN.setdefault(subject, {}).get(case.data)
    if emitted is None:
        emitted = _KNOWN[subject][case.data] = _emit(subject, subject.graph.over(case.data))
    subject.ask(calls)
    batch = subject.batch(case)
    for ranged, value in zip(emitted.nodes, emitted.module(batch.values, batch.ids), strict=True):
        whole = value.values if isinstance(value, Ragged) else value
        yield Held(ranged.node, ranged.low, ranged.high, whole.detach().double())


def _emit(subject: Subject, data: DataGraph) -> _Emitted:
    constants = Constants(subject.graph.knowns, subject.graph.sizes)
    emission = emission_of(subject.graph, data, constants, nn.ModuleDict(subject.models), torch.float64)
    emission.meet(data.roots)
    nodes = ranged_nodes(subject, data)
    return _Emitted(nodes, emission.finish(tuple(emission.rows(ranged.node) for ranged in nodes)))


def _ranged(node: Node, intervals: IntervalAnalysis) -> Ranged:
    """The ranges of all entries as arrays; one for all entries along an axis of unknown length."""
    sides: list[int] = [intervals.sizes.get(axis.set, 0) for axis in node.axes]
    inner: list[int] = [
        intervals.sizes.get(axis.set, 0)
        if isinstance(axis, SetAxis)
        else axis.size
        if isinstance(axis, FixedAxis)
        else 0
        for axis in node.inner
    ]
    lows, highs = [], []
    for place in product(*(range(max(1, side)) for side in (*sides, *inner))):
        known = {axis: p for axis, p, side in zip(node.axes, place, sides, strict=False) if side}
        found = intervals.range(node, known, place[len(sides) :])
        lows.append(found.lo)
        highs.append(found.hi)
    shape = [1, *(max(1, side) for side in (*sides, *inner))]
    low = torch.tensor(lows, dtype=torch.float64).reshape(shape)
    return Ranged(node, low, torch.tensor(highs, dtype=torch.float64).reshape(shape))
