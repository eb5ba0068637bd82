"""Write the grammar of the VS Code extension from the language's own words and terminals: ``python editors/generate.py``."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pdual.dsl.tables import TABLES
from pdual.vocabulary import BUILTINS, CLAUSES, DUALS, STATEMENTS, TYPES, VALUES, WORD_OPERATORS

GRAMMAR = Path(__file__).with_name("vscode") / "syntaxes" / "pdual.tmLanguage.json"
DECLARING = ("problem", "param", "set", "given", "data", "model", "def", "metric", "expect")


def _words(words: Iterable[str]) -> str:
    return rf"\b(?:{'|'.join(sorted(words))})\b"


def grammar() -> dict[str, Any]:
    """The TextMate grammar; the first pattern that matches wins."""
    terminal = dict(json.loads(TABLES.read_text(encoding="utf-8"))["terminals"])
    name = terminal["NAME"]
    declared = {"1": {"name": "keyword.control.pdual"}, "2": {"name": "entity.name.pdual"}}
    patterns = [
        {"name": "comment.line.number-sign.pdual", "match": terminal["COMMENT"]},
        {"name": "string.quoted.double.pdual", "match": terminal["TEXT"]},
        {"match": rf"\b({'|'.join(DECLARING)})[ \t]+({name})", "captures": declared},
        {"match": rf"\.\s*({name})", "captures": {"1": {"name": "variable.other.member.pdual"}}},
        {"name": "keyword.operator.word.pdual", "match": _words(WORD_OPERATORS)},
        {"name": "keyword.control.pdual", "match": _words([*STATEMENTS, *CLAUSES])},
        {"name": "storage.type.pdual", "match": _words(TYPES)},
        {"name": "constant.language.pdual", "match": _words(VALUES)},
        {"name": "support.function.pdual", "match": _words([*BUILTINS, *DUALS]) + r"(?=\s*[(\[])"},
        {"name": "constant.numeric.pdual", "match": rf"\b{terminal['NUMBER']}"},
        {"name": "keyword.operator.pdual", "match": rf"{terminal['RELATION']}|->|\.\.|[-+*/^=]"},
    ]
    return {
        "name": "pdual",
        "scopeName": "source.pdual",
        "fileTypes": ["pdual"],
        "patterns": patterns,
    }


def text() -> str:
    """The text of the committed file."""
    return json.dumps(grammar(), indent=2) + "\n"


if __name__ == "__main__":
    GRAMMAR.parent.mkdir(parents=True, exist_ok=True)
    GRAMMAR.write_text(text(), encoding="utf-8")
