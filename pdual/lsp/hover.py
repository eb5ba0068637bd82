"""What stands under the cursor: a name of the spec with what is known of it, or a word of the language."""

from __future__ import annotations

from lsprotocol import types

from pdual.dsl.declarations.registry import architectures, sources
from pdual.dsl.spans import Span
from pdual.lsp.analysis import Analysis
from pdual.lsp.cursor import dotted_at, settings_around
from pdual.lsp.telling import told
from pdual.vocabulary import line


def hover(analysis: Analysis, position: types.Position) -> types.Hover | None:
    """Markdown for the name at a position; None where there is nothing to say."""
    offset = analysis.positions.offset(position)
    found = analysis.index.at(offset)
    if found is not None:
        head, *lines = told(found.symbol, analysis)
        return _hover(f"```pdual\n{head}\n```", lines, found.span, analysis)
    word = dotted_at(analysis.source.text, offset)
    if word is None:
        return None
    span, name = word
    said = _setting(name, analysis, span) or _registered(name) or line(name)
    return None if said is None else _hover(said, [], span, analysis)


def _setting(name: str, analysis: Analysis, span: Span) -> str | None:
    """A setting: only where an `=` follows, for its words may be called like one."""
    if not analysis.source.text[span.end :].lstrip().startswith("="):
        return None
    around = settings_around(analysis.source.text[: span.start])
    return None if around is None or name not in around.settings else around.settings[name]


def _registered(name: str) -> str | None:
    for what, registry in (("source", sources()), ("architecture", architectures())):
        if name and name in registry:
            return f"`{name}`, {what}: {registry[name].summary}"
    return None


def _hover(head: str, lines: list[str], span: Span, analysis: Analysis) -> types.Hover:
    content = "\n\n".join([head, *lines])
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, content), analysis.positions.range(span))
