"""Single values of a file or an array: what a number, a whole number, an id, a truth value or a member of a set is written as.

Python's own conversions take more than files mean: ``1_5``, digits of other scripts, ``infinity``. A value that is none is None.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import blake2b
from math import isfinite
from typing import Any, TypeAlias

Parse: TypeAlias = Callable[[Any], Any]

_NUMBER = re.compile(r"\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*", re.ASCII)
_WHOLE = re.compile(r"\s*[+-]?\d{1,400}\s*", re.ASCII)
#: How a whole number is written in one way only: what is written otherwise (``007``, ``+7``) is another text.
_PLAIN = re.compile(r"0|-?[1-9]\d{0,19}", re.ASCII)
_LEAST, _MOST = -(2**63), 2**63 - 1
_EXACT = 2**53  # whole numbers up to here are what a double says they are


def flat(value: Any) -> Iterator[Any]:
    """The values of one row, whole or as nested lists or an array, the last axis fastest."""
    if isinstance(value, list | tuple) or (hasattr(value, "tolist") and bool(getattr(value, "ndim", 0))):
        for item in value:
            yield from flat(item)
    else:
        yield value.item() if hasattr(value, "item") else value


def number(value: Any) -> float | None:
    """A finite number, written with a decimal point."""
    if isinstance(value, str) and not _NUMBER.fullmatch(value):
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
    else:
        real = number(value)
        found = int(real) if real is not None and real.is_integer() and abs(real) <= _EXACT else None
    return found if found is not None and _LEAST <= found <= _MOST else None


def identity(value: Any) -> int | None:
    """An id as one number of 64 bits: a whole number is itself, however a file holds it; any other text is its digest.

    ``007`` is not ``7``: they are different texts. None for what cannot be held: nothing, a truth value, a number with a fraction or one
    that a double has rounded. Two texts may have one digest (one in 2^64): ``named`` refuses such a column.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value if _LEAST <= value <= _MOST else _digest(str(value))
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) <= _EXACT else None
    if not isinstance(value, str) or not value.strip():
        return None
    if _PLAIN.fullmatch(value.strip()) and _LEAST <= int(value) <= _MOST:
        return int(value)
    return _digest(value)


def _digest(text: str) -> int:
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big", signed=True)


def named(values: Sequence[Any], codes: Sequence[int]) -> Mapping[int, str] | None:
    """What ids that are no numbers of 64 bits are called, by their code; None where two different ones have one code."""
    names: dict[int, str] = {}
    for value, code in zip(values, codes, strict=True):
        text = str(value)
        if names.setdefault(code, text) != text and not _same_number(names[code], text):
            return None
    return {code: text for code, text in names.items() if text != str(code)}


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
