"""Where a piece of a spec stands in its text."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Half-open range of character offsets ``[start, end)`` in the text of one spec."""

    start: int
    end: int

    def to(self, other: Span) -> Span:
        """The smallest span that covers both."""
        return Span(min(self.start, other.start), max(self.end, other.end))


NOWHERE = Span(0, 0)


@dataclass(frozen=True)
class Source:
    """The text of one spec and the name it is shown under."""

    name: str
    text: str

    @cached_property
    def _line_starts(self) -> tuple[int, ...]:
        starts = [0]
        starts.extend(i + 1 for i, character in enumerate(self.text) if character == "\n")
        return tuple(starts)

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column, both from 1, of a character offset."""
        low, high = 0, len(self._line_starts)
        while high - low > 1:
            middle = (low + high) // 2
            if self._line_starts[middle] <= offset:
                low = middle
            else:
                high = middle
        return low + 1, offset - self._line_starts[low] + 1

    def line(self, number: int) -> str:
        """The text of a line, counted from 1, without its line break."""
        start = self._line_starts[number - 1]
        end = self.text.find("\n", start)
        return self.text[start : len(self.text) if end < 0 else end].rstrip("\r")
