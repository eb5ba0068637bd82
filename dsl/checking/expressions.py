"""The type of every expression: one function a kind of node."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pdual.dsl import syntax
from pdual.dsl.checking.calls import type_call
from pdual.dsl.checking.heights import extent_of
from pdual.dsl.checking.indexing import type_index
from pdual.dsl.checking.lookup import type_member, type_name
from pdual.dsl.checking.operators import type_binary, type_compare, type_conditional, type_unary
from pdual.dsl.checking.reductions import type_reduction
from pdual.dsl.checking.scope import DEEPEST, HIGHEST, LARGEST, MOST_EXPANSIONS, Place, Scope, unknown
from pdual.dsl.typed import Literal, TypedExpression
from pdual.dsl.types import INT, REAL, TEXT


def type_expression(node: syntax.Expression, scope: Scope) -> TypedExpression:
    """The checked expression; of unknown type where it was refused, so that nothing is told twice."""
    if scope.depth > DEEPEST:
        scope.diagnostics.add("PD232", node.span, what="an expression is nested", limit=DEEPEST)
        return unknown(node.span)
    value = _RULES[type(node)](node, scope)
    size, factors, height = extent_of(value, scope.context)
    if size > LARGEST or factors > HIGHEST:
        scope.context.expansions = MOST_EXPANSIONS + 1  # no more of them: it is told once
        what = "functions written out, one value applies operations" if size > LARGEST else "numbers are multiplied"
        scope.diagnostics.add("PD232", node.span, what=what, limit=LARGEST if size > LARGEST else HIGHEST)
        return unknown(node.span)
    # A let is measured where it is defined, with the lets it is built on.
    if height > HIGHEST and scope.depth == 0 and scope.place is not Place.LET:
        scope.diagnostics.add("PD232", node.span, what="values are built on each other", limit=HIGHEST)
        return unknown(node.span)
    return value


def _type_number(node: syntax.Number, scope: Scope) -> TypedExpression:
    return Literal(INT, int(node.value), span=node.span) if node.integer else Literal(REAL, node.value, span=node.span)


def _type_text(node: syntax.Text, scope: Scope) -> TypedExpression:
    return Literal(TEXT, node.value, span=node.span)


def _type_list(node: syntax.ListOf, scope: Scope) -> TypedExpression:
    scope.diagnostics.add("PD258", node.span)
    return unknown(node.span)


_RULES: Mapping[type, Callable[[Any, Scope], TypedExpression]] = {
    syntax.Number: _type_number,
    syntax.Text: _type_text,
    syntax.Name: type_name,
    syntax.Member: type_member,
    syntax.Index: type_index,
    syntax.Call: type_call,
    syntax.Unary: type_unary,
    syntax.Binary: type_binary,
    syntax.Compare: type_compare,
    syntax.Conditional: type_conditional,
    syntax.Reduction: type_reduction,
    syntax.ListOf: _type_list,
}
