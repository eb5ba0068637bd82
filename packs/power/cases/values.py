"""Numbers and matrices of MATPOWER's data files, and arithmetic on them entry by entry."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

Matrix = list[list[float]]


@dataclass(frozen=True, slots=True)
class Cells:
    """A cell array, its entries row by row."""

    entries: tuple[Value, ...]


Value: TypeAlias = "float | str | Matrix | Cells"

#: Constants that need no assignment.
CONSTANTS = {
    "pi": math.pi, "Inf": math.inf, "inf": math.inf, "NaN": math.nan, "nan": math.nan,
}  # fmt: skip
#: Functions of one number, entry by entry.
FUNCTIONS: dict[str, Callable[[float], float]] = {
    "sqrt": math.sqrt, "abs": abs, "exp": math.exp, "log": math.log, "sin": math.sin, "cos": math.cos, "tan": math.tan,
    "asin": math.asin, "acos": math.acos, "atan": math.atan, "deg2rad": math.radians, "rad2deg": math.degrees,
}  # fmt: skip


#: A computed matrix has no more entries.
LARGEST = 500_000


class Unsure(Exception):  # noqa: N818  (it becomes a diagnostic)
    """A value that is not computed, and why."""


def matrix_of(value: Value) -> Matrix:
    """A number as a matrix of one entry. Raises Unsure for texts, and where rows differ in length."""
    if isinstance(value, str | Cells):
        raise Unsure("a text is no number")
    if isinstance(value, int | float):
        return [[value]]
    if any(len(row) != len(value[0]) for row in value):
        raise Unsure("the rows of this matrix differ in length")
    return value


def _quotient(x: float, y: float) -> float:
    if y:
        return x / y
    return math.nan if x == 0 or math.isnan(x) else math.copysign(math.inf, x) * math.copysign(1.0, y)


def _power(x: float, y: float) -> float:
    if x == 0 and y < 0:
        return math.inf
    found: float | complex = x**y
    if isinstance(found, complex):
        raise Unsure("a power is no real number")
    return found


_ENTRYWISE: dict[str, Callable[[float, float], float]] = {
    "+": operator.add, "-": operator.sub, ".*": operator.mul, "./": _quotient, ".^": _power,
}  # fmt: skip


def combined(sign: str, left: Value, right: Value) -> Value:
    """``left sign right``; one row, one column or one number goes with a whole matrix.

    Raises Unsure where sizes do not fit, and for products and powers of matrices.
    """
    a, b = matrix_of(left), matrix_of(right)
    one = [len(item) == 1 and len(item[0]) == 1 for item in (a, b)]
    if sign in ("*", "/", "^"):
        if not (all(one) if sign == "^" else one[1] or (sign == "*" and one[0])):
            raise Unsure(f"`{sign}` of two matrices is not computed")
        sign = f".{sign}"
    height, width = (_common(len(x), len(y)) for x, y in ((a, b), (a[:1] and a[0], b[:1] and b[0])))
    bounded(height, width)
    rule = _ENTRYWISE[sign]
    try:
        rows = [[rule(_entry(a, i, j), _entry(b, i, j)) for j in range(width)] for i in range(height)]
    except OverflowError:
        raise Unsure("a number is too large") from None
    return rows[0][0] if all(one) else rows


def _entry(matrix: Matrix, i: int, j: int) -> float:
    row = matrix[i if len(matrix) > 1 else 0]
    return row[j if len(row) > 1 else 0]


def _common(first: int, second: int) -> int:
    if first != second and 1 not in (first, second):
        raise Unsure(f"{first} and {second} entries do not go together")
    return second if first == 1 else first


def applied(name: str, value: Value) -> Value:
    """A function of every entry. Raises Unsure where it has no real value."""
    try:
        rows = [[float(FUNCTIONS[name](entry)) for entry in row] for row in matrix_of(value)]
    except (ValueError, OverflowError):
        raise Unsure(f"`{name}` has no real value here") from None
    return rows if isinstance(value, list) else rows[0][0]


def transposed(value: Value) -> Value:
    """Rows as columns; the cells of a list stay in their order."""
    if isinstance(value, Cells):
        return value
    return [list(column) for column in zip(*matrix_of(value), strict=True)] if isinstance(value, list) else value


def stepped(first: Value, step: Value, last: Value) -> Value:
    """``first:step:last`` as a row."""
    start, by, end = (number(item) for item in (first, step, last))
    if not all(map(math.isfinite, (start, by, end))) or not by:
        raise Unsure("a range without an end")
    count = math.floor((end - start) / by * (1 + 1e-15)) + 1
    bounded(1, count)
    return [[start + by * place for place in range(count)]] if count > 0 else []


def bounded(height: int, width: int) -> None:
    """Raises Unsure at a size that no case has."""
    if height * width > LARGEST:
        raise Unsure(f"a matrix of {height} x {width} numbers is too large")


def size_of(value: Value) -> int:
    """How many rows and entries there are."""
    return len(value) + sum(map(len, value)) if isinstance(value, list) else 1


def number(value: Value) -> float:
    """A single number. Raises Unsure where it is none."""
    rows = matrix_of(value)
    if len(rows) != 1 or len(rows[0]) != 1:
        raise Unsure("one number is needed here")
    return rows[0][0]


def joined(row: Sequence[Value], above: int = 0) -> Matrix:
    """Matrices beside each other, below ``above`` rows. Raises Unsure where they differ in height."""
    blocks = [block for block in map(matrix_of, row) if block]
    if not blocks:
        return []
    if any(len(block) != len(blocks[0]) for block in blocks):
        raise Unsure("matrices beside each other differ in height")
    bounded(above + len(blocks[0]), sum(len(block[0]) for block in blocks))
    return [[entry for part in parts for entry in part] for parts in zip(*blocks, strict=True)]


def positions(index: Value | None, size: int) -> list[int]:
    """From 0: the places that an index from 1 names, all for None. Raises Unsure where there is no such place."""
    if index is None:
        return list(range(size))
    rows = matrix_of(index)
    if len(rows) > 1 and len(rows[0]) > 1:
        raise Unsure("an index that is a matrix itself is not followed")
    entries = [entry for row in rows for entry in row]
    for entry in entries:
        if not (math.isfinite(entry) and entry == int(entry) and 1 <= entry <= size):
            raise Unsure(f"there is no place {entry:g} among {size}")
    return [int(entry) - 1 for entry in entries]
