"""Terminals in words: what could have come next, and what came."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from pdual.dsl.layout import CLOSERS, EXPRESSION_STARTS, STATEMENTS
from pdual.dsl.tree import END, Token

MOST_LISTED = 4
_LONGEST_TEXT = 24

_OPERATORS = ("PLUS", "MINUS", "STAR", "SLASH", "CARET", "RELATION", "OR", "AND", "IF", "DOT", "LPAR", "LSQB")
_WORDS: Mapping[str, str] = {
    "NAME": "a name",
    "NUMBER": "a number",
    "TEXT": "a text in quotes",
    "RELATION": "a relation",
    END: "the end of the file",
}


def found(token: Token) -> str:
    """A token as a message shows it."""
    if token.kind == END:
        return _WORDS[END]
    text = token.text if len(token.text) <= _LONGEST_TEXT else token.text[: _LONGEST_TEXT - 1] + "…"
    return f"`{text}`"


def expected(kinds: Collection[str], symbols: Mapping[str, str]) -> str:
    """What could have come: the most telling first, at most a handful."""
    left = set(kinds)
    words: list[str] = []
    for kind in ("COLON", "EQUAL", "COMMA", *CLOSERS.values()):
        if kind in left:
            left.remove(kind)
            words.append(f"`{symbols[kind]}`")
    if {"NAME", "NUMBER", "LPAR"} <= left:
        left.difference_update(EXPRESSION_STARTS, ("IF",))
        words.append("an expression")
    elif {"PLUS", "STAR"} <= left:
        left.difference_update(_OPERATORS)
        words.append("an operator")
    statements = left.intersection(STATEMENTS)
    if len(statements) > 1:
        left.difference_update(statements, (END,))
        words.append("a statement")
    rest = sorted(left, key=lambda kind: (kind == END, kind != "NAME", kind))
    words.extend(_WORDS.get(kind) or f"`{symbols[kind]}`" for kind in rest)
    words = words[:MOST_LISTED]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
