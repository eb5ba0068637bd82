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

from pdual.compiler.attributes import (
    Attributes,
    Axes,
    Call,
    GivenField,
    IndexAxis,
    Join,
    Named,
    Number,
    Reduction,
    RowField,
    RowReduction,
)
from pdual.dsl.spans import NOWHERE, Span
from pdual.dsl.types import Axis


class Scalar(StrEnum):
    """What one entry of a node is. ``OPAQUE`` is what a model call returns, before an output is taken from it."""

    REAL = "real"
    INT = "int"
    BOOL = "bool"
    OPAQUE = "opaque"


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """One operation. Compared by identity: the builder never makes the same node twice.

    ``operation`` is a primitive of ``pdual.dsl.operations`` or structural:

    ============ ======================================================================================
    number       ``number``: a constant
    given        ``given``: a field of known structure
    field        ``field`` of the row
    index        the position of ``axes[0]`` itself
    ragged_index the position along the ragged axis ``name``
    select       takes the first inner axis of ``(base, index)``
    collect      named axes (``named_axes``) become the leading inner axes
    spread       the same value along further axes (``named_axes``)
    norm         the sum of squares of the parameters of the model ``name``
    reduce       ``reduction`` of ``(body, mask?)``: sum, mean, max, min over a named axis
    reduce_rows  ``row_reduction`` of ``(body, mask?)``: over a ragged axis
    scatter      ``join`` of ``(body, map, mask?)``: entry i reduces the members g with map[g] = i
    call         ``call`` of a model with the lowered inputs
    output       the output ``name`` of a call
    features     those with the key ``name`` of a call; ``feature_input`` is the same handed in from outside
    aggregate    the function ``name``: argmax, top_mean, bottom_mean over the only inner axis
    member       a value of every row as one of every group, the rows of the group along ``named_axes``
    average      the mean of ``(body, mask?)`` over all rows of the data set ``name``, where the mask is true: no value of a row
    present      which places along ``axes[0]`` are rows of the group: groups have fewer than the largest one
    ============ ======================================================================================
    """

    identity: int
    operation: str
    arguments: tuple[Node, ...]
    attributes: Attributes
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
        object.__setattr__(self, "constant", constant)  # kept: to ask again at each node is exponential in a DAG

    @property
    def number(self) -> Number:
        """Of a ``number``."""
        assert isinstance(self.attributes, Number)
        return self.attributes

    @property
    def given(self) -> GivenField:
        """Of a ``given``."""
        assert isinstance(self.attributes, GivenField)
        return self.attributes

    @property
    def field(self) -> RowField:
        """Of a ``field``."""
        assert isinstance(self.attributes, RowField)
        return self.attributes

    @property
    def reduction(self) -> Reduction:
        """Of a ``reduce``."""
        assert isinstance(self.attributes, Reduction)
        return self.attributes

    @property
    def row_reduction(self) -> RowReduction:
        """Of a ``reduce_rows``."""
        assert isinstance(self.attributes, RowReduction)
        return self.attributes

    @property
    def join(self) -> Join:
        """Of a ``scatter``."""
        assert isinstance(self.attributes, Join)
        return self.attributes

    @property
    def call(self) -> Call:
        """Of a ``call``."""
        assert isinstance(self.attributes, Call)
        return self.attributes

    @property
    def named_axes(self) -> tuple[IndexAxis, ...]:
        """Of a ``collect``, ``spread``, ``member`` or ``present``."""
        assert isinstance(self.attributes, Axes)
        return self.attributes.axes

    @property
    def name(self) -> str:
        """The one name of a node that has one; of a ``call`` the model's."""
        if isinstance(self.attributes, Call):
            return self.attributes.model
        assert isinstance(self.attributes, Named)
        return self.attributes.name

    def __str__(self) -> str:
        layout = ", ".join([*(["row"] if self.batched else []), *map(str, self.axes), *(f"<{a}>" for a in self.inner)])
        arguments = " ".join(f"%{argument.identity}" for argument in self.arguments)
        attributes = " ".join(_words(self.attributes))
        return f"%{self.identity} = {self.operation} {arguments} {attributes} : {self.kind}[{layout}]".replace(
            "  ", " "
        )


def _words(attributes: Attributes) -> Iterator[str]:
    if isinstance(attributes, Number):
        yield str(attributes.value)
        yield from ["declared"] if attributes.declared else []
        return
    for item in attributes:
        if isinstance(item, tuple) and not isinstance(item, IndexAxis):
            yield from map(str, item)
        else:
            yield str(item)


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
    return frozenset(node.name for node in topological(roots) if node.operation == "call")


def nested(roots: Iterable[Node]) -> bool:
    """Whether the roots call a model on what depends on another call."""
    arguments = [one for node in topological(roots) if node.operation == "call" for one in node.arguments]
    return any(node.operation == "output" for node in topological(arguments))
