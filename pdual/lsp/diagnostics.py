"""Diagnostics in the words of the catalogue, as the protocol wants them."""

from __future__ import annotations

from typing import Any

from lsprotocol import types

from pdual.dsl.catalogue import CATALOGUE
from pdual.dsl.diagnostics import Diagnostic, Severity
from pdual.dsl.printer import as_json
from pdual.lsp.analysis import Analysis


def diagnostics(analysis: Analysis, uri: str) -> list[types.Diagnostic]:
    """Everything that is wrong with a document."""
    return [_one(item, analysis, uri) for item in analysis.diagnostics]


def _one(item: Diagnostic, analysis: Analysis, uri: str) -> types.Diagnostic:
    worded = as_json(item, analysis.source)
    is_error = CATALOGUE[item.code].severity is Severity.ERROR
    related = [
        types.DiagnosticRelatedInformation(types.Location(uri, analysis.positions.range(label.span)), said["message"])
        for label, said in zip(item.labels, worded["labels"], strict=True)
    ]
    return types.Diagnostic(
        range=analysis.positions.range(item.span),
        severity=types.DiagnosticSeverity.Error if is_error else types.DiagnosticSeverity.Warning,
        code=item.code,
        source="pdual",
        message=_message(worded),
        related_information=related or None,
    )


def _message(worded: dict[str, Any]) -> str:
    """The statement, then what stands under it on the command line."""
    lines = [worded["message"]]
    lines += [worded["label"]] if worded["label"] else []
    lines += [f"note: {note}" for note in worded["notes"]]
    lines += [f"help: {worded['help']}"] if worded["help"] else []
    return "\n".join(lines)
