"""The IDX format of published image sets: a type, sizes, then numbers, all of it big-endian."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

_TYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
_CODES = {np.dtype(name): code for code, name in _TYPES.items()}


def read_idx(content: bytes) -> NDArray[Any]:
    """The array in an unpacked IDX file, read-only; raises ValueError with the reason where it holds none."""
    start = content[:4]
    if len(start) < 4 or start[:2] != b"\0\0" or start[2] not in _TYPES:
        raise ValueError("it does not begin as an IDX file does")
    begin = 4 + 4 * start[3]
    if len(content) < begin:
        raise ValueError("it ends within its sizes")
    kind = np.dtype(_TYPES[start[2]])
    shape = tuple(np.frombuffer(content, ">u4", start[3], 4).tolist())
    found, expected = len(content) - begin, prod(shape) * kind.itemsize
    if found != expected:
        raise ValueError(f"its sizes {list(shape)} need {expected} bytes, it has {found}")
    return np.frombuffer(content, kind, offset=begin).reshape(shape)


def idx_header(array: NDArray[Any]) -> bytes:
    """What stands before the numbers of this array; raises KeyError for a type that IDX does not have."""
    code = _CODES[array.dtype.newbyteorder(">")]
    return bytes((0, 0, code, array.ndim)) + b"".join(size.to_bytes(4, "big") for size in array.shape)
