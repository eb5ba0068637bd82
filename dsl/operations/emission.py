"""Torch emission of operations that torch has under a name of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def torch_function(name: str) -> Callable[[], Callable[..., Any]]:
    """The emission of ``torch.<name>``; torch is imported when the emission is asked for, not before."""

    def emit() -> Callable[..., Any]:
        import torch

        return getattr(torch, name)  # type: ignore[no-any-return]

    return emit
