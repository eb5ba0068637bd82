"""Where the images of MNIST come from: a folder of the user's, the cache, or its mirrors. All are held to the published content."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pdual.dsl.diagnostics import Refusal, refuse
from pdual.dsl.spans import Span
from pdual.packs.images.idx import idx_header, read_idx
from pdual.runtime.data.cache import cache_root, whole_file
from pdual.runtime.data.context import SourceContext
from pdual.runtime.sources.array_files import DAMAGED, Arrays
from pdual.runtime.sources.download import ByHand, Published, download

Bytes: TypeAlias = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Part:
    """One of the four arrays: its key in the archive, its file as published, what it holds, the sha256 of that file."""

    key: str
    file: str
    shape: tuple[int, ...]
    sha256: str


PARTS = (
    Part(
        "train_images",
        "train-images-idx3-ubyte",
        (60_000, 28, 28),
        "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    ),
    Part(
        "train_labels",
        "train-labels-idx1-ubyte",
        (60_000,),
        "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    ),
    Part(
        "test_images",
        "t10k-images-idx3-ubyte",
        (10_000, 28, 28),
        "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    ),
    Part(
        "test_labels",
        "t10k-labels-idx1-ubyte",
        (10_000,),
        "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    ),
)
MIRRORS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
)
_ARCHIVE = "mnist.npz"
#: Bytes of an unpacked file; the largest of MNIST has 47 million.
_MOST = 2**28


def load_parts(context: SourceContext) -> Mapping[str, Bytes]:
    """The four arrays by key.

    ``$PDUAL_DATA/mnist`` comes first (``mnist.npz``, or the four IDX files, packed or not), then the cache, then the
    mirrors. Raises PD533 (a file of the user's cannot be read), PD540 (it holds something else), PD539 (something else
    of the same shape, also from a mirror), PD538 (nothing is there and no mirror answers).
    """
    own = _own()
    if own is not None and (own / _ARCHIVE).is_file():
        return _of_archive(own / _ARCHIVE, context.span)
    files = _files(own) if own is not None else {}
    # Some of the four are of no use: the others would be another data set's.
    if len(files) == len(PARTS):
        return {part.key: _of_file(part, files[part.key], context.span) for part in PARTS}
    return {part.key: _of_cache(part, own, context) for part in PARTS}


def present(settings: object, context: SourceContext) -> bool:
    """Whether the images are on this machine: files that are there, whatever they hold."""
    own = _own()
    if own is not None and ((own / _ARCHIVE).is_file() or len(_files(own)) == len(PARTS)):
        return True
    return all(_cached(part, context).is_file() for part in PARTS)


def sampled_parts() -> tuple[Mapping[str, Any], str]:
    """The arrays of the sample that ships with pdual, with the positions of its rows in the whole, and a digest of its content."""
    content = (Path(__file__).parent / "samples" / "mnist" / _ARCHIVE).read_bytes()
    with np.load(io.BytesIO(content), allow_pickle=False) as stored:
        return dict(stored), hashlib.sha256(content).hexdigest()[:24]


def _of_archive(place: Path, span: Span) -> Mapping[str, Bytes]:
    try:
        stored = Arrays(place)
        found = {part.key: stored[part.key] for part in PARTS if part.key in stored}
    except DAMAGED as error:
        raise refuse("PD533", span, file=place, reason=_line(error)) from None
    for part in PARTS:
        if part.key not in found:
            others = ", ".join(f"`{key}`" for key in found) or "none of the four arrays"
            raise refuse("PD540", span, file=place, expected=f"`{part.key}`", found=others, own=place)
    return {part.key: _checked(part, found[part.key], place, span) for part in PARTS}


def _own() -> Path | None:
    root = os.environ.get("PDUAL_DATA")
    return Path(root).expanduser() / "mnist" if root else None


def _cached(part: Part, context: SourceContext) -> Path:
    return cache_root(context) / "mnist" / f"{part.file}.gz"


def _files(folder: Path) -> Mapping[str, Path]:
    """The IDX files that a folder has, by key."""
    names = ((part.key, folder / f"{part.file}{packing}") for part in PARTS for packing in (".gz", ""))
    return {key: place for key, place in names if place.is_file()}


def _of_file(part: Part, place: Path, span: Span) -> Bytes:
    try:
        sent = place.read_bytes()
        array = read_idx(_unpacked(sent) if place.suffix == ".gz" else sent)
    except DAMAGED as error:
        raise refuse("PD533", span, file=place, reason=_line(error)) from None
    return _checked(part, array, place, span)


def _unpacked(sent: bytes) -> bytes:
    """Raises ValueError for a file of zeros that would fill the memory."""
    with gzip.open(io.BytesIO(sent)) as file:
        found = file.read(_MOST + 1)
    if len(found) > _MOST:
        raise ValueError(f"it unpacks to more than {_MOST:,} bytes")
    return found


def _of_cache(part: Part, own: Path | None, context: SourceContext) -> Bytes:
    """From the cache, else from a mirror and into the cache."""
    place = _cached(part, context)
    if place.is_file():
        try:
            return _of_file(part, place, context.span)
        except Refusal:
            context.progress.advance(0, f"warning: {place} is damaged, it is downloaded again")
    urls = tuple(f"{mirror}{place.name}" for mirror in MIRRORS)
    published = Published(place.name, urls, part.sha256, gzip.decompress)
    sent = download(published, context, _by_hand(own, place))
    try:
        with whole_file(place) as file:
            file.write(sent)
    except OSError as error:
        context.progress.advance(0, f"warning: nothing can be kept in {place.parent} ({error.strerror})")
    return _checked(part, read_idx(gzip.decompress(sent)), place, context.span)


def _by_hand(own: Path | None, cached: Path) -> ByHand:
    if own is None:
        searched = f"`{cached}`, no other folder, since `PDUAL_DATA` is not set"
    else:
        searched = f"`{own / _ARCHIVE}`, the four IDX files in `{own}`, `{cached}`"
    return ByHand(searched, f"`{_ARCHIVE}` or the four IDX files", "$PDUAL_DATA/mnist")


def _checked(part: Part, array: NDArray[Any], place: Path, span: Span) -> Bytes:
    if array.dtype != np.uint8 or array.shape != part.shape:
        found = f"{array.dtype} of shape {list(array.shape)}"
        expected = f"`{part.key}` as uint8 of shape {list(part.shape)}"
        raise refuse("PD540", span, file=place, expected=expected, found=found, own=place)
    content = hashlib.sha256(idx_header(array))
    content.update(np.ascontiguousarray(array).data)
    if content.hexdigest() != part.sha256:
        found = content.hexdigest()
        raise refuse("PD539", span, file=place, part=part.key, found=found, expected=part.sha256, own=place)
    return array


def _line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
