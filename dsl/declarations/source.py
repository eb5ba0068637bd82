"""What a source *is*, without loading anything: its settings, what it offers, and who builds it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum

from pdual.dsl.declarations.references import Settings
from pdual.dsl.declarations.sample import Sample
from pdual.dsl.record import record
from pdual.dsl.types import ArrayType, GraphType

#: In the type of an offered field, stands for any index set of the spec's own: ``MemberOf(ANY)`` is matched by ``label: class``,
#: ``SetAxis(ANY)`` by an axis over any set or of any fixed size. How long it has to be shows when the data are loaded.
ANY = "*"

#: The name of the source of data that are bound at run time; no spec can write it.
BOUND_NAME = ""


class SourceRole(StrEnum):
    """A source gives known structure (``given``) or rows (``data``)."""

    GIVEN = "given"
    DATA = "data"


@record(frozen=True, slots=True)
class Offer:
    """The sets and fields of a source. ``open`` sources (a csv) take whatever fields the spec declares."""

    sets: tuple[str, ...] = ()
    fields: tuple[tuple[str, ArrayType | GraphType], ...] = ()
    open: bool = False


@record(frozen=True, slots=True)
class SourceDeclaration:
    """A registered source.

    ``offer(settings)`` and ``rows(settings)`` (rows of each split; None when only the data tell) must be light.
    ``builder`` is ``"module:function"``, imported when the source is used:
    a GIVEN builder is ``(settings, context) -> Known``, a DATA builder ``(settings, context) -> runtime.data.Table``.
    ``drawing``, ``"module:function"``, draws rows with their multipliers for a report: ``(RowsToDraw) -> Sequence[Drawing]``
    of ``pdual.runtime.drawings.drawing``; by default texts of rows are quoted where there are any. ``sample``: rows that a quick run takes where
    those of a DATA source are not on this machine. ``takes_files``: whether a DATA builder reads ``context.file``, the rows of ``--data`` and
    of Python, where there are some; PD718 refuses them elsewhere.
    """

    name: str
    role: SourceRole
    summary: str
    settings: type[Settings]
    positional: tuple[str, ...]
    offer: Callable[[Settings], Offer]
    rows: Callable[[Settings], Mapping[str, int] | None]
    builder: str
    drawing: str = "pdual.runtime.drawings.texts:draw"
    sample: Sample | None = None
    takes_files: bool = False
