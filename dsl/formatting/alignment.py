"""Columns: what neighbouring lines of a kind align. A name much longer than the others stands alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pdual.dsl.formatting.comments import Gap
from pdual.dsl.formatting.document import WIDTH, Group, Pad, Parts, flat_width, gaps_of

MOST_PADDING = 12  # blanks that alignment may add; what is longer than the shortest by more stands alone


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a list. Each cell is followed by blanks up to its column.

    A row with a ``whole`` is aligned only where that stands on one line, at this indent.
    """

    label: str
    before: int  # the gap before it
    cells: tuple[tuple[Parts, Pad], ...]
    whole: Parts | None = None
    indent: int = 0


Rows: TypeAlias = list[Sequence[Row]]


def align(lists: Rows, gaps: Mapping[int, Gap]) -> None:
    """Set the blanks of every run of neighbouring rows of a kind; a blank line ends a run, a comment does not."""
    for rows in lists:
        for run in _runs(rows, gaps):
            for column in zip(*(row.cells for row in run), strict=True):
                widths = [flat_width(cell) for cell, _ in column]
                for (_, pad), width, end in zip(column, widths, columns(widths, MOST_PADDING), strict=True):
                    pad.width = end - width


def columns(widths: Sequence[int], most: int) -> list[int]:
    """Where each of these ends once aligned: at the longest that is not much longer than the shortest."""
    limit = min(widths) + most
    longest = max(width for width in widths if width <= limit)
    return [max(width, longest) for width in widths]


def _runs(rows: Sequence[Row], gaps: Mapping[int, Gap]) -> Iterator[list[Row]]:
    run: list[Row] = []
    for row in rows:
        gap = gaps.get(row.before)
        joins = bool(run) and run[-1].label == row.label and not (gap is not None and gap.divides)
        fits = _fits(row, gaps)
        if run and not (joins and fits):
            yield run
            run = []
        if fits:
            run.append(row)
    if run:
        yield run


def _fits(row: Row, gaps: Mapping[int, Gap]) -> bool:
    """Whether a row is aligned: it stands on one line, with as many blanks as alignment may add."""
    if row.whole is None:
        return True
    if any(isinstance(part, Group) and part.hard for part in row.whole):
        return False
    room = WIDTH - row.indent - MOST_PADDING * len(row.cells)
    commented = any(index in gaps and gaps[index].comments for index in gaps_of(row.whole))
    return flat_width(row.whole) <= room and not commented
