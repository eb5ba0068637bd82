"""pdual: a modelling language for learning with requirements that hold on every sample.

``import pdual`` is light: what solves a problem is imported when a problem is loaded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pdual.api import Problem, Run, load

__version__ = "0.1.0"
__all__ = ["Problem", "Run", "__version__", "load"]


def __getattr__(name: str) -> Any:
    if name not in ("Problem", "Run", "load"):
        raise AttributeError(f"module 'pdual' has no attribute '{name}'")
    from pdual import api

    return getattr(api, name)
