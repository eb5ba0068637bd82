"""A spec in its canonical layout, and the proof that it is still the same spec."""

from __future__ import annotations

from pdual.dsl.diagnostics import Diagnostic
from pdual.dsl.formatting import comments, printing
from pdual.dsl.formatting.alignment import Rows, align
from pdual.dsl.formatting.document import gaps_of
from pdual.dsl.formatting.lossless import words, written
from pdual.dsl.formatting.statements import Statements
from pdual.dsl.formatting.trailing import joined
from pdual.dsl.parser import parse
from pdual.dsl.spans import Source


class ChangedError(Exception):
    """The layout would say something else than the text: a bug, and nothing is to be written."""


def formatted(source: Source) -> tuple[str | None, tuple[Diagnostic, ...]]:
    """The text in its canonical layout, or None and what is wrong with its syntax.

    Raises ChangedError where the new text would not be the same spec with the same comments.
    """
    spec, found = parse(source)
    if spec is None or found:
        return None, found
    text = _laid_out(source.text)
    if text != source.text:
        again, mistakes = parse(Source(source.name, text))
        if mistakes or again != spec:
            raise ChangedError(f"the layout of `{source.name}` would change what it says")
        if _comments(text) != _comments(source.text):
            raise ChangedError(f"the layout of `{source.name}` would change its comments")
    return text, ()


def _laid_out(text: str) -> str:
    source = written(text)
    rows: Rows = []
    layout = Statements(source, rows).spec(source.tree)
    end = len(source.tokens) - 2
    gaps = comments.placed(comments.gaps(text, source.tokens), [*gaps_of(layout), end])
    align(rows, gaps)
    return joined(printing.lines(layout, gaps, end))


def _comments(text: str) -> list[str]:
    return comments.texts(comments.gaps(text, words(text)))
