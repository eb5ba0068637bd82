"""``causal_lm``: declared and checked, not trained by this version."""

from __future__ import annotations

from typing import NoReturn

from pdual.dsl.declarations.references import Settings
from pdual.dsl.declarations.signature import Signature
from pdual.dsl.diagnostics import refuse
from pdual.runtime.context import ArchitectureContext


def build_causal_lm(signature: Signature, settings: Settings, context: ArchitectureContext) -> NoReturn:
    """Raises a Refusal with PD640."""
    raise refuse("PD640", architecture="causal_lm")
