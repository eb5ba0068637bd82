"""What a layout is made of: text, places where a line may end, and groups that stand on one line where they fit.

A place where a line may end is also where a comment may stand, and carries the gap it is: the position of the token
before it. All else about comments is in ``comments``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

WIDTH = 120
INDENT = 2
START = -1  # the gap before the first token
NOWHERE = -2


class Edge(Enum):
    """Where in a list a line ends."""

    OPEN = 1  # after what opens it
    BETWEEN = 2
    CLOSE = 3  # before what closes it: comments there belong to the list


@dataclass(frozen=True, slots=True)
class Line:
    """A line may end here, else ``flat`` stands here; a hard one ends in any case. ``paragraphs`` keeps blank lines."""

    after: int
    flat: str = " "
    hard: bool = False
    edge: Edge = Edge.BETWEEN
    paragraphs: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """One text in a group that stands on one line, another in one that does not."""

    flat: str
    broken: str


@dataclass(slots=True)
class Pad:
    """Blanks that align what follows with the neighbouring lines; ``alignment`` decides how many."""

    width: int = 0


@dataclass(frozen=True, slots=True)
class Nest:
    """Lines that start inside are indented by a step."""

    body: Parts


@dataclass(frozen=True, slots=True)
class Hang:
    """Operands of one operator: lines start with it, so that operands stand under each other.

    ``reach`` is what the operator takes. A first operand that starts its line leaves no room for it: then lines are
    indented by ``step``.
    """

    body: Parts
    reach: int
    step: int


class Group:
    """On one line where it fits and holds no comment; else every line that may end directly in it does."""

    __slots__ = ("body", "first", "hard", "last", "width")

    def __init__(self, *parts: Doc) -> None:
        self.body = row(*parts)
        self.width = flat_width(self.body)
        self.first, self.last, self.hard = NOWHERE, NOWHERE, False
        for part in _inner(self.body):
            if isinstance(part, Line):
                self.include(part.after)
            elif part.last >= START:
                self.include(part.first, part.last)
            self.hard = self.hard or part.hard

    def include(self, first: int, last: int | None = None) -> None:
        """A comment in one of these gaps, too, keeps it from standing on one line."""
        self.first = first if self.last < START else min(self.first, first)
        self.last = max(self.last, first if last is None else last)


Doc: TypeAlias = "str | Line | Choice | Pad | Nest | Hang | Group | Parts"
Parts: TypeAlias = "tuple[Doc, ...]"


def row(*parts: Doc) -> Parts:
    """Parts one after the other, as one flat sequence."""
    return tuple(item for part in parts for item in (part if isinstance(part, tuple) else (part,)))


def nest(*parts: Doc) -> Nest:
    """``Nest`` of parts."""
    return Nest(row(*parts))


def between(parts: Iterable[Doc], separator: Doc) -> Parts:
    """Parts with the same separator between neighbours."""
    found: list[Doc] = []
    for part in parts:
        found += [separator, part] if found else [part]
    return row(*found)


def flat_width(doc: Doc) -> int:
    """What a part takes on one line; alignment is left out."""
    match doc:
        case str():
            return len(doc)
        case Line() | Choice():
            return len(doc.flat)
        case Group():
            return doc.width
        case Nest() | Hang():
            return flat_width(doc.body)
        case tuple():
            return sum(map(flat_width, doc))
        case Pad():
            return 0


def _inner(parts: Parts) -> Iterator[Line | Group]:
    """Lines and groups, in order, through what only indents."""
    for part in parts:
        if isinstance(part, Line | Group):
            yield part
        elif isinstance(part, Nest | Hang):
            yield from _inner(part.body)


def gaps_of(doc: Doc) -> Iterator[int]:
    """Every gap where a line may end, in order."""
    waiting: list[Doc] = [doc]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Line):
            yield part.after
        elif isinstance(part, tuple):
            waiting.extend(reversed(part))
        elif isinstance(part, Group | Nest | Hang):
            waiting.extend(reversed(part.body))
