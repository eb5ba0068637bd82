"""Files that pdual leaves: whole or not there, never written through a link, never in the place of one that it did not write."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from pathlib import Path

from pdual.dsl.diagnostics import refuse

#: What a file that is being written is called beside its place: a process that was killed may leave one.
_BESIDE = ".{name}.{token}.new"
_LEFT = re.compile(r"\..+\.[0-9a-f]{16}\.new")

#: The last line of a page or a figure: the digest of all that stands before it.
_SEAL = "<!-- pdual {digest} -->\n"
_SEALED = re.compile(rb"<!-- pdual ([0-9a-f]{64}) -->\n\Z")


def write_whole(place: Path, content: bytes) -> None:
    """Write a file beside its place, bring it to the disk and rename it, so that a reader sees the old one or the new one.

    A link in its place is replaced, not followed. Raises OSError.
    """
    fresh = place.with_name(_BESIDE.format(name=place.name[:100], token=secrets.token_hex(8)))
    try:
        with fresh.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(place)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise


def is_left_over(name: str) -> bool:
    """Whether a file is called as one that was being written when its process was killed."""
    return _LEFT.fullmatch(name) is not None


def sealed(text: str) -> bytes:
    """A page or a figure, with a last line that tells pdual its own from another's, and from one that was changed since."""
    content = text.encode("utf-8", errors="xmlcharrefreplace")
    return content + _SEAL.format(digest=hashlib.sha256(content).hexdigest()).encode()


def check_unsealed(place: Path) -> None:
    """Refuse a place where something stands that is not one of pdual's own pages and figures as it wrote it. Raises PD627."""
    if place.is_symlink() or (place.exists() and not _is_sealed(place)):
        raise refuse("PD627", file=place)


def write_sealed(place: Path, text: str) -> None:
    """Write a page or a figure. Raises PD627 where another file stands in its place, OSError."""
    check_unsealed(place)
    write_whole(place, sealed(text))


def check_new(place: Path, replace: bool = False) -> None:
    """Refuse to replace a file, unless that was asked for. Raises PD627."""
    if os.path.lexists(place) and not replace:
        raise refuse("PD627", file=place)


def _is_sealed(place: Path) -> bool:
    try:
        content = place.read_bytes()
    except OSError:
        return False
    found = _SEALED.search(content)
    return found is not None and hashlib.sha256(content[: found.start()]).hexdigest().encode() == found[1]
