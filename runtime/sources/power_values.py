"""Numbers and matrices of MATPOWER's data files, and arithmetic on them entry by entry."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence

Matrix = list[list[float]]


class Cells(list["Value"]):
    """A cell array, its entries row by row."""


Value = float | str | Matrix | Cells

#: Constants that need no assignment.
CONSTANTS = {
    "pi": math.pi, "Inf": math.inf, "inf": math.inf, "NaN": math.nan, "nan": math.nan, "true": 1.0, "false": 0.0,
}  # fmt: skip
#: Functions of one number, entry by entry.
FUNCTIONS: dict[str, Callable[[float], float]] = {
    "sqrt": math.sqrt, "abs": abs, "exp": math.exp, "log": math.log, "sin": math.sin, "cos": math.cos, "tan": math.tan,
    "asin": math.asin, "acos": math.acos, "atan": math.atan, "deg2rad": math.radians, "rad2deg": math.degrees,
}  # fmt: skip


class Unsure(Exception):  # noqa: N818  (it becomes a diagnostic)
    """A value that is not computed, and why."""


def matrix_of(value: Value) -> Matrix:
    """A number as a matrix of one entry. Raises Unsure for texts, and where rows differ in length."""
    if isinstance(value, str | Cells):
        raise Unsure("a text is no number")
    if not isinstance(value, list):
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
    found = x**y
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
    """Rows as columns."""
    return [list(column) for column in zip(*matrix_of(value), strict=True)] if isinstance(value, list) else value


def stepped(first: Value, step: Value, last: Value) -> Value:
    """``first:step:last`` as a row."""
    start, by, end = (number(item) for item in (first, step, last))
    if not all(map(math.isfinite, (start, by, end))) or not by:
        raise Unsure("a range without an end")
    count = math.floor((end - start) / by * (1 + 1e-15)) + 1
    if count > 1_000_000:
        raise Unsure(f"a range of {count} numbers")
    return [[start + by * place for place in range(count)]] if count > 0 else []


def number(value: Value) -> float:
    """A single number. Raises Unsure where it is none."""
    rows = matrix_of(value)
    if len(rows) != 1 or len(rows[0]) != 1:
        raise Unsure("one number is needed here")
    return rows[0][0]


def joined(rows: Sequence[Sequence[Value]]) -> Matrix:
    """The matrix of ``[a b; c d]``. Raises Unsure where blocks beside each other differ in height."""
    found: Matrix = []
    for row in rows:
        blocks = [block for block in map(matrix_of, row) if block]
        if any(len(block) != len(blocks[0]) for block in blocks):
            raise Unsure("matrices beside each other differ in height")
        found += [[entry for part in parts for entry in part] for parts in zip(*blocks, strict=True)]
    return found


def positions(index: Value | None, size: int) -> list[int]:
    """From 0: the places that an index from 1 names, all for None. Raises Unsure where there is no such place."""
    if index is None:
        return list(range(size))
    entries = [entry for row in matrix_of(index) for entry in row]
    for entry in entries:
        if not (math.isfinite(entry) and entry == int(entry) and 1 <= entry <= size):
            raise Unsure(f"there is no place {entry:g} among {size}")
    return [int(entry) - 1 for entry in entries]
