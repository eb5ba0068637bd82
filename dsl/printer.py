"""Diagnostics as text for a terminal, in the manner of rustc, and as data for tools."""

from __future__ import annotations

from collections.abc import Iterable
from string import Formatter
from typing import Any

from pdual.dsl.catalogue import CATALOGUE, Entry
from pdual.dsl.catalogue.entry import ROLES
from pdual.dsl.diagnostics import Diagnostic
from pdual.dsl.fixes import replacement
from pdual.dsl.snippet import Mark, draw
from pdual.dsl.spans import NOWHERE, Source, Span
from pdual.dsl.visible import visible

_LONGEST = 1_000  # letters of a fact; lists of what there is, in notes, are the longest honest ones


def render(diagnostic: Diagnostic, source: Source | None = None) -> str:
    """One diagnostic: statement, location, marked lines, notes and help. Ends without a line break."""
    entry = CATALOGUE[diagnostic.code]
    lines = [f"{entry.severity}[{entry.code}]: {_title(entry, diagnostic)}"]
    margin = " "
    if source is not None and diagnostic.span == NOWHERE:
        lines.append(f"{margin}--> {visible(source.name)}")
    elif source is not None:
        line, column = source.position(diagnostic.span.start)
        snippet = draw(source, _marks(entry, diagnostic))
        margin = " " * snippet.margin
        lines.append(f"{margin}--> {visible(source.name)}:{line}:{column}")
        lines.extend(snippet.lines)
    lines.extend(f"{margin} = note: {note}" for note in _notes(entry, diagnostic))
    help_text = _help(entry, diagnostic)
    if help_text is not None:
        lines.append(f"{margin} = help: {help_text}")
    return "\n".join(lines)


def render_all(diagnostics: Iterable[Diagnostic], source: Source | None = None) -> str:
    """Several diagnostics, a blank line between them, each ending with a line break."""
    return "\n".join(render(item, source) + "\n" for item in diagnostics)


def as_json(diagnostic: Diagnostic, source: Source | None = None) -> dict[str, Any]:
    """One diagnostic as JSON data; lines and columns count from 1, columns in characters."""
    entry = CATALOGUE[diagnostic.code]
    return {
        "code": entry.code,
        "severity": str(entry.severity),
        "message": _title(entry, diagnostic),
        "label": _worded(entry.label, diagnostic) or "",
        "file": None if source is None else source.name,
        **_range(source, diagnostic.span),
        "labels": [{"message": mark.text, **_range(source, mark.span)} for mark in _marks(entry, diagnostic)[1:]],
        "notes": _notes(entry, diagnostic),
        "help": _help(entry, diagnostic),
        "fix": _fix(diagnostic, source),
    }


def _fix(diagnostic: Diagnostic, source: Source | None) -> dict[str, Any] | None:
    text = replacement(diagnostic)
    if text is None or source is None or diagnostic.span == NOWHERE:
        return None
    return {**_range(source, diagnostic.span), "text": text}


def _range(source: Source | None, span: Span) -> dict[str, Any]:
    if source is None or span == NOWHERE:
        return {"start": None, "end": None}
    ends = (source.position(span.start), source.position(span.end))
    start, end = ({"line": line, "column": column} for line, column in ends)
    return {"start": start, "end": end}


def _marks(entry: Entry, diagnostic: Diagnostic) -> list[Mark]:
    primary = Mark(diagnostic.span, _worded(entry.label, diagnostic) or "", primary=True)
    roles = {**ROLES, **entry.roles}
    return [
        primary,
        *(
            Mark(label.span, _worded(roles.get(label.role, ""), diagnostic) or "", primary=False)
            for label in diagnostic.labels
        ),
    ]


def _title(entry: Entry, diagnostic: Diagnostic) -> str:
    """The statement; a fact that is missing shows as its name, for a message must come out in any case."""
    facts = {name: _shown(value) for name, value in diagnostic.facts}
    return entry.title.format_map({**{name: f"{{{name}}}" for name in _fields(entry.title)}, **facts})


def _notes(entry: Entry, diagnostic: Diagnostic) -> list[str]:
    return [note for template in entry.notes if (note := _worded(template, diagnostic)) is not None]


def _help(entry: Entry, diagnostic: Diagnostic) -> str | None:
    worded = (_worded(template, diagnostic) for template in entry.help)
    return next((text for text in worded if text is not None), None)


def _worded(template: str, diagnostic: Diagnostic) -> str | None:
    """A template with its facts, or None where one is missing."""
    facts = {name: _shown(value) for name, value in diagnostic.facts}
    return template.format_map(facts) if _fields(template) <= facts.keys() else None


def _fields(template: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(template) if name}


def _shown(text: str) -> str:
    """A fact in a message: a name or a number as long as a book is cut in the middle."""
    shown = visible(text[: _LONGEST + 1])
    return shown if len(text) <= _LONGEST else f"{shown[: _LONGEST // 2]}…{visible(text[-_LONGEST // 4 :])}"
