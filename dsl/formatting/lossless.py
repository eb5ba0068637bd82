"""The tree of a text with every token in it, brackets and commas included."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

from pdual.dsl import tables
from pdual.dsl.diagnostics import Collector
from pdual.dsl.layout import survey
from pdual.dsl.reader import read
from pdual.dsl.scanner import scan
from pdual.dsl.tree import Token, Tree


class Written(NamedTuple):
    """A text without mistakes as tokens, the last of them END, and as the tree that holds them all."""

    tokens: Sequence[Token]
    tree: Tree
    position: Mapping[int, int]  # of the token that starts at this character


def written(text: str) -> Written:
    """The lossless tree of a text that ``parse`` has nothing to say about."""
    collector = Collector()
    tokens = words(text)
    tree = read(text, tokens, survey(tokens, text), _lossless(), collector)
    assert not collector.diagnostics, "only what was parsed without a mistake is laid out"
    return Written(tokens, tree, {token.span.start: index for index, token in enumerate(tokens[:-1])})


def words(text: str) -> Sequence[Token]:
    """The tokens of such a text, the last of them END."""
    return scan(text, tables.load(), Collector())


@cache
def _lossless() -> tables.Tables:
    """The tables of the grammar, with rules that keep every symbol."""
    loaded = tables.load()
    rules = tuple(
        rule._replace(keep=tuple(range(rule.size)), transparent=rule.transparent and rule.size == 1)
        for rule in loaded.rules
    )
    return loaded._replace(rules=rules)
