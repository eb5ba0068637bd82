"""What a name can stand for while a spec is checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from pdual.dsl import syntax
from pdual.dsl.record import record
from pdual.dsl.spans import NOWHERE, Span
from pdual.dsl.typed import (
    Binder,
    LetDefinition,
    ModelCall,
    TypedData,
    TypedExpression,
    TypedField,
    TypedGiven,
    TypedModel,
    TypedParam,
)


@record(frozen=True, slots=True)
class ParamEntity:
    """A parameter."""

    param: TypedParam


@record(frozen=True, slots=True)
class GivenEntity:
    """A whole given, of which fields are taken (``grid.rate``) and which settings refer to."""

    given: TypedGiven


@record(frozen=True, slots=True)
class GivenFieldEntity:
    """A field of a given under its bare name."""

    given: str
    field: TypedField


@record(frozen=True, slots=True)
class AmbiguousEntity:
    """A bare name that several givens declare."""

    owners: tuple[tuple[str, Span], ...]


@record(frozen=True, slots=True)
class DataEntity:
    """A data set."""

    data: TypedData


@record(frozen=True, slots=True)
class ModelEntity:
    """A model."""

    model: TypedModel


@record(frozen=True, slots=True)
class DefEntity:
    """A function of the spec's own, expanded where it is called."""

    definition: syntax.Def


@record(frozen=True, slots=True)
class RowEntity:
    """One row: of the block (``binder`` None), or of the group that ``binder`` runs through."""

    data: str
    binder: Binder | None = None


@record(frozen=True, slots=True)
class GroupEntity:
    """The group of a group block: an axis over its rows."""

    name: str
    data: str


@record(frozen=True, slots=True)
class IndexEntity:
    """An index bound by a reduction, a ``let``, a constraint or a ``dual``."""

    binder: Binder


@record(frozen=True, slots=True)
class LetEntity:
    """A ``let``; ``reads_features`` confines it to duals."""

    definition: LetDefinition
    reads_features: bool


@record(frozen=True, slots=True)
class RecordEntity:
    """A ``let`` bound to a model call with named outputs: one definition an output."""

    name: str
    outputs: Mapping[str, LetDefinition]
    call: ModelCall
    span: Span = NOWHERE


@record(frozen=True, slots=True)
class ValueEntity:
    """A name for a typed expression: the argument of a function, a metric in ``expect``."""

    value: TypedExpression


@record(frozen=True, slots=True)
class BrokenEntity:
    """A name whose declaration was already reported; its uses are silent."""


Entity: TypeAlias = (
    ParamEntity
    | GivenEntity
    | GivenFieldEntity
    | AmbiguousEntity
    | DataEntity
    | ModelEntity
    | DefEntity
    | RowEntity
    | GroupEntity
    | IndexEntity
    | LetEntity
    | RecordEntity
    | ValueEntity
    | BrokenEntity
)

_DESCRIPTIONS: Mapping[type, str] = {
    ParamEntity: "a parameter",
    GivenEntity: "a given",
    GivenFieldEntity: "a given field",
    AmbiguousEntity: "a given field",
    DataEntity: "a data set",
    ModelEntity: "a model",
    DefEntity: "a function",
    RowEntity: "a row",
    GroupEntity: "a group of rows",
    IndexEntity: "an index",
    LetEntity: "a let",
    RecordEntity: "the outputs of a model",
    ValueEntity: "a value",
    BrokenEntity: "a name",
}


def described(entity: Entity) -> str:
    """What it is, for a message: ``a parameter``."""
    return _DESCRIPTIONS[type(entity)]
