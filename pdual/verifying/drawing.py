"""Hypothesis strategies of rows, from what a spec declares: ranges, corners, zeros, subnormal and large values, members, ragged lengths."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from math import inf, prod
from typing import Any

import hypothesis.strategies as st

from pdual.dsl import typed
from pdual.dsl.declarations.signature import Output, Signature
from pdual.dsl.types import ArrayType, Axis, FixedAxis, Kind, MemberOf, RaggedAxis, SetAxis
from pdual.verifying.case import RowsCase

#: What is not bounded stays mostly within these, so that differences are not all lost to rounding.
USUAL = 10.0
SPECIAL = (0.0, -0.0, 1.0, -1.0, 5e-324, -5e-324, 1e-12, -1e-12, 100.0, -100.0)
#: In one case of ten also these: ranges hold for them, values are compared where they are not lost to rounding.
EXTREME = (1e4, -1e4, 1e8, -1e8, 1e150, -1e150, 1e-150, -1e-308)
#: Arrays with more entries are one value with a few exceptions, or pseudo-random: drawing each would take seconds.
FEW = 6
ROWS = 3
LONGEST = 5


def numbers(low: float | None, high: float | None, extreme: bool = False) -> st.SearchStrategy[float]:
    """Real numbers within a declared range, its ends and 0 among them; ``extreme``: of any size."""
    floor = -inf if low is None else low
    ceiling = inf if high is None else high
    ends = [end for end in (floor, ceiling) if abs(end) < inf]
    special = [value for value in (*SPECIAL, *(EXTREME if extreme else ()), *ends) if floor <= value <= ceiling]
    usual = st.floats(max(floor, min(-USUAL, ceiling)), min(ceiling, max(USUAL, floor)))
    return usual | st.sampled_from(special) if special else usual


def arrays(size: int, entry: st.SearchStrategy[Any], sample: Any) -> st.SearchStrategy[list[Any]]:
    """``size`` entries; ``sample(random)`` makes one up."""
    if size <= FEW:
        return st.lists(entry, min_size=size, max_size=size)

    def filled(fill: Any, exceptions: Mapping[int, Any]) -> list[Any]:
        return [exceptions.get(position, fill) for position in range(size)]

    def made_up(seed: int, exceptions: Mapping[int, Any]) -> list[Any]:
        source = random.Random(seed)
        return [exceptions.get(position, sample(source)) for position in range(size)]

    exceptions = st.dictionaries(st.integers(0, size - 1), entry, max_size=4)
    return st.builds(filled, entry, exceptions) | st.builds(made_up, st.integers(0, 2**16), exceptions)


def nested(entries: Sequence[Any], shape: Sequence[int]) -> Any:
    """A flat list as nested ones, a level an axis; its only entry without an axis."""
    if not shape:
        return entries[0]
    step = prod(shape[1:])
    return [nested(entries[n * step : (n + 1) * step], shape[1:]) for n in range(shape[0])]


class Drawing:
    """Strategies for one spec; ``sizes`` of its index sets."""

    def __init__(self, spec: typed.TypedSpec, signatures: Mapping[str, Signature], sizes: Mapping[str, int]) -> None:
        self._spec = spec
        self._signatures = signatures
        self._sizes = sizes

    def cases(self, data: str, of: str, grouped: bool) -> st.SearchStrategy[RowsCase]:
        """Cases over one data set (``of``), or over groups of its rows."""
        declared = self._spec.data_set(of)

        @st.composite
        def case(draw: st.DrawFn) -> RowsCase:
            count = draw(st.integers(1, ROWS + 2 * grouped))
            extreme = draw(st.integers(0, 9)) == 9
            rows = tuple({item.name: draw(self.field(item, extreme)) for item in declared.fields} for _ in range(count))
            lengths = [draw(st.integers(1, LONGEST)) for _ in range(count)]
            outputs = {
                model: tuple(self._call(draw, signature, length, extreme) for length in lengths)
                for model, signature in self._signatures.items()
            }
            first = draw(st.integers(1, count)) if grouped else count
            groups = (first, count - first) if first < count else (count,)
            return RowsCase(data, rows, outputs, groups if grouped else ())

        return case()

    def field(self, item: typed.TypedField, extreme: bool) -> st.SearchStrategy[Any]:
        """Values of one field; a text or a graph is a name, which only models read."""
        if not isinstance(item.type, ArrayType) or item.type.element is Kind.TEXT:
            return st.integers(0, 3).map(lambda number: f"{item.name} {number}")
        return self.values(item.type, item.low, item.high, 1, extreme)

    def values(
        self, kind: ArrayType, low: float | None, high: float | None, length: int, extreme: bool
    ) -> st.SearchStrategy[Any]:
        """Arrays of a type within a range; ragged axes are ``length`` long."""
        shape = [self._side(axis, length) for axis in kind.axes]
        entry, sample = self._entry(kind, low, high, extreme)
        return arrays(prod(shape), entry, sample).map(lambda entries: nested(entries, shape))

    def made_up(self, output: Output, length: int, source: random.Random) -> Any:
        """Values of an output from a source of random numbers."""
        shape = [self._side(axis, length) for axis in output.type.axes]
        _, sample = self._entry(output.type, output.low, output.high)
        return nested([sample(source) for _ in range(prod(shape))], shape)

    def _call(self, draw: st.DrawFn, signature: Signature, length: int, extreme: bool) -> dict[str, Any]:
        return {
            item.name: draw(self.values(item.type, item.low, item.high, length, extreme)) for item in signature.outputs
        }

    def _side(self, axis: Axis, length: int) -> int:
        if isinstance(axis, SetAxis):
            return self._sizes[axis.set]
        if isinstance(axis, FixedAxis):
            return axis.size
        return length if isinstance(axis, RaggedAxis) else 1

    def _entry(
        self, kind: ArrayType, low: float | None, high: float | None, extreme: bool = False
    ) -> tuple[st.SearchStrategy[Any], Any]:
        match kind.element:
            case MemberOf(set=name):
                last = self._sizes[name] - 1
                return st.integers(0, last), lambda source: source.randint(0, last)
            case Kind.BOOL:
                return st.booleans(), lambda source: source.random() < 0.5
            case Kind.ID:
                return st.integers(0, 3), lambda source: source.randint(0, 3)
            case Kind.INT:
                bottom = -9 if low is None or low == -inf else int(low)
                top = max(bottom, 9) if high is None or high == inf else int(high)
                return st.integers(bottom, top), lambda source: source.randint(bottom, top)
            case Kind.COMPLEX:
                part = numbers(None, None, extreme)
                return st.builds(complex, part, part), lambda source: complex(_normal(source), _normal(source))
        return numbers(low, high, extreme), lambda source: _within(source, low, high)


def _normal(source: random.Random) -> float:
    return source.gauss(0.0, 1.0)


def _within(source: random.Random, low: float | None, high: float | None) -> float:
    floor = -inf if low is None else low
    ceiling = inf if high is None else high
    if floor == -inf and ceiling == inf:
        return _normal(source)
    if ceiling == inf:
        return floor + source.expovariate(1.0)
    return ceiling - source.expovariate(1.0) if floor == -inf else source.uniform(floor, ceiling)
