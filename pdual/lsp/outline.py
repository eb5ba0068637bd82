"""The outline of a document: its statements, with what they declare."""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol.types import DocumentSymbol, SymbolKind

from pdual.dsl import syntax
from pdual.dsl.spans import Span
from pdual.lsp.analysis import Analysis
from pdual.lsp.positions import Positions

_KINDS: dict[type[syntax.Node], tuple[SymbolKind, str]] = {
    syntax.Problem: (SymbolKind.Module, "problem"),
    syntax.Param: (SymbolKind.Constant, "param"),
    syntax.SetDeclaration: (SymbolKind.Enum, "set"),
    syntax.Given: (SymbolKind.Namespace, "given"),
    syntax.Data: (SymbolKind.Struct, "data"),
    syntax.Model: (SymbolKind.Function, "model"),
    syntax.Def: (SymbolKind.Function, "def"),
    syntax.Metric: (SymbolKind.Property, "metric"),
    syntax.Expect: (SymbolKind.Event, "expect"),
}


def outline(analysis: Analysis) -> list[DocumentSymbol]:
    """One symbol a statement, in order."""
    positions = analysis.positions
    return [item for statement in analysis.spec.statements for item in _statement(statement, positions)]


def _statement(node: syntax.Statement, at: Positions) -> Iterator[DocumentSymbol]:
    match node:
        case syntax.Over(row=row, data=data, body=body):
            children = [item for statement in body for item in _statement(statement, at)]
            name = f"{row.name} in {data.name}" if node.by is None else f"{row.name} of {data.name} by {node.by.name}"
            yield _symbol(name, SymbolKind.Namespace, "over", node.span, row.span, at, children)
        case syntax.Let(names=names):
            for item in names:
                yield _symbol(item.name, SymbolKind.Variable, "let", node.span, item.span, at)
        case syntax.SubjectTo(constraints=constraints):
            for constraint in constraints:
                called = constraint.name
                yield _symbol(called.name, SymbolKind.Operator, "constraint", constraint.span, called.span, at)
        case syntax.Dual(targets=targets):
            for target in targets:
                family = target.family
                yield _symbol(family.name, SymbolKind.Property, "dual", node.span, family.span, at)
        case syntax.Minimize(span=span):
            yield _symbol("minimize", SymbolKind.Operator, "", span, span, at)
        case syntax.Solve(span=span):
            yield _symbol("solve", SymbolKind.Object, "", span, span, at)
        case _:
            kind, word = _KINDS[type(node)]
            children = list(_fields(node, at)) if isinstance(node, syntax.Given | syntax.Data) else []
            yield _symbol(node.name.name, kind, word, node.span, node.name.span, at, children)


def _fields(node: syntax.Given | syntax.Data, at: Positions) -> Iterator[DocumentSymbol]:
    if isinstance(node, syntax.Given):
        for item in node.sets:
            yield _symbol(item.name, SymbolKind.Enum, "set", item.span, item.span, at)
    for field in node.fields:
        for name in field.names:
            yield _symbol(name.name, SymbolKind.Field, "field", name.span, name.span, at)


def _symbol(
    name: str,
    kind: SymbolKind,
    detail: str,
    span: Span,
    selected: Span,
    at: Positions,
    children: list[DocumentSymbol] | None = None,
) -> DocumentSymbol:
    # A client refuses a selection outside the range.
    whole = at.range(span.to(selected))
    return DocumentSymbol(name, kind, whole, at.range(selected), detail=detail or None, children=children or None)
