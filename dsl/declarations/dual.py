"""What a kind of dual *is*, torch-free: how it is written, which state it has, what a new row gets, and who builds it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import TypeAlias

from pdual.dsl.declarations.references import Settings
from pdual.dsl.record import record

#: How many numbers hold the multipliers, from the train rows (None: not known) and the columns; None where that is not known.
Numbers: TypeAlias = Callable[[int | None, int], int | None]


class FunctionClass(StrEnum):
    """The functions of a row that multipliers of a kind can be, whose complexity is a term of the generalisation bound."""

    ZERO = "zero"
    CONSTANTS = "constants"
    TABLES = "tables"
    NETWORKS = "networks"
    FORMULAS = "formulas"
    UNKNOWN = "unknown"


class NoSettings(Settings):
    """A kind without settings of its own."""


@record(frozen=True, slots=True)
class Column:
    """The train rows of one column before an update, in plain numbers, for the meaning of a kind.

    ``multipliers`` and ``residuals`` (scaled) of every row; ``live``: whether the row has the constraint; ``rho``: the step; ``low`` and ``high``: the
    bounds of the multipliers; ``equal``: whether the column is an equality.
    """

    multipliers: Sequence[float]
    residuals: Sequence[float]
    live: Sequence[bool]
    rho: float
    low: float
    high: float
    equal: bool


#: The multipliers of the rows of a column after an update, and the numbers that the kind keeps of the column beside them. It is handed
#: the kept numbers of the last update, none at first, and the settings.
Meaning: TypeAlias = Callable[[Column, Sequence[float], Settings], tuple[Sequence[float], Sequence[float]]]


@record(frozen=True, slots=True)
class DualKind:
    """A registered kind of dual. A fact that is left out is treated as unknown, never as what another kind has.

    ``line`` says how it is written and what it is, as editors and ``explain`` show it. ``arguments`` are those of ``architecture``, ``on`` and
    ``cap`` that it takes, in their order; ``settings`` its own, by name, each with a default. ``builder`` is ``"module:function"``:
    ``(DualContext) -> DualStore`` (``pdual.runtime.duals.context``).
    ``numbers`` counts what holds the multipliers; None where it is the weights of models. ``in_force``: whether the constraints enter the
    Lagrangian. ``multipliers``: whether there are any besides 0. ``generalises``: whether a row that was not trained on has a multiplier.
    ``rests``: whether a row whose step ends at 0 loses nothing by not being visited. ``fitted``: whether weights are fitted to the multipliers
    of a table. ``alike``: whether all rows have the same multiplier. ``averages``: whether a constraint on an average, which has one row,
    can be held so. ``exact``: whether ascent with exact minimisers ends at the multipliers of the optimum, where the cap allows them.
    ``functions``: the class for ``bounds``. ``meaning``: the update in plain numbers, which ``verify`` holds the builder to; None where weights
    are fitted.
    """

    name: str
    line: str
    arguments: tuple[str, ...] = ("cap",)
    settings: type[Settings] = NoSettings
    builder: str | None = None
    numbers: Numbers | None = None
    in_force: bool = True
    multipliers: bool = True
    generalises: bool = False
    rests: bool = False
    fitted: bool = False
    alike: bool = False
    averages: bool = False
    exact: bool = False
    functions: FunctionClass = FunctionClass.UNKNOWN
    meaning: Meaning | None = None
