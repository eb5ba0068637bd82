"""Text to tokens. What is spelled as in another language is reported and read as what was meant."""

from __future__ import annotations

import re

from pdual.dsl.diagnostics import Collector
from pdual.dsl.spans import Span, end_of_line
from pdual.dsl.tables import Tables
from pdual.dsl.tree import END, Token

MOST_STRAYS = 100  # what has more places that match no terminal is no spec; the rest is not read

# Spelling elsewhere, a longer one before its own start: the code it is reported under, the terminal that was
# meant and how that is written here.
_FOREIGN: dict[str, tuple[str, str, str]] = {
    "&&": ("PD006", "AND", "and"),
    "&": ("PD006", "AND", "and"),
    "||": ("PD006", "OR", "or"),
    "|": ("PD006", "OR", "or"),
    "!": ("PD006", "NOT", "not"),
    "≤": ("PD004", "RELATION", "<="),
    "≥": ("PD004", "RELATION", ">="),
    "≠": ("PD004", "RELATION", "!="),
    "−": ("PD005", "MINUS", "-"),
    "–": ("PD005", "MINUS", "-"),
    "·": ("PD005", "STAR", "*"),
    "×": ("PD005", "STAR", "*"),
    "÷": ("PD005", "SLASH", "/"),
}
# What turns the direction of writing, so that code may seem to be a comment; and what ends a line in some editors only.
_TURNS = re.compile("[\u202a-\u202e\u2066-\u2069]")
_DECEIVES = re.compile("[\v\f\x1c-\x1e\x85\u2028\u2029\u202a-\u202e\u2066-\u2069]")

_FOREIGN_PAIRS: dict[tuple[str, str], tuple[str, str, str]] = {
    ("*", "*"): ("PD005", "CARET", "^"),
    ("=", "<"): ("PD004", "RELATION", "<="),
    ("=", ">"): ("PD004", "RELATION", ">="),
    ("<", ">"): ("PD004", "RELATION", "!="),
    ("==", "="): ("PD004", "RELATION", "=="),
    (":", "="): ("PD004", "EQUAL", "="),
}
_SECOND_OF_PAIRS = frozenset(second for _, second in _FOREIGN_PAIRS)
_WITH_LETTERS = frozenset({"COMMENT", "TEXT"})
_QUOTES = {"'": "'", "“": "”", "‘": "’", "„": "“", "«": "»", "`": "`"}


def scan(text: str, tables: Tables, collector: Collector) -> list[Token]:
    """The tokens of a text, the last of them END; what is no token is reported to the collector."""
    tokens: list[Token] = []
    matches, ignored, keywords = tables.pattern.match, tables.ignored, tables.keywords
    position, length, strays = 0, len(text), 0
    while position < length and strays < MOST_STRAYS:
        if text[position] == " ":  # most of what is left out, and quicker so than by the pattern
            position += 1
            continue
        match = matches(text, position)
        if match is None:
            strays += 1
            position = _stray(text, position, tokens, collector)
            continue
        kind, word, start, position = str(match.lastgroup), match[0], position, match.end()
        if kind == "NAME":
            tokens.append(Token(keywords.get(word, kind), word, Span(start, position)))
            continue
        if kind in _WITH_LETTERS:
            _check_letters(kind, word, start, collector)
        if kind in ignored:
            continue
        if kind == "SLASH" and text.startswith("/", position):
            position = end_of_line(text, position)
            collector.add("PD001", Span(start, start + 2), found="//", meant="#", what="a comment")
            continue
        span, foreign = Span(start, position), None
        if word in _SECOND_OF_PAIRS and tokens and tokens[-1].span.end == start:
            foreign = _FOREIGN_PAIRS.get((tokens[-1].text, word))
        if foreign is None:
            tokens.append(Token(kind, word, span))
        else:
            _read_as(foreign, tokens.pop().span.to(span), text, tokens, collector)
    end = tokens[-1].span.end if tokens else len(text)
    tokens.append(Token(END, "", Span(end, end)))
    return tokens


def _check_letters(kind: str, word: str, start: int, collector: Collector) -> None:
    """PD037 for letters that make a text look like another one than is read."""
    if word.isascii() and word.isprintable():
        return
    what = "comment" if kind == "COMMENT" else "text"
    for found in (_TURNS if kind == "TEXT" else _DECEIVES).finditer(word):
        turns = _TURNS.match(found.group()) is not None
        effect = (
            "which shows what follows in another order" if turns else "which some editors show as the end of a line"
        )
        place = Span(start + found.start(), start + found.end())
        collector.add("PD037", place, what=what, found=_shown(found.group()), effect=effect)


def _read_as(foreign: tuple[str, str, str], span: Span, text: str, tokens: list[Token], collector: Collector) -> None:
    code, kind, meant = foreign
    collector.add(code, span, found=text[span.start : span.end], meant=meant)
    tokens.append(Token(kind, meant, span))


def _stray(text: str, start: int, tokens: list[Token], collector: Collector) -> int:
    """Report what no terminal matches and read it as well as possible; the position to go on from."""
    character = text[start]
    spelling = next((known for known in _FOREIGN if text.startswith(known, start)), None)
    if spelling is not None:
        end = start + len(spelling)
        _read_as(_FOREIGN[spelling], Span(start, end), text, tokens, collector)
        return end
    line_end = end_of_line(text, start)
    if character == '"':
        end = len(text[start:line_end].rstrip()) + start
        collector.add("PD012", Span(start, end))
        # Without its escapes, which may be broken too: one mistake, one report.
        content = text[start + 1 : end].replace("\\", "")
        tokens.append(Token("TEXT", f'"{content}"', Span(start, end)))
        return end
    if character in _QUOTES:
        close = text.find(_QUOTES[character], start + 1, line_end)
        if close > 0:
            span = Span(start, close + 1)
            collector.add("PD001", span, found=character, meant='"', what="a text")
            tokens.append(Token("TEXT", f'"{text[start + 1 : close]}"', span))
            return close + 1
    if character.isalnum():
        return _foreign_name(text, start, tokens, collector)
    end = start + 1
    while end < line_end and text[end] == character:
        end += 1
    removed = "a statement ends where the next one starts: remove it" if character == ";" else None
    collector.add("PD001", Span(start, end), found=_shown(character), removed=removed)
    return end


def _foreign_name(text: str, start: int, tokens: list[Token], collector: Collector) -> int:
    """A name with a letter that names here do not have: one name, one mistake."""
    end = start
    while end < len(text) and (text[end].isalnum() or text[end] == "_"):
        end += 1
    if tokens and tokens[-1].text.isidentifier() and tokens[-1].span.end == start:
        start = tokens.pop().span.start
    span, name = Span(start, end), text[start:end]
    if all(item.fact.get("name") != name for item in collector if item.code == "PD003"):
        collector.add("PD003", span, name=name)
    tokens.append(Token("NAME", text[start:end], span))
    return end


def _shown(character: str) -> str:
    """A character as itself where it can be seen, else by its code point."""
    if character.isprintable() and not character.isspace():
        return character
    return f"U+{ord(character):04X}"
