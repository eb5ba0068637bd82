"""What is known while a spec is checked: its declarations so far, the names in reach, and what was used."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from itertools import count
from typing import NamedTuple, TypeAlias

from pdual.dsl import syntax
from pdual.dsl.checking.entities import Entity
from pdual.dsl.diagnostics import Collector
from pdual.dsl.record import record
from pdual.dsl.spans import NOWHERE, Span
from pdual.dsl.typed import (
    Literal,
    ModelCall,
    NamedFile,
    TypedData,
    TypedExpression,
    TypedFamily,
    TypedGiven,
    TypedMetric,
    TypedModel,
    TypedParam,
    TypedSet,
)
from pdual.dsl.types import UNKNOWN

#: The set that stands for one that was already reported.
UNKNOWN_SET = "?"

#: How deep expressions may nest, functions of the spec expanded, how many of those are expanded in all, and how many operations one
#: expression then has.
DEEPEST = 200
MOST_EXPANSIONS = 20_000
LARGEST = 150_000
#: How many operations may be applied on top of each other, through all lets.
HIGHEST = 1_000

Typer: TypeAlias = Callable[[syntax.Expression, "Scope"], TypedExpression]


class Place(Enum):
    """Where an expression stands; some functions belong to one place only."""

    CONSTANT = auto()  # parameters, settings, ends of ranges: no data, no model
    OBJECTIVE = auto()  # `minimize` outside any block
    BLOCK = auto()
    LET = auto()
    DUAL = auto()
    AVERAGE = auto()
    EXPECT = auto()


@dataclass
class Tables:
    """The declarations of a spec, by name, filled in as they are checked."""

    params: dict[str, TypedParam] = field(default_factory=dict)
    sets: dict[str, TypedSet] = field(default_factory=dict)
    ragged: dict[str, Span] = field(default_factory=dict)
    givens: dict[str, TypedGiven] = field(default_factory=dict)
    data: dict[str, TypedData] = field(default_factory=dict)
    models: dict[str, TypedModel] = field(default_factory=dict)
    unbuilt: set[str] = field(default_factory=set)  # models whose architecture was already reported
    families: dict[str, tuple[str, TypedFamily]] = field(default_factory=dict)  # with their data set
    averages: dict[str, Span] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)  # families and metrics that were refused
    metrics: dict[str, tuple[str, TypedMetric]] = field(default_factory=dict)  # with their data set

    @property
    def param_values(self) -> dict[str, float | int | str]:
        """The value in force of every parameter so far."""
        return {name: param.value for name, param in self.params.items()}


class Extent(NamedTuple):
    """How many operations an expression has with its functions written out, a call of a model or a reduction counted as 16; how many
    factors if it is a product: these are multiplied one by one; and how many operations stand on top of each other in it, those of the
    lets it is built on included. An argument counts wherever it stands, a let once.
    """

    size: int
    factors: int
    height: int


@dataclass
class Context:
    """What every step shares."""

    diagnostics: Collector
    typer: Typer
    tables: Tables = field(default_factory=Tables)
    used: set[tuple[str, ...]] = field(default_factory=set)
    calls: dict[str, dict[ModelCall, None]] = field(
        default_factory=dict
    )  # different ones of the block in hand, duals apart
    feature_lets: set[int] = field(default_factory=set)  # lets that read features, by identity
    features_of: list[tuple[str, Span]] = field(
        default_factory=list
    )  # models named in `features`, in the block in hand
    files: list[NamedFile] = field(default_factory=list)  # that the spec names itself
    lets: list[tuple[syntax.Name, tuple[int, ...]]] = field(default_factory=list)  # every let with its definitions
    lets_to_come: dict[str, syntax.Let] = field(default_factory=dict)  # the let in hand and those below it, by name
    extents: dict[int, tuple[TypedExpression, Extent]] = field(default_factory=dict)  # by `id`
    broken_calls: set[tuple[str, tuple[bool, ...]]] = field(
        default_factory=set
    )  # of functions, by which arguments were refused
    heights: dict[int, int] = field(default_factory=dict)  # of lets, with all that they are built on, by identity
    expansions: int = 0
    _identities: count[int] = field(default_factory=lambda: count(1))

    def identity(self) -> int:
        """A number for a binder or a let that no other one in the spec has."""
        return next(self._identities)

    def mark(self, kind: str, *names: str) -> None:
        """Remember that something was used."""
        self.used.add((kind, *names))


@record(frozen=True, slots=True)
class Named:
    """What a name stands for, and where it was declared."""

    entity: Entity
    span: Span


@dataclass(frozen=True)
class Scope:
    """The names in reach of an expression, innermost first, and the place where it stands."""

    context: Context
    place: Place
    globals: Mapping[str, Named]
    block: Mapping[str, Named] = field(default_factory=dict)
    inner: Mapping[str, Named] = field(default_factory=dict)
    expanding: tuple[str, ...] = ()
    depth: int = 0

    def lookup(self, name: str) -> Named | None:
        """What the name stands for here."""
        return self.inner.get(name) or self.block.get(name) or self.globals.get(name)

    def reachable(self) -> Iterator[tuple[str, Entity]]:
        """Every name in reach with what it stands for."""
        for layer in (self.inner, self.block, self.globals):
            for name, named in layer.items():
                yield name, named.entity

    def typed(self, node: syntax.Expression) -> TypedExpression:
        """The checked expression; of unknown type where it was refused."""
        return self.context.typer(node, self)

    def extended(self, name: str, entity: Entity, span: Span) -> Scope:
        """The scope with one more inner name."""
        return replace(self, inner={**self.inner, name: Named(entity, span)})

    def at(self, place: Place) -> Scope:
        """The same names seen from another place."""
        return replace(self, place=place)

    def deeper(self) -> Scope:
        """One level further inside an expression."""
        return replace(self, depth=self.depth + 1)

    def labels(self, set_name: str) -> tuple[str, ...] | None:
        """The members of a set that the spec lists; None when the data tell."""
        known = self.context.tables.sets.get(set_name)
        return None if known is None else known.labels

    @property
    def diagnostics(self) -> Collector:
        """Where mistakes are recorded."""
        return self.context.diagnostics


def unknown(span: Span = NOWHERE) -> Literal:
    """What stands for an expression that was refused."""
    return Literal(UNKNOWN, 0, span=span)


def is_unknown(expression: TypedExpression) -> bool:
    """Whether it was refused, so that what depends on it stays silent."""
    return expression.type == UNKNOWN
