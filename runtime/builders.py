"""From a declaration to what its source builds. Imports only what the source at hand needs, and no torch of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any

from pdual.dsl import typed
from pdual.dsl.declarations.known import Known
from pdual.dsl.declarations.registry import sources
from pdual.runtime.context import SourceContext


def builder_of(path: str) -> Callable[..., Any]:
    """The function that a declaration names as ``module:function``."""
    module, function = path.split(":")
    found: Callable[..., Any] = getattr(import_module(module), function)
    return found


def load_knowns(spec: typed.TypedSpec, context: SourceContext) -> Mapping[str, Known]:
    """The known structure of every ``given``. Raises PD5xx."""
    knowns: dict[str, Known] = {}
    for given in spec.givens:
        build = builder_of(sources()[given.source].builder)
        knowns[given.name] = build(given.settings, replace(context, span=given.span, knowns=knowns))
    return knowns
