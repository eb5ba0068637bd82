"""What was understood of a spec, as plain values: ``explain`` prints them, ``explain --json`` writes them.

Named tuples, not dataclasses: making one takes a tenth of the time, and ``explain`` has half a second for everything.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

#: Smallest and largest, over entries.
Span2: TypeAlias = tuple[float, float]


class ParamFact(NamedTuple):
    """A parameter: its value in force, its default, its declared range."""

    name: str
    type: str
    value: float | int | str
    default: float | int | str
    range: tuple[float | None, float | None] | None


class SetFact(NamedTuple):
    """An index set; ``size`` is None where its members are not known. ``given`` names the structure it comes from."""

    name: str
    size: int | None
    members: tuple[str, ...]  # the first and the last where there are many
    given: str | None


class FieldFact(NamedTuple):
    """A field with its type, declared range and column; ``standardised`` by the mean and deviation of the train rows."""

    name: str
    type: str
    range: tuple[float | None, float | None] | None
    column: str | None
    standardised: bool = False


class GivenFact(NamedTuple):
    """Known structure; ``notes`` are what its source has to say about it."""

    name: str
    source: str
    settings: str
    summary: str
    fields: tuple[FieldFact, ...]
    notes: tuple[str, ...]


class DataFact(NamedTuple):
    """A data set; ``rows`` of each split, None where only the data tell."""

    name: str
    source: str | None
    settings: str
    summary: str
    rows: Mapping[str, int] | None
    fields: tuple[FieldFact, ...]


class ModelFact(NamedTuple):
    """A model; ``parameters`` is None while a size is not known."""

    name: str
    signature: str
    architecture: str
    parameters: int | None
    features: str | None


class ObjectiveFact(NamedTuple):
    """A term of the objective; ``data`` is None where it needs none. ``weight`` words what a row counts for."""

    data: str | None
    text: str
    scale: float | None


class PartFact(NamedTuple):
    """One part of a family: one real relation with one multiplier an entry.

    ``normal_form`` is ``left - right <= 0`` or ``== 0``. ``entries`` are live on every row, or on some (``masked``);
    ``filtered`` were removed by a filter, ``without_side`` have an infinite bound. ``range`` (feasible) and
    ``residual`` (where ``left - right`` lies) are in the problem's units; ``scale`` divides. ``multiplier`` is scaled. An ``average`` is
    over all rows of ``data``, and has one multiplier for all of them; a part ``of_groups`` has one a group of rows.
    """

    name: str
    family: str
    part: str
    data: str
    sets: tuple[str, ...]
    normal_form: str
    sense: str
    entries: int
    masked: bool
    filtered: int
    without_side: int
    range: Span2 | None
    scale: Span2 | None
    residual: Span2 | None
    dual: str
    cap: float | None
    multiplier: Span2
    average: bool = False
    of_groups: bool = False


class DualFact(NamedTuple):
    """How some parts are held.

    ``parameters``: numbers that hold them, None while a size is not known; ``is_default``: the spec does not say.
    """

    data: str
    kind: str
    parts: tuple[str, ...]
    columns: int
    cap: float
    text: str
    reads: tuple[str, ...]
    parameters: int | None
    is_default: bool


class StateFact(NamedTuple):
    """What holds the multipliers of a data set: a table of all of them, 4 bytes each, against what the spec chose."""

    data: str
    per_row: int
    rows: int | None
    table_bytes: int | None
    parameters: int | None


class MeasuredFact(NamedTuple):
    """What an earlier run took: of ``steps`` primal steps an outer iteration, ``outer`` in all; ``same``: of this spec as it is now,
    ``whole``: on all rows. ``seconds_per_outer`` and ``seconds`` are projected for the spec as it is now, None where that cannot be told.
    """

    folder: str
    device: str
    outer: int
    steps: float
    seconds_per_step: float
    same: bool
    whole: bool
    seconds_per_outer: float | None
    seconds: float | None


class TimeFact(NamedTuple):
    """The work of a run: primal steps of ``batch`` rows an outer iteration, ``fit_steps`` of each of ``networks`` of multipliers, and one pass
    over ``rows``; numbers are None where only the data tell them: steps make so many ``passes`` then. ``shrinking``: rows at rest are
    left out, so it is less.
    """

    outer: int
    steps: int | None
    passes: float
    batch: int
    warmup_steps: int | None
    networks: int
    fit_steps: int | None
    fit_passes: float
    rows: int | None
    shrinking: bool
    measured: MeasuredFact | None


class NamedText(NamedTuple):
    """A metric or an expectation as written."""

    name: str
    text: str


class Explanation(NamedTuple):
    """Everything; ``parts``, ``duals`` and ``state`` are empty where the spec could not be lowered."""

    problem: str
    title: str
    params: tuple[ParamFact, ...]
    sets: tuple[SetFact, ...]
    givens: tuple[GivenFact, ...]
    data: tuple[DataFact, ...]
    models: tuple[ModelFact, ...]
    objective: tuple[ObjectiveFact, ...]
    lagrangian: str
    parts: tuple[PartFact, ...]
    duals: tuple[DualFact, ...]
    state: tuple[StateFact, ...]
    metrics: tuple[NamedText, ...]
    expects: tuple[NamedText, ...]
    solve: tuple[NamedText, ...]
    time: TimeFact
    lowered: bool

    def as_json(self) -> dict[str, Any]:
        """As JSON data; names are those of the records."""
        found = _plain(self)
        assert isinstance(found, dict)
        return found


def _plain(value: Any) -> Any:
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: _plain(item) for name, item in value._asdict().items()}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return dict(value) if isinstance(value, Mapping) else value
