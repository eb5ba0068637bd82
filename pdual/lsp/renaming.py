"""Renaming: every place where a name is written, and the proof that the new name means the same everywhere."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pdual.dsl.parser import parse
from pdual.dsl.pipeline import read
from pdual.dsl.spans import Source, Span
from pdual.dsl.tables import load
from pdual.lsp.analysis import Analysis
from pdual.lsp.resolving import resolve
from pdual.lsp.symbols import Occurrence
from pdual.vocabulary import BUILTINS, TYPES, VALUES

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class ClashError(Exception):
    """Why a name cannot be given."""


def renamed(analysis: Analysis, occurrence: Occurrence, name: str) -> Sequence[Span]:
    """The places to write the new name at. Raises ClashError where the spec would not say the same with it."""
    old = occurrence.symbol.root
    _check_name(name)
    if old.column:
        raise ClashError(
            f'`{old.name}` is the name of a column of the data: write `from "{old.name}"` after its type first'
        )
    if parse(analysis.source)[1]:
        raise ClashError("the spec has mistakes in its syntax: what cannot be read may hold the name too")
    spans = sorted({item.span for item in analysis.index.of(occurrence.symbol)})
    if name == old.name:
        return spans
    text = _replaced(analysis.source.text, spans, name)
    _check_same(analysis, Source(analysis.source.name, text), old.name, name)
    return spans


def _check_name(name: str) -> None:
    if _NAME.fullmatch(name) is None:
        raise ClashError(f"`{name}` is no name: letters, digits and `_`, and no digit first")
    if name in load().keywords:
        raise ClashError(f"`{name}` is a word of the language")
    if name in BUILTINS or name in TYPES or name in VALUES or name == "_":
        raise ClashError(f"`{name}` has a meaning in the language")


def _replaced(text: str, spans: Sequence[Span], name: str) -> str:
    for span in reversed(spans):
        text = text[: span.start] + name + text[span.end :]
    return text


def _check_same(analysis: Analysis, after: Source, old: str, name: str) -> None:
    """The names of both texts stand for the same things, and there is no new mistake."""
    spec, found = parse(after)
    if spec is None or resolve(spec).shape() != analysis.index.shape():
        raise ClashError(f"something else is called `{name}` already, where `{old}` is read or declared")
    before = sorted(item.code for item in read(analysis.source)[1])
    if sorted(item.code for item in (found or read(after)[1])) != before:
        raise ClashError(f"the spec would be wrong with `{name}` in place of `{old}`: its name comes from elsewhere")
