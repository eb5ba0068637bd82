"""Where the cursor is, read off the tokens before it: a text that is being typed has no tree there."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pdual.dsl import tables
from pdual.dsl.checking.accepted import Accepted, accepted
from pdual.dsl.checking.dual_values import is_held
from pdual.dsl.declarations.optimisers import OPTIMISERS, SCHEDULES
from pdual.dsl.declarations.references import Settings
from pdual.dsl.declarations.registry import architectures, duals, sources
from pdual.dsl.declarations.solving import RHO_SCHEDULES, SHRINKINGS, SolveSettings
from pdual.dsl.diagnostics import Collector
from pdual.dsl.layout import CLOSERS, OPENERS, survey
from pdual.dsl.scanner import scan
from pdual.dsl.spans import Span, end_of_line, start_of_line
from pdual.dsl.tree import Token

_DOTTED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def dotted_at(text: str, offset: int) -> tuple[Span, str] | None:
    """The name around an offset, up to its end there: `power.case` as a whole where it is registered, else one word."""
    start = start_of_line(text, offset)
    for found in _DOTTED.finditer(text, start, end_of_line(text, offset)):
        if found.start() <= offset <= found.end() and "#" not in text[start : found.start()]:
            if found.group() in sources() or found.group() in architectures():
                return Span(found.start(), found.end()), found.group()
            before = text[found.start() : offset].rpartition(".")[0]
            first = found.start() + (len(before) + 1 if before else 0)
            word = text[first : found.end()].partition(".")[0]
            return Span(first, first + len(word)), word
    return None


class Around(NamedTuple):
    """What takes settings around the cursor: each with what it accepts, in words."""

    owner: str
    settings: Mapping[str, str]
    accepted: Mapping[str, Accepted]


class Cursor(NamedTuple):
    """The tokens before the word that is being typed, and where that word starts.

    ``heads`` are the tokens of the statement in hand; ``opened`` the brackets that are open, as positions in ``tokens``;
    ``starts`` the positions where statements start.
    """

    tokens: Sequence[Token]
    start: int
    statement: int
    opened: Sequence[int]
    starts: Sequence[int]

    @property
    def heads(self) -> Sequence[Token]:
        """The tokens of the statement in hand."""
        return self.tokens[self.statement :]

    @property
    def bracket(self) -> str | None:
        """The innermost open bracket."""
        return self.tokens[self.opened[-1]].kind if self.opened else None

    def last(self, count: int = 1) -> str | None:
        """The kind of the token so many before the cursor."""
        return self.tokens[-count].kind if len(self.tokens) >= count else None


def cursor(before: str) -> Cursor | None:
    """Where the text before the cursor ends; None inside a comment or a text."""
    word = _WORD.search(before)
    start = word.start() if word is not None else len(before)
    before = before[:start]
    tokens = scan(before, tables.load(), Collector())[:-1]
    line = before[start_of_line(before, len(before)) :]
    if "#" in re.sub(r'"(?:\\.|[^"\\])*"', "", line) or line.count('"') % 2:
        return None
    # A name stands for what is typed: a keyword right before the cursor starts its statement all the same.
    end = Span(start, start)
    starts = sorted(survey([*tokens, Token("NAME", "x", end), Token("$END", "", end)], before).starts)
    statement = starts[-1] if starts else 0
    opened: list[int] = []
    for position, token in enumerate(tokens):
        if token.kind in CLOSERS:
            opened.append(position)
        elif token.kind in OPENERS and opened:
            opened.pop()
    return Cursor(tokens, start, statement, opened, starts)


def settings_around(before: str) -> Around | None:
    """What takes settings at the end of a text: a call of something registered, or `solve`."""
    where = cursor(before)
    return None if where is None else settings_at(where)


def settings_at(where: Cursor) -> Around | None:
    """What takes settings at the cursor."""
    if not where.opened:
        return None
    position = where.opened[-1]
    if where.bracket == "LBRACE":
        is_solve = position > 0 and where.tokens[position - 1].kind == "SOLVE"
        return _around("solve", SolveSettings) if is_solve else None
    return _called(dotted_before(where.tokens, position)) if where.bracket == "LPAR" else None


def dotted_before(tokens: Sequence[Token], position: int) -> str:
    """The dotted name that ends right before a token; empty where there is none."""
    words: list[str] = []
    while position > 0 and tokens[position - 1].kind == "NAME":
        words.insert(0, tokens[position - 1].text)
        if position < 2 or tokens[position - 2].kind != "DOT":
            break
        position -= 2
    return ".".join(words)


def _called(name: str) -> Around | None:
    records: Mapping[str, type[Settings]] = {**OPTIMISERS, **SCHEDULES, **RHO_SCHEDULES, **SHRINKINGS}
    if name in records:
        return _around(name, records[name])
    if is_held(name):
        own = _around(name, duals()[name].settings)
        return Around(
            name, {**dict.fromkeys(duals()[name].arguments, f"a setting of `{name}`"), **own.settings}, own.accepted
        )
    for registry in (architectures(), sources()):
        if name and name in registry:
            return _around(name, registry[name].settings)
    return None


def _around(owner: str, record: type[Settings]) -> Around:
    takes = {name: accepted(field.annotation) for name, field in record.model_fields.items()}
    return Around(owner, {name: f"`{owner}`: {item.expected}" for name, item in takes.items()}, takes)
