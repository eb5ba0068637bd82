"""Every kind of mistake pdual knows, by code. Groups: PD0 syntax, PD1 names, PD2 types and index sets,
PD3 ranges, PD4 duals, PD5 data, PD6 run, PD7 usage, PD999 a bug in pdual."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from pdual.dsl.catalogue import data, duals, internal, names, python, ranges, run, syntax, types, usage
from pdual.dsl.catalogue.entry import Entry
from pdual.dsl.diagnostics import Diagnostic, Severity
from pdual.dsl.extensions import added


class _Catalogue(Mapping[str, Entry]):
    """Entries by code: the core's, and those that packs and other packages add by the entry point ``pdual.diagnostics``."""

    def __init__(self, groups: Iterable[Iterable[Entry]]) -> None:
        self._core = {entry.code: entry for group in groups for entry in group}

    def __getitem__(self, code: str) -> Entry:
        return self._core[code] if code in self._core else self._added[code]

    def __iter__(self) -> Iterator[str]:
        yield from sorted({*self._core, *self._added})

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @cached_property
    def _added(self) -> Mapping[str, Entry]:
        return {entry.code: entry for point in added("pdual.diagnostics") for entry in point.load()}


CATALOGUE: Mapping[str, Entry] = _Catalogue(
    group.ENTRIES for group in (syntax, names, types, ranges, duals, data, run, usage, python, internal)
)


def errors_in(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """The diagnostics that stop the pipeline."""
    return tuple(item for item in diagnostics if CATALOGUE[item.code].severity is Severity.ERROR)


__all__ = ["CATALOGUE", "Entry", "errors_in"]
