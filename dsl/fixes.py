"""Changes that repair a mistake: offered where making the change was tried, and took that mistake away without another."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice

from pdual.dsl import tables
from pdual.dsl.catalogue import CATALOGUE, errors_in
from pdual.dsl.diagnostics import Collector, Diagnostic
from pdual.dsl.layout import survey
from pdual.dsl.scanner import scan
from pdual.dsl.spans import NOWHERE, Span

#: Statements of one file, and mistakes of one statement, whose repair is tried; each is a reading of the file.
MOST_TRIED = 12
#: Characters that are read again for all changes of a file: a second's work.
_MOST_READ = 100_000

Reader = Callable[[str], Sequence[Diagnostic]]


def with_fixes(text: str, diagnostics: Sequence[Diagnostic], read: Reader) -> tuple[Diagnostic, ...]:
    """The diagnostics of a text, with the fact ``fix`` where a text in place of the primary span repairs it.

    ``read`` gives the diagnostics of another text.
    """
    left = _MOST_READ // max(1, len(text))  # readings
    if not left:
        return tuple(diagnostics)
    starts = _starts(text)
    regions: dict[int, list[Diagnostic]] = {}
    for item in errors_in(diagnostics):
        if item.span != NOWHERE:
            regions.setdefault(bisect_right(starts, item.span.start), []).append(item)
    before = _mistakes(diagnostics)
    repaired: dict[Diagnostic, str] = {}
    for items in list(regions.values())[:MOST_TRIED]:
        proposed = ((item, _proposed(item)) for item in items)
        changes = dict(islice(((item, change) for item, change in proposed if change is not None), MOST_TRIED))
        for tried in ([item for item in items if item in changes], *([item] for item in items if item in changes)):
            if not tried or not left:
                continue
            left -= 1
            after = _mistakes(read(_changed(text, {item.span: changes[item] for item in tried})))
            # Every mistake of the statement goes and none comes: part of a repair is no repair.
            if not after - before and not after & _mistakes(items) - (before - _mistakes(items)):
                repaired |= {item: changes[item] for item in tried}
                break
    return tuple(
        Diagnostic(item.code, item.span, (*item.facts, ("fix", repaired[item])), item.labels)
        if item in repaired
        else item
        for item in diagnostics
    )


def replacement(diagnostic: Diagnostic) -> str | None:
    """What may be put in place of the primary span to repair the mistake; None where no one text does."""
    return diagnostic.fact.get("fix")


def applied(text: str, diagnostics: Iterable[Diagnostic]) -> str:
    """A text with every fix of its diagnostics made, from the last to the first; of two for one place the first."""
    changes: dict[Span, str] = {}
    for item in diagnostics:
        change = replacement(item)
        if change is not None:
            changes.setdefault(item.span, change)
    return _changed(text, changes)


def _changed(text: str, changes: Mapping[Span, str]) -> str:
    for span in sorted(changes, reverse=True):
        text = text[: span.start] + changes[span] + text[span.end :]
    return text


def _starts(text: str) -> list[int]:
    """Where statements start, as far as that can be told."""
    tokens = scan(text, tables.load(), Collector())
    return [tokens[place].span.start for place in sorted(survey(tokens, text).starts)]


def _proposed(item: Diagnostic) -> str | None:
    """What the catalogue would put in place of the primary span."""
    if item.span == NOWHERE:
        return None
    facts = item.fact
    for template in CATALOGUE[item.code].fixes:
        try:
            return template.format_map(facts)
        except KeyError:  # a fact that is not there: the next one
            continue
    return None


def _mistakes(diagnostics: Sequence[Diagnostic]) -> Counter[tuple[object, ...]]:
    """Errors without their places, which a change moves."""
    return Counter((item.code, item.facts) for item in errors_in(diagnostics))
