"""What the names of a spec stand for: a symbol is what is declared once, an occurrence one place where it is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from pdual.dsl.spans import Span


class Kind(StrEnum):
    """What is declared, as a hover words it."""

    PROBLEM = "problem"
    PARAM = "param"
    SET = "set"
    MEMBER = "member"
    GIVEN = "given"
    DATA = "data"
    FIELD = "field"
    MODEL = "model"
    INPUT = "input"
    OUTPUT = "output"
    AXIS = "axis"
    DEF = "def"
    ARGUMENT = "argument"
    ROW = "row"
    GROUP = "group"
    INDEX = "index"
    LET = "let"
    CONSTRAINT = "constraint"
    METRIC = "metric"
    EXPECT = "expect"


#: Kinds that may stand where a value is expected.
VALUES = frozenset(
    {Kind.PARAM, Kind.GIVEN, Kind.FIELD, Kind.MODEL, Kind.DEF, Kind.ARGUMENT, Kind.ROW, Kind.INDEX, Kind.LET}
)


@dataclass(eq=False)
class Symbol:
    """One declared thing.

    ``owner``: the given, data set, model or set that it belongs to; a row, group or index of rows: its data set; an
    index: what it ranges over. ``members``: fields, outputs and inputs by name. ``same_as``: the output that a name of
    ``let (v, s) = ...`` takes, for it is taken by its name. ``column``: a field whose name is the data's own column.
    """

    kind: Kind
    name: str
    span: Span
    owner: Symbol | None = None
    members: dict[str, Symbol] = field(default_factory=dict)
    same_as: Symbol | None = None
    type: str = ""
    column: bool = False

    @property
    def root(self) -> Symbol:
        """What is renamed with it."""
        return self if self.same_as is None else self.same_as


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A place where a symbol is written; ``declares`` where it is declared there."""

    span: Span
    symbol: Symbol
    declares: bool = False


@dataclass(frozen=True)
class Index:
    """Every occurrence in the order of the text, and the names outside all blocks by namespace."""

    occurrences: tuple[Occurrence, ...]
    values: Mapping[str, Symbol]
    sets: Mapping[str, Symbol]
    constraints: Mapping[str, Symbol]
    metrics: Mapping[str, Symbol]

    def at(self, offset: int) -> Occurrence | None:
        """What is written at an offset; right behind a name counts as well."""
        touching = [item for item in self.occurrences if item.span.start <= offset <= item.span.end]
        return next((item for item in touching if offset < item.span.end), touching[0] if touching else None)

    def of(self, symbol: Symbol) -> Iterator[Occurrence]:
        """Every place where a symbol, or what is renamed with it, is written."""
        return (item for item in self.occurrences if item.symbol.root is symbol.root)

    def shape(self) -> list[tuple[int, ...]]:
        """Which occurrences belong together, by their number: equal for texts whose names stand for the same."""
        groups: dict[int, list[int]] = {}
        for number, item in enumerate(self.occurrences):
            groups.setdefault(id(item.symbol.root), []).append(number)
        return sorted(tuple(group) for group in groups.values())
