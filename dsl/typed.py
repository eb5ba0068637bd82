"""The checked spec: every name resolved, every expression with its type.

Trees are small and immutable. Identity matters in two places and is explicit there: a ``Binder`` and a ``LetDefinition``
carry a number that is unique in the spec, so that two indices called ``i`` are never confused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from pdual.dsl.declarations.references import ArchitectureUse, Settings
from pdual.dsl.declarations.signature import Signature
from pdual.dsl.declarations.solving import SolveSettings
from pdual.dsl.record import record
from pdual.dsl.spans import NOWHERE, Source, Span
from pdual.dsl.types import ArrayType, Axis, GraphType, Type

# --- expressions -------------------------------------------------------------------------------------------


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
    """``viol(F)`` (``kind`` viol: per row the largest violation of F in fractions of its range) or ``rate(F, tolerance)``; in ``expect`` only."""

    kind: str
    family: str
    tolerance: float | None = None


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


# --- statements --------------------------------------------------------------------------------------------


@record(frozen=True, slots=True)
class TypedParam:
    """A parameter with its value in force, its default, and its declared range."""

    name: str
    type: ArrayType
    value: float | int | str
    default: float | int | str
    low: float | None = None
    high: float | None = None
    span: Span = field(default=NOWHERE, compare=False)


@record(frozen=True, slots=True)
class TypedSet:
    """An index set: ``labels`` when the spec lists them, else it comes from ``given`` when that is loaded."""

    name: str
    labels: tuple[str, ...] | None
    given: str | None = None
    span: Span = field(default=NOWHERE, compare=False)


@record(frozen=True, slots=True)
class TypedField:
    """A field with its declared range (``in [lo, hi]``) and the column it is read from."""

    name: str
    type: ArrayType | GraphType
    low: float | None = None
    high: float | None = None
    column: str | None = None
    span: Span = field(default=NOWHERE, compare=False)


@record(frozen=True, slots=True)
class TypedGiven:
    """Known structure: which source, its settings, and the sets and fields taken from it."""

    name: str
    source: str
    settings: Settings
    sets: tuple[str, ...]
    fields: tuple[TypedField, ...]
    span: Span = field(default=NOWHERE, compare=False)


@record(frozen=True, slots=True)
class TypedData:
    """A data set. ``source`` is None when it is bound at run time; ``split`` then divides its rows."""

    name: str
    source: str | None
    settings: Settings
    fields: tuple[TypedField, ...]
    span: Span = field(default=NOWHERE, compare=False)


@record(frozen=True, slots=True)
class TypedModel:
    """A model. ``architecture`` is None when it is given from Python; ``frozen_of`` names the model whose initial weights it keeps."""

    name: str
    signature: Signature
    output: Type
    architecture: ArchitectureUse | None
    frozen_of: str | None = None
    features_layer: str | None = None
    span: Span = field(default=NOWHERE, compare=False)


@record(frozen=True, slots=True)
class TypedObjective:
    """``minimize value scale scale``."""

    value: TypedExpression
    scale: TypedExpression | None
    span: Span = field(default=NOWHERE, compare=False)


@record(frozen=True, slots=True)
class TypedFamily:
    """A constraint family: ``operands`` has two entries, or three when two-sided; ``operators`` one fewer."""

    name: str
    binders: tuple[Binder, ...]
    operators: tuple[str, ...]
    operands: tuple[TypedExpression, ...]
    scale: TypedExpression | None
    span: Span = field(default=NOWHERE, compare=False)


@record(frozen=True, slots=True)
class HeldDual:
    """A dual kind: ``pointwise``, ``shared``, ``hybrid`` or ``learned`` (with an architecture and what it reads)."""

    kind: str
    cap: float
    architecture: ArchitectureUse | None = None
    on: TypedExpression | None = None
    span: Span = field(default=NOWHERE, compare=False)


@record(frozen=True, slots=True)
class FormulaDual:
    """A formula over models; ``binders`` are the family's indices under the names of the ``dual`` statement."""

    value: TypedExpression
    binders: tuple[Binder, ...]
    span: Span = field(default=NOWHERE, compare=False)


@record(frozen=True, slots=True)
class TypedDual:
    """One ``dual`` statement after "the most specific wins": the parts it really holds, each ``(family, part)``."""

    parts: tuple[tuple[str, str], ...]
    value: HeldDual | FormulaDual
    is_default: bool = False  # no statement covers these parts: pointwise by default
    span: Span = field(default=NOWHERE, compare=False)


@record(frozen=True, slots=True)
class TypedMetric:
    """``metric name = value``: one number a row."""

    name: str
    value: TypedExpression
    span: Span = field(default=NOWHERE, compare=False)


@record(frozen=True, slots=True)
class TypedBlock:
    """``over``: statements about one row, or one group of rows (``group_by`` set), of a data set."""

    data: str
    row: str
    group_by: str | None
    lets: tuple[LetDefinition, ...]
    objectives: tuple[TypedObjective, ...]
    families: tuple[TypedFamily, ...]
    duals: tuple[TypedDual, ...]
    metrics: tuple[TypedMetric, ...]
    span: Span = field(default=NOWHERE, compare=False)


@record(frozen=True, slots=True)
class TypedAverage:
    """A constraint on an average, outside any block: one scalar multiplier."""

    name: str
    data: str
    binder: Binder
    operators: tuple[str, ...]
    operands: tuple[TypedExpression, ...]
    dual: HeldDual
    span: Span = field(default=NOWHERE, compare=False)


@record(frozen=True, slots=True)
class TypedExpect:
    """``expect name on data.split: left op right``."""

    name: str
    data: str
    split: str
    operators: tuple[str, ...]
    operands: tuple[TypedExpression, ...]
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class TypedSpec:
    """A whole checked spec."""

    name: str
    title: str
    params: tuple[TypedParam, ...]
    sets: tuple[TypedSet, ...]
    givens: tuple[TypedGiven, ...]
    data: tuple[TypedData, ...]
    models: tuple[TypedModel, ...]
    objectives: tuple[TypedObjective, ...]
    averages: tuple[TypedAverage, ...]
    blocks: tuple[TypedBlock, ...]
    expects: tuple[TypedExpect, ...]
    solve: SolveSettings
    source: Source

    def data_set(self, name: str) -> TypedData:
        """The data set of this name."""
        return next(data for data in self.data if data.name == name)

    @property
    def param_values(self) -> Mapping[str, float | int | str]:
        """The value in force of every parameter."""
        return {param.name: param.value for param in self.params}
