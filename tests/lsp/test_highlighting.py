"""What editors colour is what the language has: one list of words, one lexer, one generated grammar."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path

import pytest
from pygments.token import Comment, Error, Keyword, Name, Number, Operator, String

from pdual.dsl.diagnostics import Collector
from pdual.dsl.scanner import scan
from pdual.dsl.tables import load
from pdual.finding import shipped_specs
from pdual.highlighting import PdualLexer
from pdual.vocabulary import GROUPS, line, missing

EDITORS = Path(__file__).parent.parent.parent / "editors"


def test_every_word_of_the_language_has_its_line():
    assert missing() == {}
    assert [word for words in GROUPS.values() for word in words if not line(word)] == []


@pytest.mark.parametrize("spec", sorted(shipped_specs()))
def test_the_lexer_knows_every_token(spec: str):
    text = shipped_specs()[spec].read_text(encoding="utf-8")
    found = list(PdualLexer().get_tokens_unprocessed(text))
    assert "".join(piece for _, _, piece in found) == text
    assert [piece for _, kind, piece in found if kind in Error] == []
    # Every token of the language's own scanner starts a token of the lexer, of the same kind.
    kinds = {start: kind for start, kind, _ in found}
    keywords = set(load().keywords.values()) - {"AND", "OR", "NOT"}
    for token in scan(text, load(), Collector())[:-1]:
        kind = kinds[token.span.start]
        if token.kind in keywords:
            assert kind in Keyword, token
        elif token.kind in ("NUMBER", "TEXT"):
            assert kind in (Number if token.kind == "NUMBER" else String), token
        elif token.kind == "NAME":
            assert kind in Name or kind in Keyword.Type or kind in Keyword.Constant, token
        elif token.kind in ("AND", "OR", "NOT", "RELATION", "PLUS"):
            assert kind in Operator, token


def test_a_keyword_in_a_comment_is_a_comment():
    (first, *_) = PdualLexer().get_tokens("# over x in y")
    assert first == (Comment.Single, "# over x in y")


def test_pygments_finds_the_lexer():
    assert PdualLexer.aliases == ["pdual"]
    text = (EDITORS.parent / "pyproject.toml").read_text(encoding="utf-8")
    assert '[project.entry-points."pygments.lexers"]\npdual = "pdual.highlighting:PdualLexer"' in text


def test_the_grammar_of_the_extension_is_up_to_date():
    made = runpy.run_path(str(EDITORS / "generate.py"))
    assert made["GRAMMAR"].read_text(encoding="utf-8") == made["text"](), "run `python editors/generate.py`"


def test_the_extension_names_files_that_are_there():
    folder = EDITORS / "vscode"
    package = json.loads((folder / "package.json").read_text(encoding="utf-8"))
    contributes = package["contributes"]
    named = [contributes["grammars"][0]["path"], contributes["languages"][0]["configuration"], package["main"]]
    assert [name for name in named if not (folder / name).is_file()] == []
    word = json.loads((folder / "language-configuration.json").read_text(encoding="utf-8"))["wordPattern"]
    assert re.fullmatch(word, "v_min")
