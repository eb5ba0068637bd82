"""The types of the language. Index sets are nominal: two sets of equal size are never interchangeable."""

from __future__ import annotations

from enum import StrEnum
from typing import TypeAlias

from pdual.dsl.record import record


class Kind(StrEnum):
    """The elements that are not members of an index set."""

    REAL = "real"
    COMPLEX = "complex"
    INT = "int"
    BOOL = "bool"
    TEXT = "text"
    ID = "id"


@record(frozen=True, slots=True)
class MemberOf:
    """An element that is a member of an index set: ``label: class``."""

    set: str

    def __str__(self) -> str:
        return self.set


Element: TypeAlias = Kind | MemberOf


@record(frozen=True, slots=True)
class SetAxis:
    """An axis named by an index set."""

    set: str

    def __str__(self) -> str:
        return self.set


@record(frozen=True, slots=True)
class FixedAxis:
    """An axis of known size without a name; it takes only integer positions and whole-array use."""

    size: int

    def __str__(self) -> str:
        return str(self.size)


@record(frozen=True, slots=True)
class OpenAxis:
    """``_``: as wide as what is given."""

    def __str__(self) -> str:
        return "_"


@record(frozen=True, slots=True)
class RaggedAxis:
    """An axis whose length differs from row to row: the tokens of one answer, the rows of a group."""

    name: str

    def __str__(self) -> str:
        return self.name


Axis: TypeAlias = SetAxis | FixedAxis | OpenAxis | RaggedAxis


@record(frozen=True, slots=True)
class ArrayType:
    """An element with zero or more axes; no axes is a scalar."""

    element: Element
    axes: tuple[Axis, ...] = ()

    def __str__(self) -> str:
        axes = f"[{', '.join(map(str, self.axes))}]" if self.axes else ""
        return f"{self.element}{axes}"


@record(frozen=True, slots=True)
class RecordType:
    """Named values: the outputs of a model."""

    fields: tuple[tuple[str, ArrayType], ...]

    def __str__(self) -> str:
        return "{ " + ", ".join(f"{name}: {type}" for name, type in self.fields) + " }"


@record(frozen=True, slots=True)
class GraphType:
    """A graph per row with values on its nodes."""

    fields: tuple[tuple[str, ArrayType], ...]

    def __str__(self) -> str:
        return "graph { " + ", ".join(f"{name}: {type}" for name, type in self.fields) + " }"


@record(frozen=True, slots=True)
class MemberFeatures:
    """Features per member of each set an architecture knows: ``(("bus", 32), ("branch", 64))``."""

    widths: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        return "features { " + ", ".join(f"{name}: real[{width}]" for name, width in self.widths) + " }"


@record(frozen=True, slots=True)
class RowType:
    """One row of a data set (the variable of ``over``)."""

    data: str

    def __str__(self) -> str:
        return f"row of {self.data}"


@record(frozen=True, slots=True)
class UnknownType:
    """The type of what was already reported; it silences what depends on it."""

    def __str__(self) -> str:
        return "unknown"


Type: TypeAlias = ArrayType | RecordType | GraphType | MemberFeatures | RowType | UnknownType

REAL = ArrayType(Kind.REAL)
COMPLEX = ArrayType(Kind.COMPLEX)
INT = ArrayType(Kind.INT)
BOOL = ArrayType(Kind.BOOL)
TEXT = ArrayType(Kind.TEXT)
UNKNOWN = UnknownType()


def is_numeric(element: Element) -> bool:
    """Whether arithmetic is defined on it: int, real or complex."""
    return element in (Kind.INT, Kind.REAL, Kind.COMPLEX)


def join_numeric(*elements: Element) -> Kind:
    """The smallest of int, real, complex that holds all of them."""
    if Kind.COMPLEX in elements:
        return Kind.COMPLEX
    return Kind.REAL if Kind.REAL in elements else Kind.INT
