"""How deep values may be built on each other, and the room that walking them takes."""

from __future__ import annotations

import sys

#: Calls of Python that checking, lowering, ranges and emission nest at most for a spec that checks: a handful for each of the 1,000
#: levels that the checker lets through.
_CALLS = 20_000


def make_room() -> None:
    """Raise Python's own limit of nested calls to what the deepest spec takes."""
    sys.setrecursionlimit(max(sys.getrecursionlimit(), _CALLS))
