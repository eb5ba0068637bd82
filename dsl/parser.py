"""Text to ``syntax.Spec``: scan, survey, read, build. It raises on no text; every mistake is a diagnostic."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from pdual.dsl import syntax, tables, transform
from pdual.dsl.depth import make_room
from pdual.dsl.diagnostics import Collector, Diagnostic, diagnostic
from pdual.dsl.layout import MOST_NESTED, STATEMENTS, survey
from pdual.dsl.reader import read
from pdual.dsl.scanner import scan
from pdual.dsl.spans import Source, Span
from pdual.dsl.tree import Token, Tree

MOST_CHARACTERS = 5_000_000
_LOOKED_AT = 1_000  # bytes whose zeros tell UTF-16
# A lone surrogate is what ``source`` makes of a byte that is not UTF-8.
_NO_TEXT = re.compile("[\0\ud800-\udfff]")


def source(path: Path, name: str | None = None) -> Source:
    """A file as a source; what is not UTF-8 is kept and refused by ``parse``. Raises OSError."""
    return Source(name or str(path), path.read_bytes().decode("utf-8", errors="surrogateescape"))


def parse(source: Source) -> tuple[syntax.Spec | None, tuple[Diagnostic, ...]]:
    """The spec of a text and everything that is wrong with its syntax.

    The spec holds the statements that could be read; it is None where none can be (empty, no text, too large,
    nested too deep).
    """
    make_room()
    unreadable = _unreadable(source.text)
    if unreadable is not None:
        return None, (unreadable,)
    collector = Collector()
    automaton = tables.load()
    tokens = scan(source.text, automaton, collector)
    if len(tokens) == 1:
        if not collector.diagnostics:
            collector.add("PD030")
        return None, collector.diagnostics
    layout = survey(tokens, source.text)
    if layout.too_deep is not None:
        collector.add("PD033", tokens[layout.too_deep].span, limit=MOST_NESTED)
        return None, collector.diagnostics
    tree = read(source.text, tokens, layout, automaton, collector)
    building = Collector()
    spec = transform.build(tree, building)
    collector.extend(_not_told(tree, collector.diagnostics, building.diagnostics))
    _check_problem(spec, tokens[0], collector)
    return spec, collector.diagnostics


def _unreadable(text: str) -> Diagnostic | None:
    if len(text) > MOST_CHARACTERS:
        return diagnostic("PD032", size=f"{len(text):,}", limit=f"{MOST_CHARACTERS:,}")
    match = _NO_TEXT.search(text)
    return None if match is None else diagnostic("PD031", Span(match.start(), match.end()), cause=_cause(text, match))


def _cause(text: str, match: re.Match[str]) -> str | None:
    """What a file that is no UTF-8 looks like; None where it looks like no text."""
    written = text.encode("utf-8", errors="surrogateescape")
    if written.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "it starts as a file in UTF-32 does"
    if written.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "it starts as a file in UTF-16 does"
    zeros = written[:_LOOKED_AT].count(0)
    if zeros and 0.4 <= zeros / len(written[:_LOOKED_AT]) <= 0.6:
        return "every other byte is 0, as in UTF-16"
    byte = ord(match.group()) - 0xDC00
    if match.group() == "\0":
        return "it holds a byte that is 0, which no text does"
    if 0 in written or byte < 0x80:
        return None
    return f"its byte 0x{byte:02X} is `{bytes([byte]).decode('cp1252', 'replace')}` in Windows-1252, which is what Latin-1 files mostly are"


#: What a call or a reduction that was read after a mistake may look like without being meant.
_OF_SHAPE = frozenset({"PD022", "PD023", "PD025"})


def _not_told(tree: Tree, told: Sequence[Diagnostic], diagnostics: Sequence[Diagnostic]) -> Iterator[Diagnostic]:
    """Mistakes without those that may come of another one in the same statement."""
    leaves = [leaf.span for leaf in _leaves(tree)]
    for item in diagnostics:
        around = next((span for span in leaves if span.start <= item.span.start < span.end), None)
        consequence = around is not None and any(around.start <= other.span.start < around.end for other in told)
        if not (consequence and item.code in _OF_SHAPE):
            yield item


def _leaves(tree: Tree) -> Iterator[Tree]:
    for child in tree.trees():
        if child.label in ("over", "over_group", "block", "subject_to"):
            yield from _leaves(child)
        else:
            yield child


def _check_problem(spec: syntax.Spec, first: Token, collector: Collector) -> None:
    """A spec says first what problem it is, once."""
    problems = [statement for statement in spec.statements if isinstance(statement, syntax.Problem)]
    is_first = bool(problems) and problems[0] is spec.statements[0]
    # A `problem` that could not be read has been reported, and so has what starts no statement.
    if not is_first and first.kind in STATEMENTS and first.kind != "PROBLEM":
        collector.add("PD017", first.span)
    for repeated in problems[1:]:
        collector.add("PD018", repeated.span)
