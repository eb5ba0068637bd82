"""Expressions of MATPOWER's data files: numbers, matrices, their parts, and arithmetic on what is known."""

from __future__ import annotations

from pdual.runtime.sources.power_tokens import Token, Unreadable
from pdual.runtime.sources.power_values import (
    CONSTANTS,
    FUNCTIONS,
    Cells,
    Unsure,
    Value,
    applied,
    combined,
    joined,
    matrix_of,
    number,
    positions,
    stepped,
    transposed,
)

SEPARATORS = ("new line", ";", ",")
_POWERS = ("^", ".^")
_PRODUCTS = ("*", "/", ".*", "./")
_SUMS = ("+", "-")
_DEEPEST = 60  # brackets in brackets

Index = tuple[Value | None, ...]


class Expressions:
    """Reads expressions off a list of words; ``values`` are what names stand for.

    Its methods raise Unreadable, with a line, and Unsure, whose line is that of the statement.
    """

    def __init__(self, words: list[Token]) -> None:
        self.values: dict[str, Value] = {}
        self._words = words
        self._at = 0
        self._depth = 0
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
            return stepped(first, 1.0, second)
        return stepped(first, second, self._sum())

    def _sum(self) -> Value:
        found = self._product()
        while sign := self._takes(*_SUMS):
            found = combined(sign.kind, found, self._product())
        return found

    def _product(self) -> Value:
        found = self._signed()
        while sign := self._takes(*_PRODUCTS):
            found = combined(sign.kind, found, self._signed())
        return found

    def _signed(self) -> Value:
        signs = []
        while sign := self._takes(*_SUMS):
            signs.append(sign.kind)
        found = self._power()
        return combined("*", -1.0, found) if signs.count("-") % 2 else found

    def _power(self) -> Value:
        found = self._postfix()
        while sign := self._takes(*_POWERS):
            minus = 0
            while own := self._takes(*_SUMS):
                minus += own.kind == "-"
            exponent = self._postfix()
            found = combined(sign.kind, found, combined("*", -1.0, exponent) if minus % 2 else exponent)
        return found

    def _postfix(self) -> Value:
        found = self._primary()
        while self._takes("'", ".'"):
            found = transposed(found)
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
        line = self._now.line
        rows: list[list[Value]] = [[]]
        while not self._takes(close):
            if self._takes(";"):
                rows.append([])
            elif comma := self._takes(","):
                if not rows[-1] or self._now.kind == ",":
                    raise Unreadable(comma.line, "an entry is missing before or after `,`")
            else:
                if rows[-1] and self._words[self._at - 1].kind != ",":
                    raise Unreadable(self._now.line, f"`{self._now.text}` is not expected here")
                rows[-1].append(self._expression())
        if close == "}":
            return Cells(entry for row in rows for entry in row)
        entries = [entry for row in rows for entry in row]
        if entries and all(isinstance(entry, str) for entry in entries):
            return Cells(entries)
        try:
            return joined([row for row in rows if row])
        except Unsure as why:
            raise Unreadable(line, str(why)) from None

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
            return applied(name, arguments[0])
        sizes = [number(argument) for argument in arguments]
        if name in FUNCTIONS or len(sizes) > 2 or not all(size == size // 1 and 0 <= size <= 100_000 for size in sizes):
            raise Unreadable(line, f"`{name}(...)` is not called like this")
        if sizes[0] * sizes[-1] > 10_000_000:
            raise Unreadable(line, f"`{name}(...)` of {sizes[0]:g} x {sizes[-1]:g} numbers")
        return [[float(name == "ones")] * int(sizes[-1]) for _ in range(int(sizes[0]))]

    def _part(self, value: Value) -> Value:
        matrix = matrix_of(value)
        index = self._index(matrix)
        if len(index) == 1 and 1 in (len(matrix), len(matrix[0]) if matrix else 0):
            line = matrix[0] if len(matrix) == 1 else [row[0] for row in matrix]
            picked = [line[place] for place in positions(index[0], len(line))]
            found = [picked] if len(matrix) == 1 else [[entry] for entry in picked]
        elif len(index) == 2:
            rows, columns = positions(index[0], len(matrix)), positions(index[1], len(matrix[0]) if matrix else 0)
            found = [[matrix[row][column] for column in columns] for row in rows]
        else:
            raise Unsure("rows and columns are needed here")
        return found[0][0] if len(found) == 1 and len(found[0]) == 1 else found

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
