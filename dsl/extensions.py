"""What stands in other modules and packages: builders by their names, and what packages add by entry points."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


def named(where: str) -> Any:
    """What stands at ``"module:attribute"``."""
    module, attribute = where.split(":")
    return getattr(import_module(module), attribute)


def added(group: str) -> Sequence[EntryPoint]:
    """The entry points of a group, not loaded. The import takes time, and most commands need none."""
    from importlib.metadata import entry_points

    return tuple(entry_points(group=group))
