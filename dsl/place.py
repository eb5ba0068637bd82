"""Where the automaton stops, and what can be decided there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pdual.dsl import expectation
from pdual.dsl.diagnostics import Diagnostic
from pdual.dsl.layout import CLOSERS, SOFT, Layout
from pdual.dsl.machine import Machine
from pdual.dsl.spans import Span, start_of_line
from pdual.dsl.tree import END, Token

_LOOKAHEAD = 3


class Verdict(NamedTuple):
    """One mistake and the way on."""

    diagnostic: Diagnostic
    instead: tuple[Token, ...] | None = None  # read these in the token's place; None: give the statement up
    skip_to: int | None = None  # give up, and look for where to read on from here
    keeps: bool = False  # the statement before the mistake is complete


class Place(NamedTuple):
    """The token that cannot come next, and everything around it."""

    machine: Machine
    tokens: Sequence[Token]
    position: int
    token: Token  # as the automaton was offered it
    layout: Layout
    text: str

    @property
    def following(self) -> Token:
        """The token after; END is followed by itself."""
        return self.tokens[min(self.position + 1, len(self.tokens) - 1)]

    @property
    def opener(self) -> Token | None:
        """The innermost bracket that is open here."""
        return self.machine.innermost(CLOSERS)

    @property
    def is_boundary(self) -> bool:
        """Whether the token starts a statement, closes a block or ends the file."""
        return self.position in self.layout.starts or self.token.kind in (END, "RBRACE")

    @property
    def is_first_on_line(self) -> bool:
        """Whether nothing stands before the token on its line."""
        end = self.token.span.start
        return not self.text[start_of_line(self.text, end) : end].strip()

    @property
    def at_statement(self) -> bool:
        """Whether a statement could start here."""
        return self.machine.accepts("LET")

    def missing(self, kind: str) -> tuple[Token, ...] | None:
        """The token with what is missing before it, where that is all that is missing."""
        # A word that was read as a name, for want of what is missing, may be a keyword after all.
        for token in (self.tokens[self.position], self.token):
            if self.machine.accepts(kind, token.kind):
                start = token.span.start
                return Token(kind, self.machine.tables.symbols[kind], Span(start, start)), token
        return None

    def sound(self, instead: tuple[Token, ...]) -> tuple[Token, ...] | None:
        """These tokens where what follows fits them, else None: a wrong guess leads to more reports."""
        ahead: list[str] = []
        for token in self.tokens[self.position + 1 : self.position + 1 + _LOOKAHEAD]:
            if token.kind in SOFT or self.tokens[self.position].kind == END:
                break
            ahead.append(token.kind)
        return instead if self.machine.accepts(*(token.kind for token in instead), *ahead) else None

    @property
    def kinds(self) -> list[str]:
        """What could come here."""
        every = (*self.machine.tables.symbols, "NAME", "NUMBER", "TEXT", "RELATION", END)
        return [kind for kind in every if self.machine.accepts(kind)]

    def expected(self) -> str:
        """What could come here, in words."""
        tables, kinds = self.machine.tables, self.kinds
        # A word found where it is not enough, as `in` without a set, is not asked for again.
        others = [kind for kind in kinds if tables.symbols.get(kind) != self.token.text]
        return expectation.expected(others or kinds, tables.symbols)
