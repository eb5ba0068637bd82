"""The limit of nested calls of Python, which a deep spec raises: put back once nothing of pdual is at work."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

_lock = Lock()
_inside = 0
_before = 0


@contextmanager
def nesting() -> Iterator[None]:
    """The limit is of the whole process: the first thread that enters notes it, the last one that leaves puts it back."""
    global _inside, _before
    with _lock:
        if not _inside:
            _before = sys.getrecursionlimit()
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if not _inside:
                sys.setrecursionlimit(_before)
