from __future__ import annotations

import json

import pytest
from lark import Lark
from lark.exceptions import GrammarError

from pdual.dsl import tables
from pdual.dsl.layout import BLOCK_STATEMENTS, SOFT, STATEMENTS

GRAMMAR = tables.GRAMMAR.read_text(encoding="utf-8")


def test_committed_tables_are_those_of_the_grammar() -> None:
    built = tables.build(GRAMMAR)
    committed = tables.TABLES.read_text(encoding="utf-8")
    assert tables.encode(built) == committed, "run `python -m pdual.dsl.tables`"
    assert tables.decode(json.loads(committed)) == tables.load()


def test_grammar_has_no_conflict_and_no_colliding_terminals() -> None:
    """Strict mode raises on a shift/reduce conflict, and on two patterns that match one text."""
    pytest.importorskip("interegular")
    assert Lark(GRAMMAR, parser="lalr", lexer="basic", start=tables.START, strict=True).rules


def test_strict_mode_would_find_a_conflict() -> None:
    pytest.importorskip("interegular")
    with pytest.raises(GrammarError):
        tables.build("spec: item*\nitem: NAME | NAME item\nNAME: /[a-z]+/\n")


def test_every_statement_and_soft_word_is_a_keyword() -> None:
    keywords = set(tables.load().keywords.values())
    assert set(STATEMENTS) | SOFT <= keywords
    assert keywords - set(STATEMENTS) - SOFT == {"IF", "ELSE", "AND", "OR", "NOT", "WHERE"}
    assert set(BLOCK_STATEMENTS) < set(STATEMENTS)


def test_builtins_are_ordinary_names() -> None:
    assert not {"sum", "abs", "mlp", "adam", "mean", "features", "default", "pointwise"} & set(tables.load().keywords)
