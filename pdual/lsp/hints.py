"""Hints between the lines: behind the name of a constraint, how many entries a row has, and their range."""

from __future__ import annotations

from lsprotocol.types import InlayHint, Range

from pdual.explaining import text
from pdual.explaining.records import PartFact
from pdual.lsp.analysis import Analysis
from pdual.lsp.symbols import Kind


def hints(analysis: Analysis, window: Range) -> list[InlayHint]:
    """The hints in a window; none while a spec is wrong, for its numbers would be those of another text."""
    if analysis.meaning is None or not analysis.is_understood:
        return []
    found = []
    for item in analysis.index.occurrences:
        if item.declares and item.symbol.kind is Kind.CONSTRAINT:
            parts = [part for part in analysis.meaning.facts.parts if part.family == item.symbol.name]
            position = analysis.positions.position(item.span.end)
            if parts and window.start.line <= position.line <= window.end.line:
                found.append(InlayHint(position, _label(parts), padding_left=True))
    return found


def _label(parts: list[PartFact]) -> str:
    entries = f"{sum(part.entries for part in parts)}×"
    ranges = [part.range for part in parts if part.range is not None]
    if not ranges:
        return entries
    low, high = min(item[0] for item in ranges), max(item[1] for item in ranges)
    return f"{entries} range {text.between(low, high)}"
