"""The lines of a source that a diagnostic is about, with its spans underlined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pdual.dsl.spans import Source, Span
from pdual.dsl.visible import SIGN

_TAB = 4
_WIDEST = 110  # columns of a line that are shown; a longer one is cut around what is marked
_CONTEXT = 20  # columns kept before the first mark of a line that is cut
_LONGEST = 2_000  # letters of a line that are looked at, around what is marked: a generated line may have a million


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
    marked: dict[int, list[Mark]] = {}
    for mark in marks:
        number, _ = source.position(mark.span.start)
        marked.setdefault(number, []).append(mark)
    margin = len(str(max(marked)))
    gutter = " " * margin + " |"
    lines = [gutter]
    previous = None
    for number in sorted(marked):
        if previous is not None and number > previous + 1:
            lines.append("...")
        line, first = _near(source, number, marked[number])
        text, placed = _cut(expand(line), [_stroke(line, first, mark) for mark in marked[number]])
        lines.append(f"{number:>{margin}} | {text}".rstrip())
        lines.extend(f"{gutter} {line}" for line in _underline(placed))
        previous = number
    return Snippet(lines, margin)


def expand(line: str) -> str:
    """A line as it is shown: tabs as spaces, other control characters as one visible sign each."""
    if line.isprintable():
        return line
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


def _near(source: Source, number: int, marks: Sequence[Mark]) -> tuple[str, int]:
    """A line, or what is near the first of its marks where it is very long, and the offset in the text where that starts."""
    line = source.line(number)
    start = marks[0].span.start - source.position(marks[0].span.start)[1] + 1
    if len(line) <= _LONGEST:
        return line, start
    first = min(mark.span.start for mark in [mark for mark in marks if mark.primary] or marks) - start
    left = min(max(0, first - _LONGEST // 2), len(line) - _LONGEST)
    return line[left : left + _LONGEST], start + left


def _stroke(line: str, first: int, mark: Mark) -> _Stroke:
    """Where a mark stands on its line, whose first letter has this offset; what goes on over the line's ends is cut there."""
    start = width(expand(line[: max(0, mark.span.start - first)]))
    end = width(expand(line[: max(0, mark.span.end - first)]))
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
