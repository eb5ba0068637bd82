"""Text to typed spec: parse, then check."""

from __future__ import annotations

from collections.abc import Mapping

from pdual.dsl.checking import check
from pdual.dsl.commented import commented_out
from pdual.dsl.diagnostics import Diagnostic
from pdual.dsl.fixes import with_fixes
from pdual.dsl.garbage import few_collections
from pdual.dsl.independent import independent
from pdual.dsl.parser import parse
from pdual.dsl.spans import Source
from pdual.dsl.typed import TypedSpec


@few_collections()
def read(
    source: Source, overrides: Mapping[str, float | int | str] | None = None
) -> tuple[TypedSpec | None, tuple[Diagnostic, ...]]:
    """The typed spec of a text, and every diagnostic in the order of the text; None where one is an error."""
    typed, found = _read(source, overrides)
    if typed is not None:
        return typed, found
    return None, with_fixes(source.text, found, lambda text: _read(Source(source.name, text), overrides)[1])


def _read(
    source: Source, overrides: Mapping[str, float | int | str] | None
) -> tuple[TypedSpec | None, tuple[Diagnostic, ...]]:
    spec, found = parse(source)
    if spec is None:
        return None, found
    typed, more = check(spec, source, overrides)
    if not found:
        return typed, tuple(sorted((*more, *commented_out(source.text)), key=lambda item: item.span.start))
    every = (*found, *independent(spec, source, found, more))
    return None, tuple(sorted(every, key=lambda item: item.span.start))
