"""From text to a checked spec."""

from __future__ import annotations

from collections.abc import Mapping

from pdual.dsl.checking.check import check
from pdual.dsl.diagnostics import Diagnostic
from pdual.dsl.parser import parse
from pdual.dsl.spans import Source
from pdual.dsl.typed import TypedSpec


def read(
    source: Source, overrides: Mapping[str, float | int | str] | None = None
) -> tuple[TypedSpec | None, tuple[Diagnostic, ...]]:
    """Parse, then check what parsed. The spec is None where there is an error; every independent mistake is reported."""
    spec, found = parse(source)
    if spec is None:
        return None, found
    typed, more = check(spec, source, overrides)
    together = tuple(sorted((*found, *more), key=lambda item: (item.span.start, item.code)))
    return (None if found else typed), together
