"""Tokens to a tree. After a mistake it reads on, so that one pass reports every independent mistake."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from pdual.dsl.blame import blame
from pdual.dsl.diagnostics import Collector
from pdual.dsl.layout import SOFT, STATEMENTS, Layout, fits, is_word
from pdual.dsl.machine import Machine
from pdual.dsl.place import Place, Verdict
from pdual.dsl.spans import Span
from pdual.dsl.tables import Tables
from pdual.dsl.tree import END, Token, Tree

_BEFORE_OPERANDS = frozenset({"IN", "WHERE", "NOT", "AND", "OR", "DOT", "SCALE"})

MOST_MISTAKES = 50  # a file with more is not a spec with typing errors


def read(text: str, tokens: Sequence[Token], layout: Layout, tables: Tables, collector: Collector) -> Tree:
    """The tree of everything that can be read; every mistake goes to the collector."""
    return _Reader(text, tokens, layout, tables, collector).read()


class _Reader:
    def __init__(
        self, text: str, tokens: Sequence[Token], layout: Layout, tables: Tables, collector: Collector
    ) -> None:
        self._text = text
        self._tokens = tokens
        self._layout = layout
        self._machine = Machine(tables)
        self._reserved = frozenset(tables.keywords.values()) - SOFT
        self._plain = (
            frozenset({*tables.symbols, END, "NUMBER", "TEXT"}) - self._reserved - SOFT
        )  # what can be one thing only
        self._collector = collector
        self._strays = sorted(item.span.start for item in collector if item.code == "PD001")
        self._index = 0
        self._mistakes = 0
        self._misused: set[str] = set()  # words of the language used as names: each is one mistake

    def read(self) -> Tree:
        feed, tokens, plain = self._machine.feed, self._tokens, self._plain
        after_names = plain - {"LBRACE"}  # a name that one of these follows is no misspelt statement
        while True:
            token = tokens[self._index]
            if token.kind in plain or (token.kind == "NAME" and tokens[self._index + 1].kind in after_names):
                is_taken = feed(token)
            else:
                is_taken = self._takes_word(token := self._resolved())
            if is_taken:
                if token.kind == END:
                    (spec,) = self._machine.values
                    assert isinstance(spec, Tree)
                    return spec
                self._index += 1
                continue
            place = Place(self._machine, self._tokens, self._index, token, self._layout, self._text)
            verdict = blame(place)
            if not self._follows_stray(token):
                self._collector.extend((verdict.diagnostic,))
            self._mistakes += 1
            if self._mistakes >= MOST_MISTAKES:
                self._index = len(self._tokens) - 1
                verdict = Verdict(verdict.diagnostic)
            self._go_on(verdict)

    def _takes_word(self, token: Token) -> bool:
        return not self._is_lost(token) and self._machine.feed(token)

    # --- which terminal a word is ---------------------------------------------------------------------------

    def _resolved(self) -> Token:
        """The current token, with a word that is a keyword only in places read as what it is here."""
        token, accepts = self._tokens[self._index], self._machine.accepts
        if token.kind in SOFT:
            if fits(token, self._following) and accepts(token.kind):
                return token
            return Token("NAME", token.text, token.span)
        if token.kind in self._reserved and self._index not in self._layout.starts:
            following = self._following
            is_keyword = token.kind not in STATEMENTS and accepts(token.kind)
            kinds = {following.kind, "NAME"} if following.kind in SOFT else {following.kind}
            if not is_keyword and any(accepts("NAME", kind) for kind in kinds):
                if token.text not in self._misused:
                    self._collector.add("PD010", token.span, word=token.text)
                self._misused.add(token.text)
                return Token("NAME", token.text, token.span)
        return token

    def _is_lost(self, token: Token) -> bool:
        """Whether a name where a constraint could start is a misspelt statement, judged by what follows."""
        if token.kind != "NAME":
            return False
        following, accepts = self._following, self._machine.accepts
        if not (is_word(following) or following.kind == "LBRACE"):
            return False
        return accepts("NAME") and accepts("LET") and not accepts("NAME", following.kind)

    @property
    def _following(self) -> Token:
        return self._tokens[min(self._index + 1, len(self._tokens) - 1)]

    def _follows_stray(self, token: Token) -> bool:
        """Whether something that is no token, reported already, was left out right before this one."""
        before = self._tokens[self._index - 1].span.end if self._index else 0
        return bisect_left(self._strays, before) < bisect_left(self._strays, token.span.start)

    # --- reading on -----------------------------------------------------------------------------------------

    def _go_on(self, verdict: Verdict) -> None:
        if verdict.instead is not None:
            for token in verdict.instead:
                if token.kind == END:  # the loop reads it again and ends with it
                    return
                self._machine.feed(token)
            self._index += 1
            return
        if verdict.skip_to is not None:
            self._index = verdict.skip_to
        if not verdict.keeps and self._resume_at_constraint():
            return
        if not verdict.keeps and self._abandon_statement() == "OVER":
            self._skip_block()
        self._index = self._next_boundary()
        self._leave_blocks(self._tokens[self._index].kind)

    def _resume_at_constraint(self) -> bool:
        """Inside `subject to`, give up one constraint only. False where no other one follows."""
        values = self._machine.values
        height = len(values)
        while height and not self._starts_constraints(height):
            if self._is_statement_start(height):
                return False
            height -= 1
        index = max(self._index, 1)
        while height and index not in self._layout.starts and self._tokens[index].kind not in ("RBRACE", END):
            if self._is_constraint_head(index):
                self._machine.wind_back(height)
                self._index = index
                return True
            index += 1
        return False

    def _starts_constraints(self, height: int) -> bool:
        value = self._machine.values[height - 1]
        return value.kind == "TO" if isinstance(value, Token) else value.label == "_constraints"

    def _is_statement_start(self, height: int) -> bool:
        value = self._machine.values[height - 1]
        return isinstance(value, Token) and value.kind in STATEMENTS

    def _is_constraint_head(self, index: int) -> bool:
        """Whether `name:`, `name[...]:` or either with `scale` stands here."""
        tokens = self._tokens
        if not is_word(tokens[index]) or tokens[index - 1].kind in _BEFORE_OPERANDS:
            return False
        after = index + 1
        if tokens[after].kind == "LSQB":
            after = self._layout.closers.get(tokens[after], len(tokens) - 2) + 1
        return tokens[after].kind in ("COLON", "SCALE")

    def _abandon_statement(self) -> str | None:
        """Forget the statement being read, not the block or constraints around it; its keyword's terminal."""
        values = self._machine.values
        for height in range(len(values), 0, -1):
            value = values[height - 1]
            if isinstance(value, Tree) and value.label == "_constraints":
                self._machine.wind_back(height)
                return None
            if isinstance(value, Token) and value.kind == "LBRACE" and self._opens_block(height):
                return None
            if isinstance(value, Token) and value.kind in STATEMENTS:
                self._machine.wind_back(height - 1)
                return value.kind
        return None

    def _skip_block(self) -> None:
        """Leave out the body of an `over` with a wrong head: what its statements mean depends on it."""
        index = self._index
        while index not in self._layout.starts and self._tokens[index].kind not in ("LBRACE", END):
            index += 1
        self._index = self._layout.closers.get(self._tokens[index], self._index - 1) + 1

    def _opens_block(self, height: int) -> bool:
        """Whether the brace on top of this many values opens the body of an `over`."""
        return "LET" in self._machine.tables.actions[self._machine.states[height]]

    def _next_boundary(self) -> int:
        """The next token that starts a statement, closes the block read now, or ends the file.

        Braces that open on the way belong to what is left out, and go with it.
        """
        opener = self._machine.innermost({"LBRACE"})
        block_end = self._layout.closers.get(opener) if opener is not None else None
        index = self._index
        while index not in self._layout.starts and index != block_end and self._tokens[index].kind != END:
            token = self._tokens[index]
            inside = token.kind == "LBRACE" and token is not opener
            index = self._layout.closers.get(token, index) + 1 if inside else index + 1
        return index

    def _leave_blocks(self, kind: str) -> None:
        """Close what cannot hold the next statement."""
        machine = self._machine
        while machine.values and not machine.accepts(kind):
            end = self._tokens[max(self._index - 1, 0)].span.end
            if not machine.feed(Token("RBRACE", "}", Span(end, end))):
                machine.wind_back(len(machine.values) - 1)
