"""Between offsets in a text and the positions of the protocol: lines, and columns in the client's code units."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable

from lsprotocol.types import Position, Range

from pdual.dsl.spans import LINE_END, Span


def utf16_units(text: str) -> int:
    """Code units of UTF-16, the protocol's own."""
    return len(text) + sum(ord(letter) > 0xFFFF for letter in text)


class Positions:
    """Both directions for one text. ``units`` counts what the client counts columns in."""

    def __init__(self, text: str, units: Callable[[str], int] = utf16_units) -> None:
        self._text = text
        self._units = units
        breaks = list(LINE_END.finditer(text))
        self._starts = [0, *(found.end() for found in breaks)]
        self._ends = [*(found.start() for found in breaks), len(text)]

    def position(self, offset: int) -> Position:
        """Where a character stands; what lies beyond the text is at its end."""
        offset = min(max(offset, 0), len(self._text))
        line = bisect_right(self._starts, offset) - 1
        return Position(line, self._units(self._text[self._starts[line] : min(offset, self._ends[line])]))

    def range(self, span: Span) -> Range:
        """Both ends of a span."""
        return Range(self.position(span.start), self.position(span.end))

    def offset(self, position: Position) -> int:
        """The character at a position; a column beyond the line is its end, a line beyond the text the text's."""
        if position.line >= len(self._starts):
            return len(self._text)
        start, end = self._starts[position.line], self._ends[position.line]
        column = 0
        for offset in range(start, end):
            if column >= position.character:
                return offset
            column += self._units(self._text[offset])
        return end

    @property
    def whole(self) -> Range:
        """All of the text."""
        return Range(Position(0, 0), self.position(len(self._text)))
