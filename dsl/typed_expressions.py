"""Expressions of the checked spec: every name resolved, every node with its type.

Trees are small and immutable. Identity matters in two places and is explicit there: a ``Binder`` and a ``LetDefinition``
carry a number that is unique in the spec, so that two indices called ``i`` are never confused.
"""

from __future__ import annotations

from dataclasses import field
from typing import TypeAlias

from pdual.dsl.record import record
from pdual.dsl.spans import NOWHERE, Span
from pdual.dsl.types import Axis, Type


@record(frozen=True, slots=True)
class TypedNode:
    """An expression with its type."""

    type: Type
    span: Span = field(default=NOWHERE, compare=False, kw_only=True)


@record(frozen=True, slots=True)
class Literal(TypedNode):
    """A number, truth value or text; ``inf`` and ``pi`` end here."""

    value: float | int | bool | str


@record(frozen=True, slots=True)
class ParamRef(TypedNode):
    """A parameter; its value, after ``--set``, stands in ``TypedSpec.params``."""

    name: str


@record(frozen=True, slots=True)
class GivenRef(TypedNode):
    """A whole given field."""

    given: str
    name: str


@record(frozen=True, slots=True)
class FieldRef(TypedNode):
    """A field of the block's row, or of the row that a group binder ranges over (``binder``)."""

    data: str
    name: str
    binder: Binder | None = None


@record(frozen=True, slots=True)
class IndexRef(TypedNode):
    """A bound index used as a value: a member of its set."""

    binder: Binder


@record(frozen=True, slots=True)
class LetRef(TypedNode):
    """A ``let`` by name; an array over the axes of its binders."""

    definition: LetDefinition


@record(frozen=True, slots=True)
class Apply(TypedNode):
    """An element-wise operation of ``pdual.dsl.operations`` on scalars: operators, functions, ``a if c else b`` (``where``)."""

    operation: str
    arguments: tuple[TypedExpression, ...]


@record(frozen=True, slots=True)
class Select(TypedNode):
    """``base[i, j]``: takes the leading axes of ``base``, one index each."""

    base: TypedExpression
    indices: tuple[TypedExpression, ...]


@record(frozen=True, slots=True)
class Reduce(TypedNode):
    """``sum``, ``mean``, ``max``, ``min``, ``count``, ``any`` over binders (their filters inside them)."""

    function: str
    binders: tuple[Binder, ...]
    body: TypedExpression


@record(frozen=True, slots=True)
class Aggregate(TypedNode):
    """A function of a whole array: ``argmax(z)``, ``top_mean(x, share)``, ``bottom_mean(x, share)``."""

    function: str
    arguments: tuple[TypedExpression, ...]


@record(frozen=True, slots=True)
class ModelCall(TypedNode):
    """``model(a, b)``: a record of its outputs, or the array of its only one."""

    model: str
    arguments: tuple[TypedExpression, ...]


@record(frozen=True, slots=True)
class OutputOf(TypedNode):
    """One named output of a model call."""

    call: ModelCall
    name: str


@record(frozen=True, slots=True)
class FeaturesOf(TypedNode):
    """``features(...)``: the penultimate representation of a model call, detached."""

    call: ModelCall


@record(frozen=True, slots=True)
class SquaredNorm(TypedNode):
    """``squared_norm(f)``: the sum of squares of a model's parameters; needs no data."""

    model: str


@record(frozen=True, slots=True)
class FamilyStatistic(TypedNode):
    """``viol(F)`` (``kind`` viol: per row the largest violation of F in fractions of its range) or ``rate(F, tolerance)``; in ``expect`` only.

    Of a constraint on averages (``average``) the violation is one number a split, and the rate the share of its parts.
    """

    kind: str
    family: str
    tolerance: float | None = None
    average: bool = False


@record(frozen=True, slots=True)
class RowStatistic(TypedNode):
    """``quantile(x, q)``, ``mean(x)``, ``max(x)`` of a per-row value over the rows of a split; in ``expect`` only."""

    function: str
    argument: TypedExpression
    level: float | None = None


TypedExpression: TypeAlias = (
    Literal
    | ParamRef
    | GivenRef
    | FieldRef
    | IndexRef
    | LetRef
    | Apply
    | Select
    | Reduce
    | Aggregate
    | ModelCall
    | OutputOf
    | FeaturesOf
    | SquaredNorm
    | FamilyStatistic
    | RowStatistic
)


@record(frozen=True, slots=True)
class Binder:
    """One bound index.

    ``axis`` is what it ranges over: a set, a ragged axis (``token``), or the rows of a group (a RaggedAxis named by the block's group
    variable, ``rows_of`` naming its data set). ``where`` filters.
    """

    identity: int
    name: str
    axis: Axis
    where: TypedExpression | None = None
    rows_of: str | None = None
    span: Span = field(default=NOWHERE, compare=False)


@record(frozen=True, slots=True)
class LetDefinition:
    """``let out[l in branch] = ...``: binders in order, and the body they are free in."""

    identity: int
    name: str
    binders: tuple[Binder, ...]
    body: TypedExpression
    type: Type
    span: Span = field(default=NOWHERE, compare=False)

    def __hash__(self) -> int:
        return hash((self.identity, self.name))  # not of what it stands for: lets of lets would be walked many times
