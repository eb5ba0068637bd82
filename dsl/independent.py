"""Which mistakes in meaning still say something true where the syntax of a file has mistakes too."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence

from pdual.dsl import syntax, tables
from pdual.dsl.catalogue import errors_in
from pdual.dsl.diagnostics import Collector, Diagnostic
from pdual.dsl.layout import is_word
from pdual.dsl.record import record
from pdual.dsl.scanner import scan
from pdual.dsl.spans import Source, Span


@record(frozen=True, slots=True)
class _Sound:
    """A statement that was read, or one constraint of several; ``depends_on`` are words of the block's head."""

    span: Span
    depends_on: frozenset[str] = frozenset()


def independent(
    spec: syntax.Spec, source: Source, of_syntax: Sequence[Diagnostic], of_meaning: Sequence[Diagnostic]
) -> tuple[Diagnostic, ...]:
    """The errors in meaning that no mistake in syntax can have caused.

    Those in statements without a mistake in syntax, that name nothing which only stands in what could not be read. Warnings
    are left out: what is never used may be used there.
    """
    errors = errors_in(of_meaning)
    if not errors:
        return ()
    words = [(token.span, token.text) for token in scan(source.text, tables.load(), Collector()) if is_word(token)]
    sound = sorted(_statements(spec.statements), key=lambda item: item.span.start)
    places, starts = [span.start for span, _ in words], [item.span.start for item in sound]

    def around(span: Span) -> _Sound | None:
        place = bisect_right(starts, span.start) - 1
        return sound[place] if place >= 0 and span.within(sound[place].span) else None

    lost = {word for span, word in words if around(span) is None}
    nowhere_else = lost - set(_declared(spec.statements))
    broken = {around(item.span) for item in of_syntax}
    kept = []
    for item in errors:
        place = around(item.span)
        if place is None or place in broken or item.fact.get("name") in lost:
            continue
        first, last = (bisect_left(places, end) for end in (place.span.start, place.span.end))
        mentioned = {word for _, word in words[first:last]} | place.depends_on
        if not mentioned & nowhere_else:
            kept.append(item)
    return tuple(kept)


def _head(node: syntax.Over) -> Span:
    last = node.by if node.by is not None else node.data
    return Span(node.span.start, last.span.end)


def _statements(statements: Iterable[syntax.Statement], depends_on: frozenset[str] = frozenset()) -> Iterator[_Sound]:
    for node in statements:
        match node:
            case syntax.Over():
                head = {node.data.name, *((node.by.name,) if node.by is not None else ())}
                yield from _statements(node.body, frozenset(head))
                yield _Sound(_head(node))
            case syntax.SubjectTo():
                yield from (_Sound(item.span, depends_on) for item in node.constraints)
            case _:
                yield _Sound(node.span, depends_on)


def _declared(statements: Iterable[syntax.Statement]) -> Iterator[str]:
    """The names that statements give to something."""
    for node in statements:
        match node:
            case syntax.Given() | syntax.Data():
                yield node.name.name
                yield from (name.name for field in node.fields for name in field.names)
                yield from (name.name for name in (node.sets if isinstance(node, syntax.Given) else ()))
            case syntax.Let():
                yield from (name.name for name in node.names)
            case syntax.SubjectTo():
                yield from (item.name.name for item in node.constraints)
            case syntax.Over():
                yield node.row.name
                yield from _declared(node.body)
            case syntax.Param() | syntax.SetDeclaration() | syntax.Model() | syntax.Def() | syntax.Metric():
                yield node.name.name
            case _:
                pass
