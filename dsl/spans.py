"""Where a piece of a spec stands in its text."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Half-open range of character offsets ``[start, end)`` in the text of one spec."""

    start: int
    end: int

    def to(self, other: Span) -> Span:
        """The smallest span that covers both."""
        start = self.start if self.start <= other.start else other.start
        return Span(start, self.end if self.end >= other.end else other.end)

    def within(self, outer: Span) -> bool:
        """Whether all of it is inside another span."""
        return outer.start <= self.start and self.end <= outer.end


NOWHERE = Span(0, 0)

#: What ends a line, and so a comment: what editors and the language server protocol hold for one, and nothing else.
LINE_END = re.compile(r"\r\n?|\n")


def start_of_line(text: str, end: int) -> int:
    """Where the line that reaches up to ``end`` starts."""
    return max(text.rfind("\n", 0, end), text.rfind("\r", 0, end)) + 1


def end_of_line(text: str, start: int) -> int:
    """Where the line that goes on at ``start`` ends, without its line end."""
    found = LINE_END.search(text, start)
    return len(text) if found is None else found.start()


@dataclass(frozen=True)
class Source:
    """The text of one spec and the name it is shown under."""

    name: str
    text: str

    @cached_property
    def _line_starts(self) -> tuple[int, ...]:
        return (0, *(found.end() for found in LINE_END.finditer(self.text)))

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column, both from 1, of a character offset."""
        line = bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1

    def line(self, number: int) -> str:
        """The text of a line, counted from 1, without its line break."""
        starts = self._line_starts
        following = starts[number] if number < len(starts) else None
        return self.text[starts[number - 1] : following].rstrip("\r\n")
