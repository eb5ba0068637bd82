"""What a layout promises, as assertions."""

from __future__ import annotations

from pdual.dsl.formatting import layout
from pdual.dsl.parser import parse
from pdual.dsl.printer import render_all
from pdual.dsl.spans import Source
from pdual.dsl.tables import load


def formatted(text: str) -> str:
    found, diagnostics = layout.formatted(Source("test", text))
    assert found is not None, render_all(diagnostics, Source("test", text))
    return found


def pieces(text: str) -> list[tuple[str, str]]:
    """Every terminal of a text, blanks and comments too."""
    return [(str(found.lastgroup), found.group()) for found in load().pattern.finditer(text)]


def comments(text: str) -> list[str]:
    return [piece.rstrip() for kind, piece in pieces(text) if kind == "COMMENT"]


def words(text: str) -> list[str]:
    """The tokens as written; commas at the end of a list and between entries come and go."""
    return [piece for kind, piece in pieces(text) if kind not in ("COMMENT", "BLANK", "COMMA")]


def hold(text: str) -> None:
    """Assert everything that a layout promises."""
    found = formatted(text)
    assert formatted(found) == found
    assert parse(Source("test", found)) == parse(Source("test", text))
    assert comments(found) == comments(text)
    assert words(found) == words(text)
    assert found.endswith("\n")
    assert not found.startswith("\n")
    for line in found.split("\n"):
        assert line == line.rstrip()
    assert "\n\n\n" not in found
    assert not found.endswith("\n\n")
