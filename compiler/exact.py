"""The value of what no row and no model changes, in plain Python: exact where the walk over intervals only bounds it.

It tells a number from what has none, and where an infinite one comes from.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from pdual.compiler.interval_analysis import Remembering
from pdual.compiler.ir import IndexAxis, Node, Scalar, topological
from pdual.dsl.declarations.known import Known
from pdual.dsl.operations import AGGREGATES, OPERATIONS, REDUCTIONS
from pdual.dsl.record import record
from pdual.dsl.types import SetAxis


@record(frozen=True, slots=True)
class Number:
    """A value; ``declared`` where it is infinite only since a field or parameter that is declared to be so is."""

    value: float
    declared: bool = False


@record(frozen=True, slots=True)
class NoNumber:
    """No value, and why; ``reason`` is empty where the structure that it reads is not known."""

    reason: str


Exact: TypeAlias = Number | NoNumber
UNKNOWN = NoNumber("")

#: What one side of a connective must be for the other not to matter.
_DECIDES = {"and": False, "or": True}


class ExactValues(Remembering[Exact]):
    """Values of the entries of constant nodes.

    ``undeclared``: (given, field) whose numbers are declared to be finite.
    """

    def __init__(
        self, knowns: Mapping[str, Known], sizes: Mapping[str, int], undeclared: frozenset[tuple[str, str]]
    ) -> None:
        self._knowns = knowns
        self._sizes = sizes
        self._undeclared = undeclared
        self._memo = {}

    def may_be_infinite(self, node: Node) -> bool:
        """Whether a node reads something that is declared to have infinite ends."""
        return any(self._is_declared(item) for item in topological([node]))

    def _is_declared(self, node: Node) -> bool:
        if node.operation == "given":
            return node.attributes[:2] not in self._undeclared
        return node.operation == "number" and len(node.attributes) > 1

    def _range(self, node: Node, indices: Mapping[IndexAxis, int], inner: tuple[int, ...]) -> Exact:
        if node.operation in OPERATIONS:
            return self._operation(node, indices, inner)
        match node.operation:
            case "number":
                return _checked(node.attributes[0], self._is_declared(node))
            case "given":
                return self._known(node, inner)
            case "index":
                place = indices.get(node.axes[0])
                return UNKNOWN if place is None else Number(place)
            case "select":
                at = self.range(node.arguments[1], indices)
                return (
                    at if isinstance(at, NoNumber) else self.range(node.arguments[0], indices, (int(at.value), *inner))
                )
            case "collect":
                axes: tuple[IndexAxis, ...] = node.attributes
                placed = {**indices, **dict(zip(axes, inner, strict=False))}
                return self.range(node.arguments[0], placed, inner[len(axes) :])
            case "spread":
                return self.range(node.arguments[0], indices, inner)
            case "reduce":
                return self._reduce(node, indices, inner)
            case "scatter":
                return self._scatter(node, indices, inner)
            case "aggregate":
                return self._aggregate(node, indices)
        return UNKNOWN

    def _operation(self, node: Node, indices: Mapping[IndexAxis, int], inner: tuple[int, ...]) -> Exact:
        if node.operation in _DECIDES:
            return self._logic(node, indices, inner)
        found: list[Number] = []
        for argument in node.arguments:
            if node.operation == "where" and len(found) == 1:  # the branch that is not taken may have no value
                taken = node.arguments[1 if found[0].value else 2]
                return self.range(taken, indices, inner if taken.inner else ())
            value = self.range(argument, indices, inner if argument.inner else ())
            if isinstance(value, NoNumber):
                return value
            found.append(value)
        return _computed(OPERATIONS[node.operation].meaning, [item.value for item in found], found)

    def _logic(self, node: Node, indices: Mapping[IndexAxis, int], inner: tuple[int, ...]) -> Exact:
        """``and`` and ``or``, which one side alone may decide."""
        decides = _DECIDES[node.operation]
        sides = [self.range(argument, indices, inner if argument.inner else ()) for argument in node.arguments]
        if any(isinstance(side, Number) and bool(side.value) is decides for side in sides):
            return Number(decides)
        return next((side for side in sides if isinstance(side, NoNumber)), Number(not decides))

    def _known(self, node: Node, inner: tuple[int, ...]) -> Exact:
        given, name, component = node.attributes
        known = self._knowns.get(given)
        if known is None:
            return UNKNOWN
        value: Any = known.fields[name]
        for place in inner:
            value = value[place]
        if component:
            value = complex(value).real if component == "re" else complex(value).imag
        return _checked(value, self._is_declared(node))

    def _reduce(self, node: Node, indices: Mapping[IndexAxis, int], inner: tuple[int, ...]) -> Exact:
        function, axis = node.attributes
        size = self._sizes.get(axis.set)
        if size is None:
            return UNKNOWN
        mask = node.arguments[1] if len(node.arguments) > 1 else None
        return self._over(function, node.arguments[0], mask, ({**indices, axis: place} for place in range(size)), inner)

    def _scatter(self, node: Node, indices: Mapping[IndexAxis, int], inner: tuple[int, ...]) -> Exact:
        function, start, end = node.attributes
        size, here = self._sizes.get(start.set), indices.get(end)
        if size is None or here is None:
            return UNKNOWN
        landing: list[Mapping[IndexAxis, int]] = []
        for place in range(size):
            placed = {**indices, start: place}
            where = self.range(node.arguments[1], placed)
            if isinstance(where, NoNumber):
                return where
            if where.value == here:
                landing.append(placed)
        mask = node.arguments[2] if len(node.arguments) > 2 else None
        return self._over(function, node.arguments[0], mask, landing, inner)

    def _over(
        self,
        function: str,
        body: Node,
        mask: Node | None,
        places: Iterable[Mapping[IndexAxis, int]],
        inner: tuple[int, ...],
    ) -> Exact:
        items: list[Number] = []
        for placed in places:
            kept = Number(True) if mask is None else self.range(mask, placed)
            value = self.range(body, placed, inner if body.inner else ()) if isinstance(kept, Number) else kept
            if isinstance(kept, NoNumber) or (kept.value and isinstance(value, NoNumber)):
                return kept if isinstance(kept, NoNumber) else value
            if kept.value and isinstance(value, Number):
                items.append(value)
        reduction = REDUCTIONS[function]
        if not items:
            none = reduction.of_none
            return NoNumber(f"it is the {function} over none") if none is None else Number(none)
        found = _computed(reduction.meaning, [[item.value for item in items]], items)
        kind = body.kind is Scalar.INT and function == "sum" and isinstance(found, Number) and not found.declared
        return Number(int(found.value)) if kind and isinstance(found, Number) and math.isfinite(found.value) else found

    def _aggregate(self, node: Node, indices: Mapping[IndexAxis, int]) -> Exact:
        array, *others = node.arguments
        axis = array.inner[0]
        size = self._sizes.get(axis.set) if isinstance(axis, SetAxis) else getattr(axis, "size", None)
        if size is None:
            return UNKNOWN
        items: list[Number] = []
        entries = [self.range(array, indices, (place,)) for place in range(size)]
        for item in (*entries, *(self.range(other, indices) for other in others)):
            if isinstance(item, NoNumber):
                return item
            items.append(item)
        values = [item.value for item in items]
        return _computed(AGGREGATES[node.attributes[0]].meaning, [values[:size], *values[size:]], items)


def _checked(value: float, declared: bool) -> Exact:
    if isinstance(value, bool | int) or math.isfinite(value):
        return Number(value)
    return NoNumber("it is not a number") if math.isnan(value) else Number(float(value), declared)


def _computed(meaning: Any, values: list[Any], of: list[Number]) -> Exact:
    """A result; where it is infinite, declared to be so if every infinite value that it is of is."""
    try:
        result = meaning(*values)
    except ZeroDivisionError:
        return NoNumber("it divides by zero")
    except OverflowError:
        return NoNumber("it is larger than any number")
    except ValueError:
        return NoNumber("an argument is outside the domain of a function")
    if isinstance(result, complex):
        return NoNumber("it is not a real number")
    infinite = [item.declared for item in of if not math.isfinite(item.value)]
    if isinstance(result, float) and math.isinf(result) and not infinite:
        return NoNumber("it is larger than any number")
    return _checked(result, all(infinite))
