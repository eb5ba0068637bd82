"""The attributes of a node of the intermediate representation, by the kind of its operation.

Named tuples, because equal nodes are found by their hashes, and walks read them tens of thousands of times.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias


class IndexAxis(NamedTuple):
    """An index over a set; ``level`` tells apart indices over one set that meet in one expression."""

    set: str
    level: int = 0

    def __str__(self) -> str:
        return self.set if not self.level else f"{self.set}'{self.level}"


class Nothing(NamedTuple):
    """A primitive, or a position along an axis."""


class Number(NamedTuple):
    """A constant. ``declared``: a parameter's that is declared to have infinite ends, and infinite."""

    value: bool | int | float
    declared: bool = False


class GivenField(NamedTuple):
    """A known constant; ``component`` is "", "re" or "im"."""

    given: str
    name: str
    component: str


class RowField(NamedTuple):
    """A field of a row; ``component`` is "", "re" or "im"."""

    data: str
    name: str
    component: str


class Axes(NamedTuple):
    """Named axes that become leading inner axes, along which a value is spread, or that the rows of a group lie along."""

    axes: tuple[IndexAxis, ...]


class Reduction(NamedTuple):
    """A reduction of a named axis."""

    function: str
    axis: IndexAxis


class RowReduction(NamedTuple):
    """A reduction of a ragged axis."""

    function: str
    ragged: str


class Join(NamedTuple):
    """A reduction of the members of ``start`` at each member of ``end``."""

    function: str
    start: IndexAxis
    end: IndexAxis


class Call(NamedTuple):
    """A call of a model; ``names`` are the part names of its inputs."""

    model: str
    names: tuple[str, ...]


class Named(NamedTuple):
    """One name: of a model, an output, a feature, a ragged axis, a data set, a function of an array."""

    name: str


Attributes: TypeAlias = Nothing | Number | GivenField | RowField | Axes | Reduction | RowReduction | Join | Call | Named
