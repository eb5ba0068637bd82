"""Every kind of mistake pdual knows, by code. Groups: PD0 syntax, PD1 names, PD2 types and index sets,
PD3 ranges, PD4 duals, PD5 data, PD6 run, PD7 usage, PD999 a bug in pdual. A group with several subjects has several files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pdual.dsl.catalogue import (
    data,
    duals,
    folders,
    internal,
    language,
    names,
    power,
    python,
    ranges,
    run,
    syntax,
    types,
    usage,
)
from pdual.dsl.catalogue.entry import Entry
from pdual.dsl.diagnostics import Diagnostic, Severity

GROUPS = (syntax, names, types, ranges, duals, power, data, language, run, folders, python, usage, internal)

CATALOGUE: Mapping[str, Entry] = {entry.code: entry for group in GROUPS for entry in group.ENTRIES}


def errors_in(found: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """The diagnostics that stop the pipeline."""
    return tuple(item for item in found if CATALOGUE[item.code].severity is Severity.ERROR)


__all__ = ["CATALOGUE", "GROUPS", "Entry", "errors_in"]
