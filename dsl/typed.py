"""The checked spec, whole: its statements, and the expressions in them (``typed_expressions``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pdual.dsl.declarations.beside import MayBeFile
from pdual.dsl.declarations.references import ArchitectureUse, Settings
from pdual.dsl.declarations.signature import Signature
from pdual.dsl.declarations.solving import SolveSettings
from pdual.dsl.record import record
from pdual.dsl.spans import NOWHERE, Source, Span
from pdual.dsl.typed_expressions import (
    Aggregate,
    Apply,
    Binder,
    FamilyStatistic,
    FeaturesOf,
    FieldRef,
    GivenRef,
    IndexRef,
    LetDefinition,
    LetRef,
    Literal,
    ModelCall,
    OutputOf,
    ParamRef,
    Reduce,
    RowStatistic,
    Select,
    SquaredNorm,
    TypedExpression,
    TypedNode,
)
from pdual.dsl.types import ArrayType, GraphType, Type

__all__ = [
    "Aggregate",
    "Apply",
    "Binder",
    "FamilyStatistic",
    "FeaturesOf",
    "FieldRef",
    "FormulaDual",
    "GivenRef",
    "HeldDual",
    "IndexRef",
    "LetDefinition",
    "LetRef",
    "Literal",
    "ModelCall",
    "NamedFile",
    "OutputOf",
    "ParamRef",
    "Reduce",
    "RowStatistic",
    "Select",
    "SquaredNorm",
    "TypedAverage",
    "TypedBlock",
    "TypedData",
    "TypedDual",
    "TypedExpect",
    "TypedExpression",
    "TypedFamily",
    "TypedField",
    "TypedGiven",
    "TypedMetric",
    "TypedModel",
    "TypedNode",
    "TypedObjective",
    "TypedParam",
    "TypedSet",
    "TypedSpec",
]


@record(frozen=True, slots=True)
class TypedParam:
    """A parameter with its value in force, its default, and its declared range. ``handed_in``: the value is that of ``--set``."""

    name: str
    type: ArrayType
    value: float | int | str
    default: float | int | str
    low: float | None = None
    high: float | None = None
    handed_in: bool = field(default=False, compare=False)
    span: Span = field(default=NOWHERE, compare=False)


@record(frozen=True, slots=True)
class NamedFile:
    """A file or folder that the spec itself names, in the setting ``name`` of ``owner``; a model's or a source's name may be one."""

    value: str
    name: str
    owner: str
    marker: MayBeFile
    span: Span


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
    """A kind of dual with its arguments and its settings; where it takes them, an architecture and what that reads."""

    kind: str
    cap: float
    architecture: ArchitectureUse | None = None
    on: TypedExpression | None = None
    settings: Settings | None = None
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


def named_over(data: str, group_by: str | None) -> str:
    """How rows of a data set are called, ``pairs``, and groups of them, ``pairs by task``."""
    return data if group_by is None else f"{data} by {group_by}"


def data_of(over: str) -> str:
    """The data set in what ``named_over`` gives."""
    return over.split(" by ")[0]


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

    @property
    def over(self) -> str:
        """What its constraints and metrics are about, one at a time: rows of ``pairs``, or groups, ``pairs by task``."""
        return named_over(self.data, self.group_by)


@record(frozen=True, slots=True)
class TypedAverage:
    """A constraint on averages, outside any block: one multiplier a part.

    ``means`` are those that its operands are affine in, in the order of writing: each a ``Reduce`` with one binder, over the
    rows of the data set that its ``rows_of`` names.
    """

    name: str
    means: tuple[Reduce, ...]
    operators: tuple[str, ...]
    operands: tuple[TypedExpression, ...]
    scale: TypedExpression | None
    dual: HeldDual
    span: Span = field(default=NOWHERE, compare=False)

    @property
    def data(self) -> tuple[str, ...]:
        """The data sets that it averages over, each once."""
        names = [mean.binders[0].rows_of for mean in self.means]
        return tuple(dict.fromkeys(name for name in names if name is not None))


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
    files: tuple[NamedFile, ...] = ()

    def data_set(self, name: str) -> TypedData:
        """The data set of this name."""
        return next(data for data in self.data if data.name == name)

    @property
    def frozen(self) -> frozenset[str]:
        """The models that are frozen copies of others, and never train."""
        return frozenset(model.name for model in self.models if model.frozen_of is not None)

    @property
    def param_values(self) -> Mapping[str, float | int | str]:
        """The value in force of every parameter."""
        return {param.name: param.value for param in self.params}
