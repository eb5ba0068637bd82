"""Repairs of what is wrong, as edits: one diagnostic's fix, and all of a document at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from lsprotocol import types

from pdual.dsl.diagnostics import Diagnostic
from pdual.dsl.fixes import replacement
from pdual.dsl.spans import Span
from pdual.lsp.analysis import Analysis
from pdual.lsp.diagnostics import diagnostics

#: What the server may offer.
KINDS = (types.CodeActionKind.QuickFix, types.CodeActionKind.SourceFixAll)
#: Characters of a text that a title shows.
_SHOWN = 40


def actions(
    analysis: Analysis, uri: str, area: types.Range, only: Sequence[types.CodeActionKind | str] | None
) -> list[types.CodeAction]:
    """The repairs of the mistakes that touch a range, and one of all that can be repaired; ``only``: kinds that are asked for."""
    repairs = [(item, told) for item, told in _repairable(analysis, uri)]
    found: list[types.CodeAction] = []
    if _asked(types.CodeActionKind.QuickFix, only):
        start, end = analysis.positions.offset(area.start), analysis.positions.offset(area.end)
        for item, told in repairs:
            if item.span.start <= end and start <= item.span.end:
                found.append(
                    types.CodeAction(
                        _title(item, analysis),
                        kind=types.CodeActionKind.QuickFix,
                        diagnostics=[told],
                        is_preferred=True,
                        edit=_edit([item], analysis, uri),
                    )
                )
    if repairs and _asked(types.CodeActionKind.SourceFixAll, only):
        title = f"Repair {'the mistake' if len(repairs) == 1 else f'{len(repairs)} mistakes'} that can be"
        every = _edit([item for item, _ in repairs], analysis, uri)
        found.append(types.CodeAction(title, kind=types.CodeActionKind.SourceFixAll, edit=every))
    return found


def _repairable(analysis: Analysis, uri: str) -> Iterator[tuple[Diagnostic, types.Diagnostic]]:
    for item, told in zip(analysis.diagnostics, diagnostics(analysis, uri), strict=True):
        if replacement(item) is not None:
            yield item, told


def _asked(kind: types.CodeActionKind, only: Sequence[types.CodeActionKind | str] | None) -> bool:
    """A kind is asked for by its name and by those above it: `source` asks for `source.fixAll`."""
    return only is None or any(f"{kind.value}.".startswith(f"{_name(item)}.") or not _name(item) for item in only)


def _name(kind: types.CodeActionKind | str) -> str:
    return kind.value if isinstance(kind, types.CodeActionKind) else kind


def _title(item: Diagnostic, analysis: Analysis) -> str:
    old, new = analysis.source.text[item.span.start : item.span.end], replacement(item) or ""
    if not old:
        return f"Insert {_quoted(new)}"
    return f"Replace {_quoted(old)} with {_quoted(new)}" if new else f"Remove {_quoted(old)}"


def _quoted(text: str) -> str:
    line = " ".join(text.split())
    return f"`{line if len(line) <= _SHOWN else line[: _SHOWN - 1] + '…'}`"


def _edit(items: Iterable[Diagnostic], analysis: Analysis, uri: str) -> types.WorkspaceEdit:
    """One edit a place; of places that overlap the first, for no two edits may."""
    edits: list[types.TextEdit] = []
    last: Span | None = None
    for item in sorted(items, key=lambda found: found.span):
        if last is not None and (item.span.start < last.end or item.span == last):
            continue
        last = item.span
        edits.append(types.TextEdit(analysis.positions.range(item.span), replacement(item) or ""))
    return types.WorkspaceEdit(changes={uri: edits})
