"""Fewer looks for garbage while a spec is read: it becomes very many small objects, and all of them are kept."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

#: Objects made before the youngest are looked through. Python's own 700 make the reading of a large spec half as slow again.
YOUNGEST = 100_000


@contextmanager
def few_collections() -> Iterator[None]:
    """The collector works less often inside, and as before after it; one that is off stays off."""
    youngest, *older = gc.get_threshold()
    if youngest:
        gc.set_threshold(max(youngest, YOUNGEST), *older)
    try:
        yield
    finally:
        gc.set_threshold(youngest, *older)
