"""The user's cache folder. Its files are whole or not there."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from pdual.runtime.data.context import SourceContext


def cache_root(context: SourceContext) -> Path:
    """``context.cache``, else ``$PDUAL_CACHE``, else ``pdual`` in the user's cache folder."""
    if context.cache is not None:
        return context.cache
    if chosen := os.environ.get("PDUAL_CACHE"):
        return Path(chosen).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "pdual"


@contextmanager
def whole_file(place: Path) -> Iterator[BinaryIO]:
    """A file to write: beside its place and renamed, so that a reader never sees half of it. Raises OSError."""
    place.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=place.parent, suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        os.replace(temporary, place)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
