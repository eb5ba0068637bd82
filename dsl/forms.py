"""How every statement is written, in one line: what a message shows of a statement that came out wrong before its values."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from pdual.dsl.layout import CLOSERS, STATEMENTS
from pdual.dsl.tree import Token, Tree

FORMS: Mapping[str, str] = {
    "PROBLEM": 'problem NAME "TITLE"',
    "PARAM": "param NAME = VALUE in [LOW, HIGH]",
    "SET": "set NAME = 0..9` or `set NAME = { A, B }",
    "GIVEN": 'given NAME = SOURCE("FILE") { FIELD: TYPE }',
    "DATA": 'data NAME = SOURCE("FILE") { FIELD: TYPE }',
    "MODEL": "model NAME(INPUT: TYPE) -> TYPE = ARCHITECTURE(SETTING = VALUE)",
    "DEF": "def NAME(x) = VALUE",
    "OVER": "over ROW in DATA { ... }` or `over group NAME of DATA by FIELD { ... }",
    "EXPECT": "expect NAME on DATA.SPLIT: VALUE <= VALUE",
    "SOLVE": "solve { SETTING = VALUE }",
    "LET": "let NAME = VALUE` or `let NAME[i in SET] = VALUE",
    "MINIMIZE": "minimize VALUE",
    "SUBJECT": "subject to NAME: VALUE <= VALUE",
    "DUAL": "dual NAME = pointwise(cap = 10)",
    "METRIC": "metric NAME = VALUE",
}

#: Where one of these may come, an expression is under way, and its statement's form says nothing.
_IN_AN_EXPRESSION = frozenset({"NUMBER", "PLUS"})


def form(values: Sequence[Token | Tree], expected: Collection[str]) -> str | None:
    """That of the statement under way, by what was read and what may come; None inside its brackets and expressions."""
    if _IN_AN_EXPRESSION.intersection(expected):
        return None
    for value in reversed(values):
        if isinstance(value, Token):
            if value.kind in CLOSERS or value.kind == "TO":
                return None
            if value.kind in STATEMENTS:
                return FORMS[value.kind]
    return None
