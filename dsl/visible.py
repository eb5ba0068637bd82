"""Texts from a user's hands where people read them: what a terminal would obey, and what cannot be seen, becomes a visible sign."""

from __future__ import annotations

SIGN = "\ufffd"


def visible(text: str) -> str:
    """One line without control characters, marks that turn the direction of writing, and surrogates."""
    return text if text.isprintable() else "".join(letter if letter.isprintable() else SIGN for letter in text)


def visible_lines(text: str) -> str:
    """Several lines, which end with LF; tabs are kept."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() or letter in "\n\t" else SIGN for letter in text)


def escaped_json(text: str) -> str:
    """A JSON document that says the same, with every such character as an escape; ``json`` leaves all but the first 32 as they are."""
    if text.isascii() and "\x7f" not in text:
        return text
    return "".join(letter if letter.isprintable() or letter == "\n" else _escape(letter) for letter in text)


def _escape(letter: str) -> str:
    units = letter.encode("utf-16-be", errors="surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
