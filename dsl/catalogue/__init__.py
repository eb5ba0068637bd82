"""Every kind of mistake pdual knows, by code. Groups: PD0 syntax, PD1 names, PD2 types and index sets,
PD3 ranges, PD4 duals, PD5 data, PD6 run, PD7 usage, PD999 a bug in pdual."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pdual.dsl.catalogue import data, duals, internal, names, python, ranges, run, syntax, types
from pdual.dsl.catalogue.entry import Entry
from pdual.dsl.diagnostics import Diagnostic, Severity

CATALOGUE: Mapping[str, Entry] = {
    entry.code: entry
    for group in (syntax, names, types, ranges, duals, data, run, python, internal)
    for entry in group.ENTRIES
}


def errors_in(found: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """The diagnostics that stop the pipeline."""
    return tuple(item for item in found if CATALOGUE[item.code].severity is Severity.ERROR)


__all__ = ["CATALOGUE", "Entry", "errors_in"]
