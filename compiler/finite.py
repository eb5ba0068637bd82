"""Numbers of a spec that are not finite: refused where they stand, for a bound of 1/0 would be no constraint, in silence.

An infinite number counts only where a field of a ``given`` or a parameter is declared with an infinite end; a constraint that has such a
bound has no row there, which ``explain`` and the verdict count.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, product

from pdual.compiler.attributes import IndexAxis
from pdual.compiler.exact import UNKNOWN, Exact, ExactValues, NoNumber
from pdual.compiler.ir import Node, topological
from pdual.compiler.values import Value, nodes_of
from pdual.dsl import typed
from pdual.dsl.checking.walking import walk
from pdual.dsl.declarations.known import Known
from pdual.dsl.diagnostics import Refusal, refuse
from pdual.dsl.types import ArrayType, Kind

#: Entries of a constant that are looked at where no constraint says which ones count.
_LOOKED_AT = 4096
_COMPARISONS = frozenset({"equal", "unequal", "at_most", "at_least", "below", "above"})
_MOST_PARAMS = 8


class Finite:
    """Refuses (PD310) what is not finite, at the expression it stands in."""

    def __init__(
        self,
        spec: typed.TypedSpec,
        knowns: Mapping[str, Known],
        sizes: Mapping[str, int],
        labels: Mapping[str, Sequence[str]],
    ) -> None:
        self._spec = spec
        self._labels = labels
        self._sizes = sizes
        self.values = ExactValues(knowns, sizes, undeclared(spec))

    def check(
        self,
        what: str,
        expression: typed.TypedExpression,
        value: Value,
        axes: Sequence[IndexAxis] = (),
        places: Sequence[tuple[int, ...]] = ((),),
    ) -> None:
        """Every constant in a value, at the places of its axes that count. Raises PD310."""
        for root in nodes_of(value):
            for node, beside_relation, others in self._constants(root, frozenset(axes)):
                for at in self._placed(node, axes, places, others):
                    found = self.values.range(node, at)
                    if found is not UNKNOWN and _is_wrong(found, beside_relation):
                        raise self._refusal(what, expression, node, found, at)

    def check_side(self, what: str, operand: typed.TypedExpression, node: Node, never: bool) -> None:
        """That a side which is infinite is so since something is declared to be, and can be met (not ``never``). Raises PD310."""
        if never or not self.values.may_be_infinite(node):
            reason = "it is infinite, and nothing meets it" if never else "it is larger than any number on every row"
            raise self._refusal(what, operand, node, NoNumber(reason), {})

    def _constants(self, root: Node, axes: frozenset[IndexAxis]) -> Iterator[tuple[Node, bool, frozenset[IndexAxis]]]:
        """The largest constants in a node, with whether one is compared, and the axes whose every member counts."""
        waiting = [(root, False, axes)]
        seen: set[tuple[int, bool, frozenset[IndexAxis]]] = set()
        while waiting:
            node, compared, counted = waiting.pop()
            if (node.identity, compared, counted) in seen:
                continue
            seen.add((node.identity, compared, counted))
            if node.constant:
                yield node, compared, counted
                continue
            arguments = node.arguments
            if node.operation in ("reduce", "scatter"):
                masks = {"reduce": 1, "scatter": 2}[node.operation]
                if len(arguments) <= masks:  # what a filter leaves out may have no value
                    counted = counted | {node.reduction.axis if node.operation == "reduce" else node.join.start}
            if node.operation == "collect":
                counted = counted | frozenset(node.named_axes)
            compares = node.operation in _COMPARISONS
            waiting.extend((argument, compares, counted) for argument in arguments)

    def _placed(
        self, node: Node, axes: Sequence[IndexAxis], places: Sequence[tuple[int, ...]], counted: frozenset[IndexAxis]
    ) -> Iterator[Mapping[IndexAxis, int]]:
        """The places of a node's own axes; none where a filter may leave some out, or it is an array."""
        if node.inner or any(axis not in counted or axis.set not in self._sizes for axis in node.axes):
            return
        if not node.axes:
            yield from [{}] if places else ()
            return
        own = [position for position, axis in enumerate(axes) if axis in node.axes]
        others = [axis for axis in node.axes if axis not in axes]
        listed = dict.fromkeys(tuple(place[position] for position in own) for place in places)
        ranges = (range(self._sizes[axis.set]) for axis in others)
        beside = list(islice(product(*ranges), _LOOKED_AT))
        for here in listed:
            at = {axes[position]: member for position, member in zip(own, here, strict=True)}
            for place in beside:
                yield {**at, **dict(zip(others, place, strict=True))}

    def _refusal(
        self, what: str, expression: typed.TypedExpression, node: Node, exact: Exact, at: Mapping[IndexAxis, int]
    ) -> Refusal:
        span = node.span if node.span.within(expression.span) else expression.span
        infinite = not isinstance(exact, NoNumber)
        names = self._infinite_params(expression) if infinite else ()
        fields = self._infinite_fields(node) if infinite and not names else ()
        declared = next(iter((*names, *fields)), None)
        return refuse(
            "PD310",
            span,
            what=what,
            found=f"{exact.value:g}" if not isinstance(exact, NoNumber) else exact.reason,
            params=self._params(expression),
            at=", ".join(self._labels[axis.set][member] for axis, member in sorted(at.items())) or None,
            declared=declared,
            without="leave that side of the constraint out, or choose the entries it is about with `where`"
            if infinite and what.startswith("`")
            else None,
        )

    def _params(self, expression: typed.TypedExpression) -> str | None:
        values = self._spec.param_values
        names = sorted({item.name for item in _params(expression)})
        shown = [f"`{name} = {_shown(values[name])}`" for name in names[:_MOST_PARAMS]]
        return ", ".join(shown) + (", ..." if len(names) > _MOST_PARAMS else "") if shown else None

    def _infinite_params(self, expression: typed.TypedExpression) -> Sequence[str]:
        values = self._spec.param_values
        names = [item.name for item in _params(expression)]
        return [name for name in names if isinstance(values[name], float) and math.isinf(float(values[name]))]

    def _infinite_fields(self, node: Node) -> Sequence[str]:
        return [item.given.name for item in topological([node]) if item.operation == "given"]


def undeclared(spec: typed.TypedSpec) -> frozenset[tuple[str, str]]:
    """The real fields of givens whose declared range has no infinite end; complex ones have no range, and may be infinite."""
    return frozenset(
        (given.name, item.name)
        for given in spec.givens
        for item in given.fields
        if isinstance(item.type, ArrayType) and item.type.element is not Kind.COMPLEX and not _has_infinite_end(item)
    )


def _has_infinite_end(item: typed.TypedField) -> bool:
    return any(end is not None and math.isinf(end) for end in (item.low, item.high))


def _is_wrong(exact: Exact, compared: bool) -> bool:
    if isinstance(exact, NoNumber):
        return True
    return math.isinf(exact.value) and not exact.declared and not compared


def _params(expression: typed.TypedExpression) -> Iterable[typed.ParamRef]:
    return (item for item in walk(expression, through_lets=True) if isinstance(item, typed.ParamRef))


def _shown(value: float | int | str) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)
