"""Published files over HTTP: mirrors in turn, and nothing is taken that is not the published content."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPException
from urllib.error import URLError
from urllib.request import Request, urlopen

from pdual.dsl.diagnostics import refuse
from pdual.runtime.data.context import Progress, SourceContext

TIMEOUT = 20.0  # seconds without a byte before the next mirror is asked
_PIECE = 1 << 16


@dataclass(frozen=True, slots=True)
class Published:
    """A file, the addresses that offer it, and the sha256 of its content after ``unpack``."""

    name: str
    urls: tuple[str, ...]
    sha256: str
    unpack: Callable[[bytes], bytes] = bytes


@dataclass(frozen=True, slots=True)
class ByHand:
    """For whom no mirror answers: where was looked already, and which files may be put into which folder."""

    searched: str
    files: str
    folder: str


def download(file: Published, context: SourceContext, by_hand: ByHand, timeout: float = TIMEOUT) -> bytes:
    """The file as it was sent.

    Raises PD538 when no mirror offers it, PD539 when one did and no content was the published one.
    """
    failed: list[str] = []
    wrong: tuple[str, str] | None = None
    for url in file.urls:
        try:
            sent = _fetched(url, file.name, context.progress, timeout)
            found = hashlib.sha256(file.unpack(sent)).hexdigest()
        except (OSError, EOFError, HTTPException, ValueError, zlib.error) as error:
            failed.append(f"`{url}` ({_reason(error)})")
            continue
        if found == file.sha256:
            return sent
        wrong = url, found
    if wrong is not None:
        raise refuse("PD539", context.span, file=wrong[0], found=wrong[1], expected=file.sha256)
    raise refuse(
        "PD538", context.span, file=file.name, tried=", ".join(failed) or "nobody", searched=by_hand.searched,
        files=by_hand.files, folder=by_hand.folder,
    )  # fmt: skip


def _fetched(url: str, name: str, progress: Progress, timeout: float) -> bytes:
    with urlopen(Request(url, headers={"User-Agent": "pdual"}), timeout=timeout) as answer:
        length = int(answer.headers.get("Content-Length") or 0)
        progress.start(f"downloading {name} (KiB)", -(-length // 1024))
        try:
            sent = bytearray()
            while piece := answer.read(_PIECE):
                shown = len(sent) // 1024
                sent += piece
                progress.advance(len(sent) // 1024 - shown)
        finally:
            progress.finish()
    if len(sent) < length:  # a connection that breaks off looks like one that ends
        raise OSError(f"it broke off after {len(sent)} of {length} bytes")
    return bytes(sent)


def _reason(error: Exception) -> str:
    cause = error.reason if isinstance(error, URLError) and not hasattr(error, "code") else error
    return str(cause) or type(cause).__name__
