"""From a layout to lines: what fits stands on one line, comments go where they were placed."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass

from pdual.dsl.formatting.comments import Gap
from pdual.dsl.formatting.document import (
    INDENT,
    START,
    WIDTH,
    Choice,
    Doc,
    Edge,
    Group,
    Hang,
    Line,
    Nest,
    Pad,
    Parts,
    flat_width,
)


@dataclass(slots=True)
class Printed:
    """A line: its text with the indent, and the comment after it."""

    text: str
    comment: str | None = None

    @property
    def indent(self) -> int:
        """How far it is indented."""
        return len(self.text) - len(self.text.lstrip(" "))


def lines(layout: Parts, gaps: Mapping[int, Gap], end: int) -> list[Printed]:
    """The lines of a layout; ``end`` is the gap after its last token."""
    return _Printer(gaps).lines(layout, end)


class _Printer:
    """Prints with a stack of what is still to come, so that nesting costs no recursion."""

    def __init__(self, gaps: Mapping[int, Gap]) -> None:
        self._gaps = gaps
        self._commented = sorted(index for index, gap in gaps.items() if gap.comments)
        self._lines: list[Printed] = []
        self._text = ""
        self._stack: list[tuple[Doc, int, bool]] = []  # what is to come, its indent, and whether its lines end

    def lines(self, layout: Parts, end: int) -> list[Printed]:
        self._own_lines(self._gaps.get(START, Gap()), Edge.OPEN, 0, paragraphs=True)
        self._stack = [(layout, 0, True)]
        while self._stack:
            self._print(*self._stack.pop())
        self._end_line(Line(end, edge=Edge.CLOSE, paragraphs=True), -INDENT)
        return self._lines

    def _print(self, part: Doc, indent: int, broken: bool) -> None:
        match part:
            case str():
                self._text += part
            case Choice():
                self._text += part.broken if broken else part.flat
            case Pad():
                self._text += " " * part.width if broken else ""
            case Line():
                if broken or part.hard:
                    self._end_line(part, indent)
                    self._text = " " * indent
                else:
                    self._text += part.flat
            case tuple():
                self._stack.extend((item, indent, broken) for item in reversed(part))
            case Group():
                self._stack.append((part.body, indent, self._breaks(part)))
            case Nest():
                self._stack.append((part.body, indent + INDENT, broken))
            case Hang():
                column = len(self._text)
                hangs = column + part.step if self._text.isspace() or not column else column - part.reach
                self._stack.append((part.body, hangs if broken else indent, broken))

    def _breaks(self, group: Group) -> bool:
        if group.hard:
            return True
        first = bisect_left(self._commented, group.first)
        if first < len(self._commented) and self._commented[first] <= group.last:
            return True
        return len(self._text) + group.width + self._follows() > WIDTH

    def _follows(self) -> int:
        """What must stand on the same line after the current part."""
        width = 0
        for part, _, broken in reversed(self._stack):
            more, ends = _lead(part, broken)
            width += more
            if ends:
                break
        return width

    def _end_line(self, line: Line, indent: int) -> None:
        gap = self._gaps.get(line.after, Gap())
        comment = next((comment.text for comment in gap.comments if not comment.own_line), None)
        self._lines.append(Printed(self._text.rstrip(), comment))
        inside = indent + INDENT if line.edge is Edge.CLOSE else indent
        self._own_lines(gap, line.edge, inside, line.paragraphs)

    def _own_lines(self, gap: Gap, edge: Edge, indent: int, paragraphs: bool) -> None:
        """The comments of a gap that have lines of their own, and the blank lines of a list."""
        is_first = edge is Edge.OPEN
        for comment in gap.comments:
            if not comment.own_line:
                continue
            if comment.after_blank and paragraphs and not is_first:
                self._lines.append(Printed(""))
            self._lines.append(Printed(" " * indent + comment.text))
            is_first = False
        if gap.blank and paragraphs and not is_first and edge is not Edge.CLOSE:
            self._lines.append(Printed(""))


def _lead(part: Doc, broken: bool) -> tuple[int, bool]:
    """What a part takes up to the first place where a line may end, and whether there is one."""
    match part:
        case Line() if broken or part.hard:
            return 0, True
        case Pad():
            return (part.width if broken else 0), False
        case Choice():
            return len(part.broken if broken else part.flat), False
        case Group():
            return _lead(part.body, True)
        case Nest() | Hang():
            return _lead(part.body, broken)
        case tuple():
            width = 0
            for item in part:
                more, ends = _lead(item, broken)
                width += more
                if ends:
                    return width, True
            return width, False
    return flat_width(part), False
