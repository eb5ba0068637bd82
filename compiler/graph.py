"""A whole spec as IR: for every data set its objective terms, rows, metrics and features; and how its multipliers are held."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pdual.compiler.attributes import IndexAxis
from pdual.compiler.ir import Node, called
from pdual.compiler.layout import Layout
from pdual.compiler.rows import PartRows
from pdual.dsl import typed
from pdual.dsl.declarations.known import Known
from pdual.dsl.operations.interval import Interval
from pdual.dsl.record import record
from pdual.dsl.spans import Span
from pdual.dsl.types import Axis


@record(frozen=True, slots=True)
class ObjectiveTerm:
    """One term: a real number a row, divided by ``scale``."""

    value: Node
    scale: float


@record(frozen=True, slots=True)
class FormulaNode:
    """A dual that is a formula: the node of one part's multipliers, on the part's axes, and its inferred range."""

    part: str
    value: Node
    axes: tuple[IndexAxis, ...]
    interval: Interval


@record(frozen=True, slots=True)
class DualChoice:
    """How some parts are held; ``formulas`` only where the kind is ``formula``, ``features`` only where it reads them.

    ``features`` maps a key to the inner axes of the tensor under it; ``members`` gives (key, position, head) for every column when
    they are per member.
    """

    kind: str
    parts: tuple[str, ...]
    columns: tuple[int, ...]
    cap: float
    written: typed.TypedDual
    features: Mapping[str, tuple[Axis, ...]]
    members: tuple[tuple[str, int, str], ...] = ()
    formulas: tuple[FormulaNode, ...] = ()

    @property
    def models(self) -> frozenset[str]:
        """The models that the formulas call."""
        return called(item.value for item in self.formulas)


@record(frozen=True, slots=True)
class GroupGraph:
    """The objective of a block over groups: the field that rows of a group share, the axis of its rows, its terms (a number a group)."""

    field: str
    axis: str
    objective: tuple[ObjectiveTerm, ...]
    span: Span
    strata: tuple[tuple[Node, ...], ...] = ()  # where batches take parts of groups: what the indices of every mean keep


@record(frozen=True, slots=True)
class Weighted:
    """A weighted sum of means (nodes of operation ``average``), and a constant; the problem's units."""

    means: Mapping[Node, float]
    offset: float


@record(frozen=True, slots=True)
class AverageGraph:
    """All constraints on averages: parts with one entry each, what each ``left - right`` is, and how multipliers are held.

    ``layout`` has one column a part, and no data set: its residual matrix has one row.
    """

    parts: tuple[PartRows, ...]
    weighted: tuple[Weighted, ...]
    duals: tuple[DualChoice, ...]
    layout: Layout
    without_rows: tuple[PartRows, ...] = ()  # parts of which nothing is left: filtered, or infinite

    def data_of(self, part: PartRows) -> tuple[str, ...]:
        """The data sets whose rows a part averages over."""
        means = self.weighted[self.parts.index(part)].means
        return tuple(dict.fromkeys(mean.name for mean in means))


NO_AVERAGES = AverageGraph((), (), (), Layout("", ()))


@record(frozen=True, slots=True)
class Grouping:
    """That what is constrained and measured is a group of rows: the field that its rows share, the axes over them; ``labels`` of
    what they share where it is a member of a set, which data hold as a position.
    """

    field: str
    axes: tuple[str, ...]
    labels: tuple[str, ...] | None = None


@record(frozen=True, slots=True)
class DataGraph:
    """Everything over one data set; or, with a ``grouping``, the constraints and metrics over groups of its rows.

    ``data`` is what it is over, ``pairs`` or ``pairs by task``; ``of`` names the data set whose rows it reads.
    """

    data: str
    objective: tuple[ObjectiveTerm, ...]
    parts: tuple[PartRows, ...]
    metrics: tuple[tuple[str, Node], ...]
    features: Mapping[str, Node]
    duals: tuple[DualChoice, ...]
    layout: Layout
    groups: tuple[GroupGraph, ...] = ()
    means: tuple[Node, ...] = ()  # of operation `average`, over these rows
    grouping: Grouping | None = None
    without_rows: tuple[PartRows, ...] = ()  # parts of which nothing is left: filtered, or infinite

    @property
    def of(self) -> str:
        """The data set whose rows are read."""
        return typed.data_of(self.data)

    @property
    def roots(self) -> tuple[Node, ...]:
        """Every node that something is read from."""
        masks = [part.mask for part in self.parts if part.mask is not None]
        return (
            *(term.value for term in self.objective),
            *(term.value for group in self.groups for term in group.objective),
            *(part.residual for part in self.parts),
            *masks,
            *(node for _, node in self.metrics),
            *self.features.values(),
            *(argument for mean in self.means for argument in mean.arguments),
        )


@dataclass(frozen=True)
class Graph:
    """A lowered spec with the known structure it was lowered for."""

    spec: typed.TypedSpec
    knowns: Mapping[str, Known]
    sizes: Mapping[str, int]
    labels: Mapping[str, Sequence[str]]
    data: tuple[DataGraph, ...]
    data_free: tuple[ObjectiveTerm, ...]
    averages: AverageGraph = NO_AVERAGES

    def over(self, data: str) -> DataGraph:
        """What is over a data set, or over its groups (``pairs by task``)."""
        return next(graph for graph in self.data if graph.data == data)

    @property
    def switched_off(self) -> Mapping[str, int]:
        """How many entries of each part have no row since their bound is infinite; parts without such entries are left out."""
        parts = [*self.averages.parts, *self.averages.without_rows]
        parts += [part for data in self.data for part in (*data.parts, *data.without_rows)]
        return {part.layout.name: part.without_side for part in parts if part.without_side}

    @property
    def objective_scale(self) -> float:
        """What multiplies a scaled multiplier back to the problem's units: the common scale of the objective, 1 where terms differ."""
        scales = {term.scale for graph in self.data for term in graph.objective}
        scales |= {term.scale for graph in self.data for group in graph.groups for term in group.objective}
        scales |= {term.scale for term in self.data_free}
        return scales.pop() if len(scales) == 1 else 1.0
