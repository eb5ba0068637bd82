"""Embeddings of texts by the hash of the text: from a file, from the cache, else from a sentence encoder and into the cache."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pdual.dsl.diagnostics import Refusal, refuse
from pdual.dsl.spans import Span
from pdual.packs.workflows.sources import sentences
from pdual.runtime.data.cache import cache_root, whole_file
from pdual.runtime.data.context import SourceContext

FILE = "embeddings.npz"
CHUNK = 256  # texts; what an interruption can lose
_FORMAT = 1  # raised when a chunk would hold something else
_UNREADABLE = (OSError, EOFError, ValueError, TypeError, KeyError, RuntimeError, zipfile.BadZipFile)

Reals: TypeAlias = NDArray[np.float32]
#: Embeddings of length 1 by the sha1 of their text.
Known: TypeAlias = Mapping[str, Reals]


def embed(texts: Sequence[str], encoder: str, given: Path | None, context: SourceContext) -> Reals:
    """The embeddings of the texts, [texts, width], each of length 1.

    ``given`` is a file that holds some or all of them, ``sha1`` [n] and ``embedding`` [n, width]. Raises PD533 or PD540 (that
    file), PD545 and PD546 (texts are left, and there is no encoder for them).
    """
    names = [name_of(text) for text in texts]
    known: dict[str, Reals] = {}
    if given is not None and given.is_file():
        known.update(_of_file(given, context.span))
    left = [place for place, name in enumerate(names) if name not in known]
    if left:
        known.update(_of_encoder([texts[place] for place in left], encoder, given, context))
    widths = {len(known[name]) for name in names}
    if len(widths) > 1:
        expected = f"embeddings as `{encoder}` gives them, of {len(known[names[left[0]]])} numbers"
        raise refuse("PD540", context.span, file=given, expected=expected, found="another width")
    return np.stack([known[name] for name in names])


def name_of(text: str) -> str:
    """The sha1 of a text."""
    return hashlib.sha1(text.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()


def _of_file(file: Path, span: Span) -> Known:
    try:
        with file.open("rb") as content, np.load(content, allow_pickle=False) as stored:
            found = {key: stored[key] for key in ("sha1", "embedding") if key in stored.files}
    except _UNREADABLE as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise refuse("PD533", span, file=file, reason=reason) from None
    for key, expected in (("sha1", "one text for every row, `sha1`"), ("embedding", "numbers, one row a text")):
        if key not in found:
            raise refuse("PD540", span, file=file, expected=f"`{key}`, {expected}", found="no such array")
    names, rows = found["sha1"], found["embedding"]
    if names.dtype.kind != "U" or names.ndim != 1:
        raise _misfit(file, "`sha1` as texts", names, span)
    if rows.dtype.kind != "f" or rows.ndim != 2 or len(rows) != len(names) or not rows.shape[1]:
        raise _misfit(file, f"`embedding` as numbers, {len(names)} rows of them", rows, span)
    lengths = _lengths(rows)
    unsound = np.flatnonzero(~np.isfinite(lengths) | (lengths == 0))
    if len(unsound):
        found_there = f"others in row {unsound[0] + 1} of `embedding`"
        raise refuse("PD540", span, file=file, expected="finite numbers that are not all 0", found=found_there)
    return dict(zip(names.tolist(), _scaled(rows, lengths), strict=True))


def _misfit(file: Path, expected: str, array: NDArray[Any], span: Span) -> Refusal:
    return refuse("PD540", span, file=file, expected=expected, found=f"{array.dtype} of shape {list(array.shape)}")


def _of_encoder(texts: Sequence[str], encoder: str, given: Path | None, context: SourceContext) -> Known:
    """From the cache what is there; the rest is computed in chunks, each of which is kept at once."""
    folder = cache_root(context) / "embeddings" / _key(encoder)
    known = _of_cache(folder, context)
    left = [text for text in texts if name_of(text) not in known]
    if not left:
        return known
    place = given.parent if given is not None else None
    encode = sentences.load_encoder(encoder, len(left), place, context.span)
    context.progress.start("embedding texts", len(left))
    writable = True
    try:
        for start in range(0, len(left), CHUNK):
            chunk = left[start : start + CHUNK]
            rows = _encoded(chunk, encode, encoder, len(left), place, context.span)
            names = [name_of(text) for text in chunk]
            known.update(zip(names, rows, strict=True))
            writable = writable and _keep(folder, names, rows, context)
            context.progress.advance(len(chunk))
    finally:
        context.progress.finish()
    return known


def _encoded(
    texts: Sequence[str], encode: sentences.Encoder, encoder: str, left: int, place: Path | None, span: Span
) -> Reals:
    rows = np.asarray(encode(texts))
    lengths = _lengths(rows) if rows.ndim == 2 else np.zeros(0)
    if len(lengths) != len(texts) or not bool(np.all(np.isfinite(lengths) & (lengths > 0))):
        reason = "it does not give every text a vector of finite numbers"
        raise refuse("PD546", span, encoder=encoder, reason=reason, count=left, folder=place)
    return _scaled(rows, lengths)


def _key(encoder: str) -> str:
    """A folder of the cache for each encoder; one that lies on disk is known by its files."""
    place = Path(encoder)
    files = sorted(file for file in place.rglob("*") if file.is_file()) if place.is_dir() else []
    state = [(str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    return hashlib.sha256(repr((_FORMAT, encoder, sentences.TOKENS, state)).encode()).hexdigest()[:24]


def _of_cache(folder: Path, context: SourceContext) -> dict[str, Reals]:
    known: dict[str, Reals] = {}
    for file in sorted(folder.glob("*.npz")):
        try:
            known.update(_of_file(file, context.span))
        except Refusal:
            context.progress.advance(0, f"warning: {file} is damaged, its texts are embedded again")
    return known


def _keep(folder: Path, names: Sequence[str], rows: Reals, context: SourceContext) -> bool:
    """Whether the folder lets itself be written."""
    name = hashlib.sha256("".join(names).encode()).hexdigest()[:24]
    try:
        with whole_file(folder / f"{name}.npz") as file:
            np.savez(file, sha1=np.array(names), embedding=rows)
    except OSError as error:
        context.progress.advance(0, f"warning: nothing can be kept in {folder} ({error.strerror})")
        return False
    return True


def _lengths(rows: NDArray[Any]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = np.linalg.norm(rows.astype(np.float64), axis=1)
    return found


def _scaled(rows: NDArray[Any], lengths: NDArray[np.float64]) -> Reals:
    return (rows / lengths[:, None]).astype(np.float32)
