"""A lexer for Pygments, from the language's own words and terminals: ``pygmentize -l pdual``, Sphinx, notebooks."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, ClassVar

from pygments.lexer import RegexLexer, bygroups, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Whitespace

from pdual.dsl.tables import TABLES
from pdual.vocabulary import BUILTINS, CLAUSES, DUALS, STATEMENTS, TYPES, VALUES, WORD_OPERATORS


def _terminals() -> dict[str, str]:
    return dict(json.loads(TABLES.read_text(encoding="utf-8"))["terminals"])


def _word(names: Iterable[str]) -> Any:
    return words(tuple(names), prefix=r"\b", suffix=r"\b")


_TERMINAL = _terminals()
_NAME = _TERMINAL["NAME"]
_MARKS = ["LBRACE", "RBRACE", "LPAR", "RPAR", "LSQB", "RSQB", "COMMA", "COLON", "DOT"]
_OPERATORS = ["RELATION", "ARROW", "RANGE", "EQUAL", "PLUS", "MINUS", "STAR", "SLASH", "CARET"]


class PdualLexer(RegexLexer):  # type: ignore[misc]  # Pygments brings no types along
    """Specs of pdual."""

    name = "pdual"
    aliases: ClassVar = ["pdual"]
    filenames: ClassVar = ["*.pdual"]
    mimetypes: ClassVar = ["text/x-pdual"]
    tokens: ClassVar = {
        "root": [
            (_TERMINAL["BLANK"], Whitespace),
            (_TERMINAL["COMMENT"], Comment.Single),
            (_TERMINAL["TEXT"], String.Double),
            (_TERMINAL["NUMBER"], Number),
            (
                rf"\b(problem|param|set|given|data|model|def|metric|expect)\b([ \t]+)({_NAME})",
                bygroups(Keyword, Whitespace, Name.Class),
            ),
            (rf"(\.)(\s*)({_NAME})", bygroups(Punctuation, Whitespace, Name.Attribute)),
            (_word(WORD_OPERATORS), Operator.Word),
            (_word([*STATEMENTS, *CLAUSES]), Keyword),
            (_word(TYPES), Keyword.Type),
            (_word(VALUES), Keyword.Constant),
            (r"\b(?:" + "|".join([*BUILTINS, *DUALS]) + r")\b(?=\s*[(\[])", Name.Builtin),
            (_NAME, Name),
            ("|".join(_TERMINAL[kind] for kind in _OPERATORS), Operator),
            ("|".join(_TERMINAL[kind] for kind in _MARKS), Punctuation),
        ]
    }
