"""pdual: a modelling language for learning with requirements that hold on every sample.

``import pdual`` is light: what solves a problem is imported when a problem is loaded.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

# In a checkout `dsl`, `compiler`, `runtime`, `packs` and `specs` stand beside this folder, not in it. Python started at the
# checkout's root (`python -m pytest`) finds this folder before any installation, and must find them too.
_HERE = Path(__file__).parent
if not (_HERE / "dsl").exists():
    __path__.append(str(_HERE.parent))

if TYPE_CHECKING:
    from pdual.api import Problem, Run, load
    from pdual.errors import ArgumentError, Error, ProblemError, ProblemWarning, UnknownNameError

__version__ = "0.1.0"
__all__ = [
    "ArgumentError",
    "Error",
    "Problem",
    "ProblemError",
    "ProblemWarning",
    "Run",
    "UnknownNameError",
    "__version__",
    "load",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'pdual' has no attribute '{name}'")
    from pdual import api, errors

    return getattr(api if hasattr(api, name) else errors, name)
