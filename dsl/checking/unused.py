"""Warnings of what is declared and never used."""

from __future__ import annotations

from collections.abc import Iterator

from pdual.dsl import syntax
from pdual.dsl.checking.scope import Context
from pdual.dsl.spans import Span


def report_unused(defs: dict[str, syntax.Def], context: Context) -> None:
    """One warning a name; of a data set without any use only the set itself is told."""
    for what, name, span, key in _declared(defs, context):
        if key not in context.used:
            context.diagnostics.add("PD115", span, name=name, what=what)


def _declared(defs: dict[str, syntax.Def], context: Context) -> Iterator[tuple[str, str, Span, tuple[str, ...]]]:
    tables, used = context.tables, context.used
    for name, param in tables.params.items():
        yield "parameter", name, param.span, ("param", name)
    for name, known_set in tables.sets.items():
        yield "index set", name, known_set.span, ("set", name)
    for name, given in tables.givens.items():
        for field in given.fields:
            yield "given field", field.name, field.span, ("given field", name, field.name)
    for name, data in tables.data.items():
        yield "data set", name, data.span, ("data", name)
        for field in data.fields if ("data", name) in used else ():
            yield "field", field.name, field.span, ("field", name, field.name)
    for name, model in tables.models.items():
        yield "model", name, model.span, ("model", name)
    for name, definition in defs.items():
        yield "function", name, definition.name.span, ("def", name)
    for written, identities in context.lets:
        keys = [("let", str(identity)) for identity in identities]
        read = next((key for key in keys if key in used), keys[0])
        yield "let", written.name, written.span, read
