"""Tables: a file that the spec names (``csv``), and data that are bound when the problem is run."""

from __future__ import annotations

from pydantic import Field

from pdual.dsl.declarations.beside import FileBeside
from pdual.dsl.declarations.references import FieldName, Settings
from pdual.dsl.declarations.source import BOUND_NAME, Offer, SourceDeclaration, SourceRole
from pdual.dsl.declarations.splits import Shares

#: ``split_by = none``: rows are drawn one by one, whatever groups them.
ONE_BY_ONE = "none"

_BUILDER = "pdual.runtime.sources.table:build"


class BoundSettings(Settings):
    """``data houses { split = [0.8, 0.1, 0.1]  size: real }``: rows from ``--data houses=FILE`` or from Python.

    ``split`` gives the shares of train, val and test, drawn with ``seed``. ``standardised`` names real fields of which a row has
    value less mean over deviation, both of the column's train rows, in place of the value. ``split_by`` names a field whose rows stay
    together: ``split`` then shares out its values. Without it that is the id or text by which a block of the spec groups the rows;
    ``split_by = none`` draws rows one by one all the same.
    """

    split: Shares = (0.8, 0.1, 0.1)
    seed: int = Field(0, ge=0)
    standardised: tuple[FieldName, ...] = ()
    split_by: FieldName | None = Field(None, repr=False)


class CsvSettings(BoundSettings):
    """``csv("houses.csv", split = [0.8, 0.1, 0.1], standardised = [size])``: ``file`` is relative to the spec's own folder."""

    file: FileBeside


def _anything(settings: Settings) -> Offer:
    return Offer(open=True)


def _unknown_rows(settings: Settings) -> None:
    return None


BOUND = SourceDeclaration(
    name=BOUND_NAME,
    role=SourceRole.DATA,
    summary="rows that are bound when the problem is run: a file or Python arrays",
    settings=BoundSettings,
    positional=(),
    offer=_anything,
    rows=_unknown_rows,
    builder=_BUILDER,
    takes_files=True,
)

CSV = SourceDeclaration(
    name="csv",
    role=SourceRole.DATA,
    summary="the rows of a csv file beside the spec",
    settings=CsvSettings,
    positional=("file",),
    offer=_anything,
    rows=_unknown_rows,
    builder=_BUILDER,
    takes_files=True,
)
