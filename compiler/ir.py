"""The intermediate representation: a DAG of real, integer and truth values with named axes.

How it differs from the typed spec: complex values are pairs of real nodes; a bound index is an *axis* of the value (named by its set
and a level, so that two indices over one set can meet); whole arrays that nobody has indexed yet keep their axes in ``inner``, by
position; equal subexpressions are one node, because the builder interns what it makes.

A node's value has the layout ``[batch] + axes (sorted) + inner``; ``batched`` tells whether the batch is there. A ``ragged`` node has,
in place of the batch, one entry for every element of every row's ragged axis.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

from pdual.dsl.spans import NOWHERE, Span
from pdual.dsl.types import Axis


class Scalar(StrEnum):
    """What one entry of a node is. ``OPAQUE`` is what a model call returns, before an output is taken from it."""

    REAL = "real"
    INT = "int"
    BOOL = "bool"
    OPAQUE = "opaque"


class IndexAxis(NamedTuple):
    """An index over a set; ``level`` tells apart indices over one set that meet in one expression.

    A named tuple because walks look it up tens of thousands of times.
    """

    set: str
    level: int = 0

    def __str__(self) -> str:
        return self.set if not self.level else f"{self.set}'{self.level}"


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """One operation. Compared by identity: the builder never makes the same node twice.

    ``operation`` is a primitive of ``pdual.dsl.operations`` or structural:

    ============ ======================================================================================
    number       ``attributes = (value,)``
    given        ``(given, field, component)``; component "", "re" or "im"
    field        ``(data set, field, component)`` of the row
    index        the position of ``axes[0]`` itself
    ragged_index the position along the ragged axis ``(name,)``
    select       ``(base, index)``: takes the first inner axis of base
    collect      ``(axes...)``: named axes become the leading inner axes
    spread       the same value along further axes
    norm         ``(model,)``: the sum of squares of its parameters
    reduce       ``(function, axis)`` of ``(body, mask?)``: sum, mean, max, min over a named axis
    reduce_rows  ``(function, ragged axis)`` of ``(body, mask?)``: over a ragged axis
    scatter      ``(function, from, to)`` of ``(body, map, mask?)``: entry i reduces the members g with map[g] = i
    call         ``(model,)`` of the lowered inputs; ``(part names...)`` follow
    output       ``(part name,)`` of a call
    features     ``(key,)`` of a call; ``feature_input`` ``(key,)`` is the same handed in from outside
    aggregate    ``(function,)``: argmax, top_mean, bottom_mean over the only inner axis
    member       ``(axis,)``: a value of every row as one of every group, the rows of the group along an axis
    average      the mean of ``(body, mask?)`` over all rows of the data set ``(data,)``, where the mask is true: no value of a row
    present      which places along ``axes[0]`` are rows of the group: groups have fewer than the largest one
    ============ ======================================================================================
    """

    identity: int
    operation: str
    arguments: tuple[Node, ...]
    attributes: tuple[Any, ...]
    kind: Scalar
    axes: tuple[IndexAxis, ...]
    inner: tuple[Axis, ...]
    batched: bool
    ragged: str | None
    span: Span = field(default=NOWHERE)
    constant: bool = field(init=False)
    """Whether the value is the same for every row and every state of the models."""

    def __post_init__(self) -> None:
        constant = (
            not self.batched and self.operation not in ("norm", "call") and all(one.constant for one in self.arguments)
        )
        object.__setattr__(
            self, "constant", constant
        )  # kept, since a intervals that asks again is exponential in a DAG

    def __str__(self) -> str:
        layout = ", ".join([*(["row"] if self.batched else []), *map(str, self.axes), *(f"<{a}>" for a in self.inner)])
        arguments = " ".join(f"%{argument.identity}" for argument in self.arguments)
        attributes = " ".join(map(str, self.attributes))
        return f"%{self.identity} = {self.operation} {arguments} {attributes} : {self.kind}[{layout}]".replace(
            "  ", " "
        )


def topological(roots: Iterable[Node]) -> Iterator[Node]:
    """Every node that the roots need, arguments first, each once."""
    seen: set[int] = set()
    stack: list[tuple[Node, bool]] = [(root, False) for root in reversed(list(roots))]
    while stack:
        node, ready = stack.pop()
        if ready:
            yield node
        elif node.identity not in seen:
            seen.add(node.identity)
            stack.append((node, True))
            stack.extend((argument, False) for argument in reversed(node.arguments))


def called(roots: Iterable[Node]) -> frozenset[str]:
    """The models that the roots call."""
    return frozenset(str(node.attributes[0]) for node in topological(roots) if node.operation == "call")


def nested(roots: Iterable[Node]) -> bool:
    """Whether the roots call a model on what depends on another call."""
    arguments = [one for node in topological(roots) if node.operation == "call" for one in node.arguments]
    return any(node.operation == "output" for node in topological(arguments))
