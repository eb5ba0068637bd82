"""IDX files, against bytes written by hand and an encoding by ``struct``."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from pdual.packs.images.idx import idx_header, read_idx

BY_HAND = bytes([0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 255])


def test_bytes_by_hand() -> None:
    found = read_idx(BY_HAND)
    assert found.dtype == np.uint8
    assert found.tolist() == [[1, 2, 3], [4, 5, 255]]
    assert idx_header(found) == BY_HAND[:12]


@pytest.mark.parametrize(
    ("code", "letter", "values"),
    [
        (0x09, "b", [-128, 127]),
        (0x0B, "h", [-2, 300]),
        (0x0C, "i", [-70_000, 70_000]),
        (0x0D, "f", [0.5, -3.0]),
        (0x0E, "d", [0.1, 1e300]),
    ],
)
def test_every_type_is_big_endian(code: int, letter: str, values: list[float]) -> None:
    content = struct.pack(f">HBBI2{letter}", 0, code, 1, 2, *values)
    found = read_idx(content)
    assert found.tolist() == values
    assert idx_header(found.astype(found.dtype.newbyteorder("<"))) == content[:8]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "does not begin"),
        (b"\x1f\x8b\x08\x00more", "does not begin"),
        (bytes([0, 0, 7, 1, 0, 0, 0, 0]), "does not begin"),
        (BY_HAND[:9], "ends within its sizes"),
        (BY_HAND[:-1], "need 6 bytes, it has 5"),
        (BY_HAND + b"\0", "need 6 bytes, it has 7"),
    ],
)
def test_what_is_none_says_why(content: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        read_idx(content)


def test_an_array_without_rows_is_one() -> None:
    assert read_idx(bytes([0, 0, 8, 1, 0, 0, 0, 0])).shape == (0,)


def test_a_type_that_idx_does_not_have() -> None:
    with pytest.raises(KeyError):
        idx_header(np.zeros(1, np.int64))
