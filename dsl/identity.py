"""Which spec a text is: its words, whatever its comments and layout."""

from __future__ import annotations

import hashlib

from pdual.dsl import tables
from pdual.dsl.diagnostics import Collector
from pdual.dsl.scanner import scan


def spec_hash(text: str) -> str:
    """The SHA-256 of a spec's tokens, in hexadecimal: a comment, a blank or a new line does not change it."""
    tokens = scan(text, tables.load(), Collector())
    words = (text[token.span.start : token.span.end] for token in tokens)
    return hashlib.sha256("\n".join(words).encode("utf-8", errors="surrogateescape")).hexdigest()
