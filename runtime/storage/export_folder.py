"""The folder of exported programs: ``export.json`` knows the files that were written with it, and only those are replaced."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pdual.runtime.storage.outputs import check_new, write_whole

DOCUMENT = "export.json"
#: Under these keys the document holds digests: of the files, and of itself.
_FILES, _SELF = "sha256", "seal"


@contextmanager
def exporting(folder: Path) -> Iterator[Path]:
    """A folder to write programs into; they are moved to ``folder``, with the document, by ``publish``. Raises PD627, OSError."""
    if folder.is_symlink() or not folder.is_dir():
        if folder.exists() and not folder.is_dir():
            check_new(folder)
        folder.mkdir(parents=True, exist_ok=True)
    _before(folder)
    with tempfile.TemporaryDirectory(prefix=".export-", dir=folder) as fresh:
        yield Path(fresh)


def publish(fresh: Path, folder: Path, document: Mapping[str, Any]) -> None:
    """Move what was written in ``fresh`` to ``folder``, and write the document. Raises PD627 where another file stands in a place."""
    before = _before(folder)
    files = sorted(fresh.iterdir())
    for file in files:
        place = folder / file.name
        if place.is_symlink() or (place.exists() and _digest(place) != before.get(file.name)):
            check_new(place)
    digests = {file.name: _digest(file) for file in files}
    for file in files:
        shutil.move(file, folder / file.name)
    whole = {**document, _FILES: digests}
    text = json.dumps({**whole, _SELF: _seal(whole)}, indent=1)
    write_whole(folder / DOCUMENT, text.encode())


def _before(folder: Path) -> Mapping[str, str]:
    """The digests of the last export there. Raises PD627 where the document is another's."""
    place = folder / DOCUMENT
    if place.is_symlink():
        check_new(place)
    if not place.exists():
        return {}
    try:
        found = json.loads(place.read_text(encoding="utf-8"))
        claimed = found.pop(_SELF)
        if claimed == _seal(found):
            return {str(name): str(digest) for name, digest in found[_FILES].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        pass
    check_new(place)
    return {}


def _seal(document: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


def _digest(place: Path) -> str | None:
    if not place.is_file():
        return None
    with place.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
