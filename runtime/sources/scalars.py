"""Single values of a file or an array: what a number, a whole number, an id, a truth value or a member of a set is written as.

Python's own conversions take more than files mean: ``1_5``, digits of other scripts, ``infinity``. A value that is none is None.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from hashlib import blake2b
from math import isfinite, prod
from typing import Any, TypeAlias

import numpy as np

Parse: TypeAlias = Callable[[Any], Any]

_NUMBER = re.compile(r"\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*", re.ASCII)
_WHOLE = re.compile(r"\s*[+-]?\d{1,400}\s*", re.ASCII)
#: How a whole number is written in one way only: what is written otherwise (``007``, ``+7``) is another text.
_PLAIN = re.compile(r"0|-?[1-9]\d{0,19}", re.ASCII)
#: What a spreadsheet or a program writes for a whole number that it has rounded: ``1.54266E+18``, ``1542657904481796096.0``.
_SHORTENED = re.compile(r"[+-]?\d(?:\.\d*)?[eE]\+\d+", re.ASCII)
_POINTED = re.compile(r"([+-]?\d+)\.0*", re.ASCII)
_LEAST, _MOST = -(2**63), 2**63 - 1
_EXACT = 2**53 - 1  # whole numbers up to here are what a double says they are; 2^53 may be the next one, rounded


class Coarse(float):
    """A number of bfloat16, in which whole numbers are exact up to ``EXACT`` alone."""

    EXACT = 255


def flat(value: Any) -> Iterator[Any]:
    """The values of one row, whole or as nested lists or an array, the last axis fastest."""
    if isinstance(value, list | tuple) or (hasattr(value, "tolist") and bool(getattr(value, "ndim", 0))):
        for item in value:
            yield from flat(item)
    else:
        # One of less than double precision says so itself: fewer whole numbers are exact in it.
        yield value.item() if hasattr(value, "item") and not isinstance(value, np.half | np.single) else value


def extent(value: Any) -> tuple[int, ...] | None:
    """The lengths of the axes of one row's value, as nested lists or an array; None where they differ within it."""
    if isinstance(value, list | tuple):
        found = {extent(item) for item in value}
        inner = found.pop() if len(found) == 1 else None if found else ()
        return None if inner is None else (len(value), *inner)
    return tuple(getattr(value, "shape", ()))


def fits(found: tuple[int, ...] | None, shape: Sequence[int]) -> bool:
    """Whether a value of some extent is one of this shape: axes of one entry aside, or all entries in one line, last axis fastest."""
    if found is None or prod(found) != prod(shape):
        return False
    here, wanted = ([size for size in sizes if size != 1] for sizes in (found, shape))
    return here == wanted or len(here) <= 1 or len(wanted) <= 1


def number(value: Any) -> float | None:
    """A finite number, written with a decimal point."""
    if isinstance(value, bytes | bytearray) or (isinstance(value, str) and not _NUMBER.fullmatch(value)):
        return None
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return found if isfinite(found) else None


def within(low: float | None, high: float | None) -> Callable[[Any], float | None]:
    """Numbers in a range; an end that is None is open."""

    def parse(value: Any) -> float | None:
        found = number(value)
        inside = found is not None and (low is None or found >= low) and (high is None or found <= high)
        return found if inside else None

    return parse


def whole(value: Any) -> int | None:
    """A whole number of 64 bits, exactly; ``3.0`` is 3."""
    found: int | None
    if (isinstance(value, str) and _WHOLE.fullmatch(value)) or isinstance(value, int):
        found = int(value)
    elif isinstance(value, Decimal):
        found = _of_decimal(value)
    else:
        real = number(value)
        found = int(real) if real is not None and real.is_integer() and abs(real) <= _exact(value) else None
    return found if found is not None and _LEAST <= found <= _MOST else None


def _exact(value: Any) -> int:
    """Up to where whole numbers are what a floating-point number of this type says they are."""
    if isinstance(value, Coarse):
        return Coarse.EXACT
    return 2 ** (np.finfo(value).nmant + 1) - 1 if isinstance(value, np.half | np.single) else _EXACT


def _of_decimal(value: Decimal) -> int | None:
    # An exponent may ask for more digits than there is memory for.
    return int(value) if value.is_finite() and value.adjusted() < 400 and value == value.to_integral_value() else None


def identity(value: Any) -> int | None:
    """An id as one number of 64 bits: a whole number is itself, however a file holds it; any other text is its digest.

    ``007`` is not ``7``: they are different texts. None for what cannot be held: nothing, a truth value, a number with a fraction or one
    that a floating-point number has rounded, or a text that was written from one (``1.54266E+18``).
    Two texts may have one digest (one in 2^64): ``named`` refuses such a column.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value if _LEAST <= value <= _MOST else _digest(str(value))
    if isinstance(value, Decimal):
        whole_one = _of_decimal(value)
        return None if whole_one is None else identity(whole_one)
    if isinstance(value, float | np.half | np.single):
        return int(value) if float(value).is_integer() and abs(float(value)) <= _exact(value) else None
    if not isinstance(value, str) or not value.strip() or not is_text(value):
        return None
    plain = value.strip()
    if _PLAIN.fullmatch(plain) and _LEAST <= int(plain) <= _MOST:
        return int(plain)
    return None if _is_rounded(plain) else _digest(value)


def _is_rounded(text: str) -> bool:
    pointed = _POINTED.fullmatch(text)
    return bool(_SHORTENED.fullmatch(text)) or (
        pointed is not None and len(pointed[1]) > 15 and abs(int(pointed[1][:400])) > _EXACT
    )


def is_text(value: str) -> bool:
    """Whether there is a text for it in UTF-8: JSON can write halves of letters."""
    return value.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in value)


def _digest(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big", signed=True)


def named(values: Sequence[Any], codes: Sequence[int]) -> Mapping[int, str] | None:
    """What ids that are no numbers of 64 bits are called, by their code; None where two different ones have one code."""
    names: dict[int, str] = {}
    for value, code in zip(values, codes, strict=True):
        text = str(value)
        if names.setdefault(code, text) != text and not _same_number(names[code], text):
            return None
    return {code: text for code, text in names.items() if text != str(code) and not _same_number(str(code), text)}


def _same_number(one: str, other: str) -> bool:
    """Whether two ways of writing are one whole number: ``7``, `` 7`` and ``7.0`` of an array of doubles."""
    left, right = whole(one), whole(other)
    return left is not None and left == right


_TRUTHS = {"true": True, "false": False, "1": True, "0": False, "yes": True, "no": False}


def truth(value: Any) -> bool | None:
    """``true``, ``yes`` or 1; ``false``, ``no`` or 0."""
    if isinstance(value, bool):
        return value
    found = whole(value)
    return _TRUTHS.get(str(found) if found is not None else str(value).strip().lower())


def member(labels: Sequence[str]) -> Callable[[Any], int | None]:
    """The position of a label; of labels that are numbers, however the number is written."""
    places = {label: place for place, label in enumerate(labels)}

    def parse(value: Any) -> int | None:
        found = places.get(str(value).strip())
        if found is not None:
            return found
        asked = whole(value)
        return places.get(str(asked)) if asked is not None else None

    return parse
