"""The lines of a source that a diagnostic is about, with its spans underlined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pdual.dsl.spans import Source, Span
from pdual.dsl.visible import SIGN

_TAB = 4
_WIDEST = 110  # columns of a line that are shown; a longer one is cut around what is marked
_CONTEXT = 20  # columns kept before the first mark of a line that is cut


class Mark(NamedTuple):
    """A span and what is said about it; the primary one gets carets, the others dashes."""

    span: Span
    text: str
    primary: bool


class Snippet(NamedTuple):
    """Lines to print, and the width of the column of line numbers."""

    lines: list[str]
    margin: int


class _Stroke(NamedTuple):
    """A mark on its line, in columns of the terminal from 0."""

    start: int
    end: int
    text: str
    primary: bool

    def moved(self, columns: int) -> _Stroke:
        return self._replace(start=self.start - columns, end=self.end - columns)


def draw(source: Source, marks: Sequence[Mark]) -> Snippet:
    """The marked lines in order, `...` where lines between them are left out."""
    strokes: dict[int, list[_Stroke]] = {}
    for mark in marks:
        number, _ = source.position(mark.span.start)
        strokes.setdefault(number, []).append(_stroke(source, number, mark))
    margin = len(str(max(strokes)))
    gutter = " " * margin + " |"
    lines = [gutter]
    previous = None
    for number in sorted(strokes):
        if previous is not None and number > previous + 1:
            lines.append("...")
        text, placed = _cut(expand(source.line(number)), strokes[number])
        lines.append(f"{number:>{margin}} | {text}".rstrip())
        lines.extend(f"{gutter} {line}" for line in _underline(placed))
        previous = number
    return Snippet(lines, margin)


def expand(line: str) -> str:
    """A line as it is shown: tabs as spaces, other control characters as one visible sign each."""
    shown = ""
    for letter in line:
        if letter == "\t":
            shown += " " * (_TAB - len(shown) % _TAB)
        else:
            shown += letter if letter.isprintable() else SIGN
    return shown


def width(text: str) -> int:
    """Columns a text takes on a terminal: East Asian wide letters take two, combining marks none."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(letter) else 1 + (east_asian_width(letter) in "WF") for letter in text)


def _stroke(source: Source, number: int, mark: Mark) -> _Stroke:
    """Where a mark stands on the line of its start; what goes on over the line's end is cut there."""
    line = source.line(number)
    _, column = source.position(mark.span.start)
    length = mark.span.end - mark.span.start
    start = width(expand(line[: column - 1]))
    end = width(expand(line[: column - 1 + length]))
    return _Stroke(start, max(end, start + 1), mark.text, mark.primary)


def _cut(text: str, strokes: list[_Stroke]) -> tuple[str, list[_Stroke]]:
    if width(text) <= _WIDEST:
        return text, strokes
    primary = [stroke.start for stroke in strokes if stroke.primary]
    first = min(primary or [stroke.start for stroke in strokes])
    left = max(0, first - _CONTEXT)
    # Columns, not letters, decide what is seen; wide letters at the edges may cost one column more or less.
    kept, column, offset = "", 0, None
    for letter in text:
        if column >= left + _WIDEST:
            break
        if column >= left:
            offset = column if offset is None else offset
            kept += letter
        column += width(letter)
    offset = offset or 0
    shift = offset - 1 if offset else 0
    kept = ("…" if offset else "") + kept + ("…" if column < width(text) else "")
    shown = width(kept)
    placed = []
    for stroke in strokes:
        moved = stroke.moved(shift)
        start = min(max(moved.start, 0), shown - 1)
        placed.append(moved._replace(start=start, end=min(max(moved.end, start + 1), shown)))
    return kept, placed


def _underline(strokes: list[_Stroke]) -> list[str]:
    """Carets and dashes; the last text on their line, the others below, from right to left."""
    row: list[str] = [" "] * max(stroke.end for stroke in strokes)
    for stroke in sorted(strokes, key=lambda stroke: stroke.primary):
        row[stroke.start : stroke.end] = ("^" if stroke.primary else "-") * (stroke.end - stroke.start)
    worded = sorted((stroke for stroke in strokes if stroke.text), key=lambda stroke: stroke[:2])
    first = "".join(row)
    if worded and worded[-1].end == len(row):
        first += f" {worded.pop().text}"
    lines = [first]
    while worded:
        stroke = worded.pop()
        below = "".join(_bars(worded, stroke.start))
        lines.append(below + stroke.text)
    return lines


def _bars(strokes: list[_Stroke], columns: int) -> list[str]:
    """Bars that lead down to the texts still to come, up to a column."""
    row = [" "] * columns
    for stroke in strokes:
        if stroke.start < columns:
            row[stroke.start] = "|"
    return row
