"""The words of MATLAB's language as far as MATPOWER's data files go; a matrix of plain numbers is one word."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

Rows = list[list[float]]


class Unreadable(Exception):  # noqa: N818  (it becomes a diagnostic)
    """A line that is not data, and why."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line}: {reason}")


class Token(NamedTuple):
    """``kind``: ``number``, ``matrix``, ``text``, ``name``, ``new line``, ``end``, or the sign itself."""

    kind: str
    text: str
    line: int
    value: float = 0.0
    rows: Rows | None = None


_NUMBER = r"(?:\d+(?:\.(?![*/^']|\.\.)\d*)?|\.\d+)(?:[eEdD][+-]?\d+)?"
_ENTRY = rf"[+-]?(?:{_NUMBER}|[Ii]nf|Na[nN]|nan)"
_ROW = re.compile(rf"(?:{_ENTRY}(?:[ \t]*,[ \t]*{_ENTRY}|[ \t]+{_ENTRY})*(?:[ \t]*,)?)?")
_BLANK = re.compile(r"(?:[ \t\f\v]|\.\.\.[^\n]*\n)+")
_WORD = re.compile(
    rf"""(?P<number>{_NUMBER})
    |(?P<name>[A-Za-z_]\w*)
    |(?P<sign>\.\*|\./|\.\\|\.\^|\.'|==|~=|!=|<=|>=|&&|\|\||\+\+|--|[-+*/\\^=<>&|~!@(),;:.\[\]{{}}'\n"])""",
    re.VERBOSE | re.ASCII,
)
_SINGLE = re.compile(r"'((?:[^'\n]|'')*)'")
_DOUBLE = re.compile(r'"((?:[^"\\\n]|""|\\[^\n])*)"')
_DEEPEST = 60  # brackets in brackets
_CLOSES = {"(": ")", "[": "]", "{": "}"}
_BEGINS = ("number", "name", "text", "matrix", "(", "[", "{", "@", "~", "!")
_ENDS = ("number", "name", "text", "matrix", ")", "]", "}", "'", ".'")


def tokens(text: str) -> list[Token]:
    """The words of a file. Raises Unreadable at what is none, at a bracket, a text or a comment that does not end."""
    return list(_Scanner(without_blocks(text)).words())


def without_blocks(text: str) -> str:
    """Block comments as empty lines: ``%{`` or ``#{`` alone on a line, to ``%}`` or ``#}``; they nest."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "%{" not in text and "#{" not in text:
        return text
    kept, open_at = [], []
    for number, line in enumerate(text.split("\n"), 1):
        mark = line.strip(" \t\f\v")
        if mark in ("%{", "#{"):
            open_at.append(number)
        kept.append("" if open_at else line)
        if open_at and mark in ("%}", "#}"):
            open_at.pop()
    if open_at:
        raise Unreadable(open_at[-1], "a block comment begins here and does not end")
    return "\n".join(kept)


def plain_rows(body: str) -> Rows | None:
    """The rows between the brackets of a matrix of plain numbers; None where anything else stands in it."""
    rows: Rows = []
    for line in body.split("\n"):
        cut = min((place for place in (line.find("%"), line.find("#")) if place >= 0), default=len(line))
        for piece in line[:cut].split(";"):
            if not _ROW.fullmatch(piece.strip(" \t")):
                return None
            if entries := piece.replace(",", " ").split():
                rows.append([number_of(entry) for entry in entries])
    return rows


def number_of(entry: str) -> float:
    """The value of a written number; ``1d3`` is 1000."""
    try:
        return float(entry)
    except ValueError:
        return float(entry.lower().replace("d", "e"))


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._line = 1
        self._open: list[Token] = []
        self._last = Token("new line", "\n", 0)

    def words(self) -> Iterator[Token]:
        while self._at < len(self._text):
            blank = self._skip()
            if self._at >= len(self._text):
                break
            token = self._next(blank)
            if self._separates(token, blank):
                yield Token(",", ",", token.line)
            self._last = token
            if self._open and token.kind == "new line":
                if self._open[-1].kind != "(":
                    yield Token(";", "\n", token.line)
                continue
            yield token
        if self._open:
            raise Unreadable(self._open[-1].line, f"`{self._open[-1].text}` does not end")
        yield Token("end", "", self._line)

    def _skip(self) -> bool:
        """Past blanks, continued lines and comments; whether there was any."""
        before = self._at
        while True:
            if blank := _BLANK.match(self._text, self._at):
                self._move(blank.end())
            elif self._text.startswith(("%", "#"), self._at):
                end = self._text.find("\n", self._at)
                self._at = len(self._text) if end < 0 else end
            else:
                return self._at > before

    def _move(self, end: int) -> None:
        self._line += self._text.count("\n", self._at, end)
        self._at = end

    def _next(self, blank: bool) -> Token:
        text, line, at = self._text, self._line, self._at
        sign = text[at]
        if sign == "[" and (token := self._matrix()) is not None:
            return token
        if sign == '"' or (sign == "'" and self._is_text(blank)):
            return self._quoted(_DOUBLE if sign == '"' else _SINGLE, sign)
        word = _WORD.match(text, at)
        if word is None:
            raise Unreadable(line, f"`{sign if sign.isprintable() else ascii(sign)}` has no meaning in a data file")
        self._move(word.end())
        kind = word.lastgroup
        if kind == "number":
            if text[word.end() : word.end() + 1].isidentifier():
                raise Unreadable(line, f"`{word[0]}{text[word.end()]}` is no number")
            return Token("number", word[0], line, number_of(word[0]))
        if kind == "name":
            return Token("name", word[0], line)
        if word[0] in _CLOSES:
            if len(self._open) == _DEEPEST:
                raise Unreadable(line, "too many brackets in brackets")
            self._open.append(Token(word[0], word[0], line))
        elif word[0] in ")]}" and (not self._open or _CLOSES[self._open.pop().kind] != word[0]):
            raise Unreadable(line, f"`{word[0]}` closes what is not open")
        return Token("new line" if word[0] == "\n" else word[0], word[0], line)

    def _matrix(self) -> Token | None:
        end = self._text.find("]", self._at)
        rows = plain_rows(self._text[self._at + 1 : end]) if end > 0 else None
        # a bracket in a comment ends no matrix
        tail = self._text[self._text.rfind("\n", self._at, end) + 1 : end] if rows is not None else ""
        if rows is None or "%" in tail or "#" in tail:
            return None
        token = Token("matrix", "[...]", self._line, rows=rows)
        self._move(end + 1)
        return token

    def _is_text(self, blank: bool) -> bool:
        """Whether a quote begins a text; after a value it transposes it."""
        in_list = bool(self._open) and self._open[-1].kind != "("
        return self._last.kind not in _ENDS or (blank and in_list)

    def _quoted(self, pattern: re.Pattern[str], quote: str) -> Token:
        found = pattern.match(self._text, self._at)
        if found is None:
            raise Unreadable(self._line, "a text begins here and does not end")
        token = Token("text", found[1].replace(quote * 2, quote), self._line)
        self._move(found.end())
        return token

    def _separates(self, token: Token, blank: bool) -> bool:
        """Whether the blank before a token parts two entries: ``[1 -2]`` has two, ``[1 - 2]`` has one."""
        around = -2 if token.kind in _CLOSES else -1
        if not blank or len(self._open) < -around or self._open[around].kind == "(" or self._last.kind not in _ENDS:
            return False
        if token.kind in ("+", "-"):
            return not _BLANK.match(self._text, self._at) and not self._text.startswith("\n", self._at)
        return token.kind in _BEGINS
