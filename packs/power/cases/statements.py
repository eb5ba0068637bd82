"""Carries out the assignments of a MATPOWER data file; every other statement is refused with its line."""

from __future__ import annotations

from dataclasses import dataclass, field

from pdual.packs.power.cases.constants import DEFINED, INDICES
from pdual.packs.power.cases.expressions import SEPARATORS, Expressions, Index
from pdual.packs.power.cases.tokens import Token, Unreadable, tokens
from pdual.packs.power.cases.values import CONSTANTS, Cells, Unsure, Value, matrix_of, positions

_ENDS = ("end", "endfunction", "return")
_CODE = (
    "if", "for", "while", "switch", "try", "do", "parfor", "global", "persistent", "break", "continue", "else", "elseif",
    "unwind_protect", "until", "case", "otherwise", "catch", "classdef",
)  # fmt: skip


@dataclass(slots=True)
class File:
    """What a file assigns, by dotted name; ``outputs`` are what its function returns, in their order."""

    outputs: list[str] = field(default_factory=list)
    values: dict[str, Value] = field(default_factory=dict)


def carry_out(text: str) -> File:
    """The values that a file assigns. Raises Unreadable at the first statement that is no assignment of known numbers."""
    return _Reader(tokens(text)).read()


class _Reader(Expressions):
    def __init__(self, words: list[Token]) -> None:
        super().__init__(words)
        self._file = File(values=self.values)

    def read(self) -> File:
        self._separators()
        if self._is_name("function"):
            self._header()
        self._separators()
        while self._now.kind != "end":
            if self._now.kind == "name" and self._now.text in _ENDS:
                self._rest()
                break
            line = self._now.line
            try:
                self._statement()
            except Unsure as why:
                raise Unreadable(line, str(why)) from None
            if self._now.kind not in (*SEPARATORS, "end"):
                raise Unreadable(self._now.line, f"`{self._now.text}` is not expected here")
            self._separators()
        return self._file

    def _header(self) -> None:
        self._at += 1
        if self._takes("["):
            while not self._takes("]"):
                if not self._takes(",", ";"):
                    self._file.outputs.append(self._take("name").text)
            self._take("=")
            self._path()
        else:
            name = self._path()
            if self._takes("="):
                self._file.outputs.append(name)
                self._path()
        if self._takes("("):
            while not self._takes(")"):
                self._at += 1
                if self._now.kind == "end":
                    raise Unreadable(self._now.line, "the function's line does not end")

    def _rest(self) -> None:
        """Nothing may follow the end of the function."""
        self._at += 1
        while True:
            self._separators()
            if self._now.kind == "end":
                return
            if self._now.kind != "name" or self._now.text not in _ENDS:
                raise Unreadable(self._now.line, "the function has ended before this line")
            self._at += 1

    def _statement(self) -> None:
        token = self._now
        if token.kind == "[" and self._indices():
            return
        if token.kind == "number" and self._after().kind in (*SEPARATORS, "end"):
            self._at += 1  # Octave's mark of a script file
            return
        if token.kind != "name":
            raise Unreadable(token.line, f"a statement that begins with `{token.text}` assigns nothing")
        if token.text in _CODE:
            raise Unreadable(token.line, f"`{token.text}` is code, and code is not run")
        if token.text == "function":
            raise Unreadable(token.line, "a second function begins here, and code is not run")
        if token.text == "define_constants" and self._after().kind in (*SEPARATORS, "end"):
            self._at += 1
            for name, column in DEFINED.items():
                self._keep(name, float(column), token.line)
            return
        name = self._path()
        if self._takes("="):
            self._assign(name, token.line)
        elif self._now.kind == "(" and (index := self._assigned_index(name)) is not None:
            self._change(name, index, self._expression(), token.line)
        else:
            call = f"`{name}`" if self._now.kind != "(" else f"`{name}(...)`"
            raise Unreadable(token.line, f"{call} is not an assignment, and code is not run")

    def _assign(self, name: str, line: int) -> None:
        if self._is_name("struct") and self._after().kind == "(":
            self._structure(name, line)
        else:
            self._keep(name, self._expression(), line)

    def _structure(self, name: str, line: int) -> None:
        """``struct('version', '2', ...)``."""
        self._at += 2
        self._forget(name)
        entries: list[Value] = []
        while not self._takes(")"):
            entries.append(self._expression())
            if self._now.kind != ")":
                self._take(",")
        for key, value in zip(entries[::2], entries[1::2], strict=len(entries) % 2 == 0):
            if not isinstance(key, str) or isinstance(value, Cells):
                raise Unsure("this `struct` is not made of names and numbers")
            self._keep(f"{name}.{key}", value, line)
        if len(entries) % 2:
            raise Unsure("this `struct` lacks a value")

    def _keep(self, name: str, value: Value, line: int) -> None:
        if name in CONSTANTS:
            raise Unreadable(line, f"`{name}` keeps its value, {CONSTANTS[name]:g}")
        self._forget(name)
        self.values[name] = value

    def _forget(self, name: str) -> None:
        """A name that gets another value loses its fields."""
        if name not in self.values:
            for other in [other for other in self.values if other.startswith(f"{name}.")]:
                del self.values[other]

    def _indices(self) -> bool:
        """``[PQ, PV, ...] = idx_bus``; whether it is one."""
        close = self._at + 1
        while self._words[close].kind in ("name", ","):
            close += 1
        if [word.kind for word in self._words[close : close + 2]] != ["]", "="]:
            return False
        call = self._words[min(close + 2, len(self._words) - 1)]
        results = INDICES.get(call.text)
        if results is None:
            raise Unreadable(call.line, f"`{call.text}` is called for several results, and code is not run")
        names = [word for word in self._words[self._at + 1 : close] if word.kind == "name"]
        if len(names) > len(results):
            raise Unreadable(call.line, f"`{call.text}` has {len(results)} results, not {len(names)}")
        for word, column in zip(names, results.values(), strict=False):
            self._keep(word.text, float(column), word.line)
        self._at = close + 3
        if self._takes("("):
            self._take(")")
        return True

    def _assigned_index(self, name: str) -> Index | None:
        """The index before ``=``; None, with nothing taken, where no ``=`` follows."""
        depth, at = 0, self._at
        while self._words[at].kind not in ("new line", "end"):
            depth += {"(": 1, ")": -1}.get(self._words[at].kind, 0)
            at += 1
            if not depth:
                break
        if self._words[min(at, len(self._words) - 1)].kind != "=":
            return None
        if name not in self.values:
            raise Unreadable(self._now.line, f"`{name}` has no value yet")
        index = self._index(matrix_of(self.values[name]))
        self._take("=")
        return index

    def _change(self, name: str, index: Index, value: Value, line: int) -> None:
        old = matrix_of(self.values[name])
        if len(index) != 2:
            raise Unsure(f"`{name}` is changed at {len(index)} indices, rows and columns are needed")
        rows, columns = positions(index[0], len(old)), positions(index[1], len(old[0]) if old else 0)
        new = matrix_of(value)
        sizes = (len(new), len(new[0]) if new else 0)
        if sizes not in ((1, 1), (len(rows), len(columns))):
            raise Unsure(f"{sizes[0]} x {sizes[1]} numbers for {len(rows)} x {len(columns)} places of `{name}`")
        changed = list(old)
        for i, row in enumerate(rows):
            changed[row] = list(changed[row])
            for j, column in enumerate(columns):
                changed[row][column] = new[i if sizes[0] > 1 else 0][j if sizes[1] > 1 else 0]
        self._keep(name, changed, line)
