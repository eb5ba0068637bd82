"""Index sets that the spec lists: ``0..n - 1`` or ``{a, b}``."""

from __future__ import annotations

from pdual.dsl import syntax
from pdual.dsl.checking.constants import constant
from pdual.dsl.checking.scope import Scope
from pdual.dsl.diagnostics import Label
from pdual.dsl.spans import Span
from pdual.dsl.typed import TypedSet

#: A set whose members carry their own names is never near this.
MOST_MEMBERS = 1_000_000


def check_set(node: syntax.SetDeclaration, scope: Scope) -> TypedSet:
    """A set with the labels of its members, in order; empty where they were refused."""
    name = node.name.name
    if node.low is None or node.high is None:
        return TypedSet(name, _members(node, scope), None, node.name.span)
    low, high = _end(node.low, scope), _end(node.high, scope)
    if low is None or high is None:
        return TypedSet(name, None, None, node.name.span)
    span = node.low.span.to(node.high.span)
    if low > high:
        scope.diagnostics.add("PD228", span, low=low, high=high)
        return TypedSet(name, None, None, node.name.span)
    if high - low >= MOST_MEMBERS:
        scope.diagnostics.add("PD272", span, name=name, size=f"{high - low + 1:,}", limit=f"{MOST_MEMBERS:,}")
        return TypedSet(name, None, None, node.name.span)
    return TypedSet(name, tuple(map(str, range(low, high + 1))), None, node.name.span)


def _end(node: syntax.Expression, scope: Scope) -> int | None:
    """A whole number over parameters; None where it was refused."""
    value = constant(node, scope)
    if value is None:
        return None
    if isinstance(value, bool | str) or value < 0 or not float(value).is_integer():
        scope.diagnostics.add("PD276", node.span, found=str(value).lower() if isinstance(value, bool) else value)
        return None
    return int(value)


def _members(node: syntax.SetDeclaration, scope: Scope) -> tuple[str, ...]:
    seen: dict[str, Span] = {}
    for member in node.members:
        if member.name in seen:
            labels = Label(seen[member.name], "first")
            scope.diagnostics.add("PD111", member.span, labels, name=member.name, what="a member")
        seen.setdefault(member.name, member.span)
    return tuple(seen)
