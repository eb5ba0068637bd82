"""Sources that are declared, so that their specs check and explain, and whose rows this version does not load."""

from __future__ import annotations

from typing import NoReturn

from pdual.dsl.declarations.references import Settings
from pdual.dsl.diagnostics import refuse
from pdual.runtime.context import SourceContext


def build(settings: Settings, context: SourceContext) -> NoReturn:
    """Raises PD537."""
    raise refuse("PD537", context.span, source=type(settings).__name__.removesuffix("Settings").lower())
