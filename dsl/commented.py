"""Specs that are mostly commented out: what was meant to be a statement may be none."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pdual.dsl import tables
from pdual.dsl.diagnostics import Collector, Diagnostic, diagnostic
from pdual.dsl.parser import parse
from pdual.dsl.record import record
from pdual.dsl.scanner import scan
from pdual.dsl.spans import Source, Span, end_of_line
from pdual.dsl.tree import Token

#: A comment, and what a text in quotes may have after a ``#``.
_COMMENT = re.compile(r"#[^\r\n]*")


@record(frozen=True, slots=True)
class _Block:
    """Comments on lines that follow each other: their span, how long they are, and the text without `#`."""

    span: Span
    length: int
    text: str


def commented_out(text: str) -> tuple[Diagnostic, ...]:
    """PD038 where comments are most of a text, and most of them read as statements. Prose reads as none."""
    if 2 * sum(map(len, _COMMENT.findall(text))) <= sum(map(len, text.split())):
        return ()  # whatever is a comment: less than the rest, without reading it
    tokens = scan(text, tables.load(), Collector())
    blocks = list(_blocks(text, tokens))
    length = sum(block.length for block in blocks)
    written = sum(token.span.end - token.span.start for token in tokens)
    if length <= written:
        return ()
    found = [(block, _statements(block.text)) for block in blocks]
    statements = sum(count for _, count in found)
    if 2 * statements <= length:
        return ()
    first = next(block for block, count in found if count)
    end = end_of_line(text, first.span.start)
    facts = {"count": length, "total": length + written, "statements": statements}
    return (diagnostic("PD038", Span(first.span.start, end), **facts),)


def _blocks(text: str, tokens: Sequence[Token]) -> Iterator[_Block]:
    end = 0
    for token in tokens:
        start = len(text) if token is tokens[-1] else token.span.start
        comments = list(_comments(text, end, start))
        if comments:
            length = sum(span.end - span.start for span in comments)
            inside = "\n".join(text[span.start : span.end].lstrip("#") for span in comments)
            yield _Block(comments[0].to(comments[-1]), length, inside)
        end = token.span.end


def _comments(text: str, start: int, end: int) -> Iterator[Span]:
    """The comments between two tokens."""
    while (start := text.find("#", start, end)) >= 0:
        last = min(end_of_line(text, start), end)
        yield Span(start, last)
        start = last


def _statements(text: str) -> int:
    """How many characters of a text belong to statements that can be read."""
    spec, _ = parse(Source("", text))
    return 0 if spec is None else sum(item.span.end - item.span.start for item in spec.statements)
