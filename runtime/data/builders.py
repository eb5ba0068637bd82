"""From a declaration to what its source builds. Imports only what the source at hand needs, and no torch of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from pdual.dsl import typed
from pdual.dsl.declarations.known import Known
from pdual.dsl.declarations.registry import sources
from pdual.dsl.extensions import named
from pdual.runtime.data.context import SourceContext


def load_knowns(spec: typed.TypedSpec, context: SourceContext) -> Mapping[str, Known]:
    """The known structure of every ``given``. Raises PD5xx."""
    knowns: dict[str, Known] = {}
    for given in spec.givens:
        build = named(sources()[given.source].builder)
        fields = {field.name: field for field in given.fields}
        named_here = any(given.span.start <= file.span.start < given.span.end for file in spec.files)
        knowns[given.name] = build(
            given.settings,
            replace(context, span=given.span, knowns=knowns, fields=fields, current=None if named_here else Path.cwd()),
        )
    return knowns
