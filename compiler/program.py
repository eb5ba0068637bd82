"""What the compiler hands to the runtime: one program for one data set, and the plan of its multipliers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from pdual.compiler.graph import Grouping
from pdual.compiler.layout import Layout
from pdual.dsl.declarations.references import ArchitectureUse, Settings

if TYPE_CHECKING:
    from torch import Tensor, nn


class Evaluation(NamedTuple):
    """What a program returns for a batch.

    ``objective``: [batch], scaled, None when the data set adds no term. ``residuals``: [batch, columns], scaled ``left - right``,
    masked entries are 0. ``mask``: [batch, columns] bool, None when nothing is ever masked. ``features``: by the key of the model
    call that a dual reads (``dispatch`` or ``dispatch/bus``). ``metrics``: [batch] each, problem's units; only when asked for.
    ``group_objective``: [groups of the batch], scaled, None without a block over groups; NaN where a mean is over nothing.
    ``averaged``: [batch, means], what constraints on averages take the mean of, problem's units, 0 where ``kept`` ([batch, means]
    bool, None when every row counts) is false; None without such a constraint.
    """

    objective: Tensor | None
    residuals: Tensor
    mask: Tensor | None
    features: Mapping[str, Tensor]
    metrics: Mapping[str, Tensor]
    group_objective: Tensor | None = None
    averaged: Tensor | None = None
    kept: Tensor | None = None


#: The fields of a batch of whole groups, beside those of its rows: positions in the batch of every group's rows, [groups, largest]
#: int64, and which of them are rows of the group, bool.
MEMBERS, PRESENT = "@members", "@present"

#: The field of a batch whose ids are those of groups: the ids of their rows, [batch] int64.
ROWS = "@rows"


@dataclass(frozen=True, slots=True)
class Strata:
    """What every index of a group's means keeps: ``kept(values, ids)`` is [batch, indices] bool; ``means`` holds the columns of each
    mean. Indices of one mean must keep no row in common.
    """

    kept: nn.Module
    means: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Program:
    """The compiled blocks over one data set, or over groups of its rows (``grouping``), of which every output then is.

    ``train`` and ``evaluate`` are ``torch.fx.GraphModule``s called as ``module(values, ids)`` with a RowBatch's values and ids, returning
    the fields of an Evaluation; ``train`` leaves out the metrics and the mask. They share ``models``. ``formulas``, where a dual is a formula over models,
    maps (values, ids, features) to the multipliers of its columns without running any model of the primal.
    """

    data: str
    layout: Layout
    objective_scale: float
    train: nn.Module
    evaluate: nn.Module
    duals: tuple[DualPlan, ...]
    metrics: tuple[str, ...] = ()
    means: int = 0  # that constraints on averages take over its rows
    grouped_by: str | None = None  # the field whose groups batches are made of
    strata: Strata | None = None  # where batches take parts of groups
    multiplier_units: tuple[float, ...] = ()  # own units = scaled multiplier times this, one a column
    of: str = ""  # the data set whose rows are read
    grouping: Grouping | None = None  # where what has constraints is a group of rows

    @property
    def groups_by(self) -> str | None:
        """The field that the rows of a group share, where what has constraints is one."""
        return None if self.grouping is None else self.grouping.field


@dataclass(frozen=True)
class Term:
    """A term of the objective that needs no data: ``evaluate`` maps the models to a scalar, scaled; own units
    = scaled times ``scale``. ``norms``: c by model where it is the sum of c ||theta||^2.
    """

    evaluate: Callable[[nn.ModuleDict], Tensor]
    scale: float = 1.0
    norms: Mapping[str, float] | None = None


@dataclass(frozen=True)
class AveragePlan:
    """The constraints on averages: G = sum of ``weights[data]`` M[data] + ``offsets``, one column a part, scaled.

    M[data] are the means over the rows of a data set, [means] in the problem's units, in the order of its program's ``averaged``;
    ``weights`` [columns, means] float64 by data set, ``offsets`` [columns] float64. ``layout`` says what the columns are; ``reads``
    gives the means of each, in the order of writing, by data set and place.
    """

    layout: Layout
    weights: Mapping[str, Tensor]
    offsets: Tensor
    reads: tuple[tuple[tuple[str, int], ...], ...]
    duals: tuple[DualPlan, ...]
    multiplier_units: tuple[float, ...]  # own units = scaled multiplier times this, one a column


@dataclass(frozen=True)
class DualPlan:
    """How the multipliers of some parts are held.

    ``kind``: a registered kind of dual (``pdual.dsl.declarations.dual``), with its own ``settings``.
    ``columns``: the columns of the layout it holds, ascending. ``cap``: G, scaled. A ``learned`` plan reads the features named in
    ``features``; when they are per member, ``members`` gives for each of its columns (feature key, position, head): columns with one head share weights.
    """

    kind: str
    parts: tuple[str, ...]
    columns: tuple[int, ...]
    cap: float
    settings: Settings = field(default_factory=Settings)
    architecture: ArchitectureUse | None = None
    features: tuple[str, ...] = ()
    members: tuple[tuple[str, int, str], ...] = ()
    formula: nn.Module | None = None
