"""Expressions of MATPOWER's data files: numbers, matrices, their parts, and arithmetic on what is known."""

from __future__ import annotations

from typing import TypeAlias

from pdual.packs.power.cases.tokens import Token, Unreadable
from pdual.packs.power.cases.values import (
    CONSTANTS,
    FUNCTIONS,
    Cells,
    Matrix,
    Unsure,
    Value,
    applied,
    bounded,
    combined,
    joined,
    matrix_of,
    number,
    positions,
    size_of,
    stepped,
    transposed,
)

SEPARATORS = ("new line", ";", ",")
_POWERS = ("^", ".^")
_PRODUCTS = ("*", "/", ".*", "./")
_SUMS = ("+", "-")
_DEEPEST = 60  # brackets in brackets
_MOST = 3_000_000  # rows and numbers that a file computes, beside those it holds

Index: TypeAlias = "tuple[Value | None, ...]"


class Expressions:
    """Reads expressions off a list of words; ``values`` are what names stand for.

    Its methods raise Unreadable, with a line, and Unsure, whose line is that of the statement.
    """

    def __init__(self, words: list[Token]) -> None:
        self.values: dict[str, Value] = {}
        self._words = words
        self._at = 0
        self._depth = 0
        self._computed = 0
        self._inside: list[int] = []  # what `end` stands for

    @property
    def _now(self) -> Token:
        return self._words[self._at]

    def _after(self, steps: int = 1) -> Token:
        return self._words[min(self._at + steps, len(self._words) - 1)]

    def _take(self, kind: str) -> Token:
        token = self._now
        if token.kind != kind:
            found = "the line ends" if token.kind in ("new line", "end") else f"found `{token.text}`"
            raise Unreadable(token.line, f"`{kind}` is expected here, {found}")
        self._at += 1
        return token

    def _takes(self, *kinds: str) -> Token | None:
        token = self._now
        if token.kind not in kinds:
            return None
        self._at += 1
        return token

    def _is_name(self, text: str) -> bool:
        return self._now.kind == "name" and self._now.text == text

    def _separators(self) -> None:
        while self._takes(*SEPARATORS):
            pass

    def _path(self) -> str:
        name = self._take("name").text
        while self._now.kind == "." and self._after().kind == "name":
            name += f".{self._after().text}"
            self._at += 2
        return name

    def _expression(self) -> Value:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise Unreadable(self._now.line, "too many brackets in brackets")
        try:
            found = self._sum()
            if self._now.kind == ":" and self._after().kind not in (")", ","):
                found = self._range(found)
            return found
        finally:
            self._depth -= 1

    def _range(self, first: Value) -> Value:
        self._take(":")
        second = self._sum()
        if not self._takes(":"):
            return self._counted(stepped(first, 1.0, second))
        return self._counted(stepped(first, second, self._sum()))

    def _sum(self) -> Value:
        found = self._product()
        while sign := self._takes(*_SUMS):
            found = self._counted(combined(sign.kind, found, self._product()))
        return found

    def _product(self) -> Value:
        found = self._signed()
        while sign := self._takes(*_PRODUCTS):
            found = self._counted(combined(sign.kind, found, self._signed()))
        return found

    def _signed(self) -> Value:
        signs = []
        while sign := self._takes(*_SUMS):
            signs.append(sign.kind)
        found = self._power()
        return self._counted(combined("*", -1.0, found)) if signs.count("-") % 2 else found

    def _power(self) -> Value:
        found = self._postfix()
        while sign := self._takes(*_POWERS):
            minus = 0
            while own := self._takes(*_SUMS):
                minus += own.kind == "-"
            exponent = self._postfix()
            found = self._counted(combined(sign.kind, found, combined("*", -1.0, exponent) if minus % 2 else exponent))
        return found

    def _postfix(self) -> Value:
        found = self._primary()
        while self._takes("'", ".'"):
            found = self._counted(transposed(found))
        return found

    def _primary(self) -> Value:
        token = self._now
        if self._takes("number"):
            return token.value
        if self._takes("matrix"):
            return token.rows or []
        if self._takes("text"):
            return token.text
        if self._takes("("):
            found = self._expression()
            self._take(")")
            return found
        if self._takes("["):
            return self._list("]")
        if self._takes("{"):
            return self._list("}")
        if token.kind == "name":
            return self._named()
        shown = "the line ends" if token.kind in ("new line", "end") else f"found `{token.text}`"
        raise Unreadable(token.line, f"a number is expected here, {shown}")

    def _list(self, close: str) -> Value:
        """What stands between brackets: rows of a matrix, or the entries of a cell array."""
        rows: list[list[Value]] = [[]]
        lines = [self._now.line]
        while not self._takes(close):
            if self._takes(";"):
                rows.append([])
                lines.append(self._now.line)
            elif comma := self._takes(","):
                if not rows[-1] or self._now.kind == ",":
                    raise Unreadable(comma.line, "an entry is missing before or after `,`")
            else:
                if rows[-1] and self._words[self._at - 1].kind != ",":
                    raise Unreadable(self._now.line, f"`{self._now.text}` is not expected here")
                rows[-1].append(self._expression())
        if close == "}":
            return Cells(tuple(entry for row in rows for entry in row))
        entries = [entry for row in rows for entry in row]
        if entries and all(isinstance(entry, str) for entry in entries):
            return Cells(tuple(entries))
        return self._matrix(rows, lines)

    def _matrix(self, rows: list[list[Value]], lines: list[int]) -> Value:
        found: Matrix = []
        for row, line in zip(rows, lines, strict=True):
            try:
                block = joined(row, len(found))
            except Unsure as why:
                raise Unreadable(line, str(why)) from None
            if block and found and len(block[0]) != len(found[0]):
                raise Unreadable(
                    line, f"a row of {len(block[0])} entries in a matrix whose first row has {len(found[0])}"
                )
            found += block
        self._counted(found)
        return found

    def _counted(self, value: Value) -> Value:
        """Keeps what a file computes from growing without an end."""
        self._computed += size_of(value)
        if self._computed > _MOST:
            raise Unsure(f"more than {_MOST:,} rows and numbers are computed up to here")
        return value

    def _named(self) -> Value:
        line = self._now.line
        name = self._path()
        if self._inside and name == "end":
            return float(self._inside[-1])
        if name in self.values:
            value = self.values[name]
            return self._part(value) if self._now.kind == "(" else value
        if self._now.kind == "(":
            return self._called(name, line)
        if name not in CONSTANTS:
            raise Unreadable(line, f"`{name}` is no number and has no value yet")
        return CONSTANTS[name]

    def _called(self, name: str, line: int) -> Value:
        if name not in FUNCTIONS and name not in ("zeros", "ones"):
            raise Unreadable(line, f"`{name}(...)` is a call, and code is not run")
        self._take("(")
        arguments = [self._expression()]
        while self._takes(","):
            arguments.append(self._expression())
        self._take(")")
        if name in FUNCTIONS and len(arguments) == 1:
            return self._counted(applied(name, arguments[0]))
        sizes = [number(argument) for argument in arguments]
        if name in FUNCTIONS or len(sizes) > 2 or not all(size == size // 1 and 0 <= size <= 100_000 for size in sizes):
            raise Unreadable(line, f"`{name}(...)` is not called like this")
        bounded(int(sizes[0]), int(sizes[-1]))
        return self._counted([[float(name == "ones")] * int(sizes[-1]) for _ in range(int(sizes[0]))])

    def _part(self, value: Value) -> Value:
        matrix = matrix_of(value)
        index = self._index(matrix)
        if len(index) == 1 and 1 in (len(matrix), len(matrix[0]) if matrix else 0):
            line = matrix[0] if len(matrix) == 1 else [row[0] for row in matrix]
            picked = [line[place] for place in positions(index[0], len(line))]
            if len(line) == 1 and len(picked) > 1:
                raise Unsure("several indices of one number")
            in_row = len(matrix) == 1 and index[0] is not None  # `(:)` is a column whatever it is taken from
            found = [picked] if in_row else [[entry] for entry in picked]
        elif len(index) == 2:
            rows, columns = positions(index[0], len(matrix)), positions(index[1], len(matrix[0]) if matrix else 0)
            bounded(len(rows), len(columns))
            found = [[matrix[row][column] for column in columns] for row in rows]
        else:
            raise Unsure("rows and columns are needed here")
        return self._counted(found[0][0] if len(found) == 1 and len(found[0]) == 1 else found)

    def _index(self, matrix: list[list[float]]) -> Index:
        """``(rows, columns)``; None stands for ``:``."""
        self._take("(")
        sizes = (len(matrix), len(matrix[0]) if matrix else 0)
        index: list[Value | None] = []
        while True:
            alone = self._now.kind == ":" and self._after().kind in (",", ")")
            several = bool(index) or self._has_comma()
            self._inside.append(sizes[min(len(index), 1)] if several else sizes[0] * sizes[1])
            try:
                index.append(None if alone else self._expression())
            finally:
                self._inside.pop()
            if alone:
                self._at += 1
            if self._takes(")"):
                return tuple(index)
            self._take(",")

    def _has_comma(self) -> bool:
        """Whether another index follows the one that begins here."""
        depth, at = 0, self._at
        while self._words[at].kind != "end" and depth >= 0:
            kind = self._words[at].kind
            if kind == "," and not depth:
                return True
            depth += (kind in ("(", "[", "{")) - (kind in (")", "]", "}"))
            at += 1
        return False
