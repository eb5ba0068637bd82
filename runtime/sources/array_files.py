"""Arrays of an npz file, each read when it is needed. Nothing in a file is executed, and no size in its header is trusted."""

from __future__ import annotations

import sys
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

#: What deflate makes of one byte at most, and what a head may add.
DENSEST, HEAD = 1_100, 100_000
_HEADS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}

#: What zipfile, zlib and numpy raise for a file that is damaged, encrypted or packed in a way that they do not know.
DAMAGED = (
    zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, KeyError, TypeError, RuntimeError, NotImplementedError, OverflowError,
    MemoryError, SyntaxError, IndexError, RecursionError, tokenize.TokenError,
)  # fmt: skip


class Arrays(Mapping[str, Any]):
    """The arrays of an npz file by name, of native byte order; complex ones as ``name.re`` and ``name.im``. Raises ValueError for one
    that cannot be read, when it is asked for: an array that no field reads may be anything.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._types: dict[str, np.dtype[Any] | None] = {}
        with zipfile.ZipFile(path) as archive:
            for item in archive.infolist():
                if item.filename.endswith(".npy"):
                    self._types[item.filename.removesuffix(".npy")] = _type(archive, item)

    def __getitem__(self, name: str) -> np.ndarray[Any, Any]:
        stored, _, part = name.rpartition(".")
        if name in self._types and not self._is_complex(name):
            return self._read(name)
        if part in ("re", "im") and self._is_complex(stored):
            array = self._read(stored)
            return np.ascontiguousarray(array.real if part == "re" else array.imag)
        raise KeyError(name)

    def __contains__(self, name: object) -> bool:
        return name in list(self)

    def __iter__(self) -> Iterator[str]:
        for name in self._types:
            yield from (f"{name}.re", f"{name}.im") if self._is_complex(name) else (name,)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _is_complex(self, name: str) -> bool:
        found = self._types.get(name)
        return found is not None and found.kind == "c"

    def _read(self, name: str) -> np.ndarray[Any, Any]:
        try:
            with zipfile.ZipFile(self._path) as archive:
                return _array(archive, archive.getinfo(f"{name}.npy"))
        except DAMAGED as error:
            raise ValueError(f"its array `{name}` cannot be read: {error}") from None


def _type(archive: zipfile.ZipFile, item: zipfile.ZipInfo) -> np.dtype[Any] | None:
    """The type that an array's head names; None where it has none."""
    try:
        with archive.open(item) as file:
            return _head(file)[1]
    except DAMAGED:
        return None


def _head(file: Any) -> tuple[tuple[int, ...], np.dtype[Any]]:
    version = npy.read_magic(file)
    if version not in _HEADS:
        raise ValueError(f"version {version} of the format is not known")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Python 2, which wrote ``6L``
        shape, _, kind = _HEADS[version](file)
    return shape, kind


def _array(archive: zipfile.ZipFile, item: zipfile.ZipInfo) -> np.ndarray[Any, Any]:
    with archive.open(item) as file:
        shape, kind = _head(file)
        there = item.file_size - file.tell()
    if kind.hasobject:
        raise ValueError("it holds Python objects, which are not read")
    if kind.names is not None:
        raise ValueError(f"it holds records of {', '.join(kind.names)}: save each as an array of its own")
    if kind.kind in "mMV":
        raise ValueError(
            f"it holds {'dates or durations' if kind.kind in 'mM' else 'plain bytes'}, which are no numbers"
        )
    if not shape:
        raise ValueError("it is one value and has no rows")
    if not prod(shape[1:]):
        raise ValueError("its rows hold nothing")
    needed = prod(shape) * max(1, kind.itemsize)  # of no bytes there could be any number
    if needed > there or item.file_size > item.compress_size * DENSEST + HEAD:
        raise ValueError(f"its head claims {needed:,} bytes, and {min(there, item.compress_size):,} are there")
    with archive.open(item) as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        array = npy.read_array(file, allow_pickle=False)
    if kind.kind in "fc" and kind.itemsize > (16 if kind.kind == "c" else 8):
        with np.errstate(all="ignore"):  # what does not fit becomes infinite, and is refused as such
            return array.astype(np.complex128 if kind.kind == "c" else np.float64)
    if kind.kind == "S":
        return np.char.decode(array, "utf-8")
    array = array.astype(kind.newbyteorder("="), copy=False)
    if (
        kind.kind == "U"
        and kind.itemsize
        and np.ascontiguousarray(array).view(np.uint32).max(initial=0) > sys.maxunicode
    ):
        raise ValueError("it holds numbers that are no letters")
    return array
