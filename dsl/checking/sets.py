"""Index sets that the spec lists: ``0..9`` or ``{a, b}``."""

from __future__ import annotations

from pdual.dsl import syntax
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
    low, high = int(node.low.value), int(node.high.value)
    span = node.low.span.to(node.high.span)
    if low > high:
        scope.found.add("PD228", span, low=low, high=high)
        return TypedSet(name, None, None, node.name.span)
    if high - low >= MOST_MEMBERS:
        scope.found.add("PD272", span, name=name, size=f"{high - low + 1:,}", limit=f"{MOST_MEMBERS:,}")
        return TypedSet(name, None, None, node.name.span)
    return TypedSet(name, tuple(map(str, range(low, high + 1))), None, node.name.span)


def _members(node: syntax.SetDeclaration, scope: Scope) -> tuple[str, ...]:
    seen: dict[str, Span] = {}
    for member in node.members:
        if member.name in seen:
            labels = Label(seen[member.name], "first")
            scope.found.add("PD111", member.span, labels, name=member.name, what="a member")
        seen.setdefault(member.name, member.span)
    return tuple(seen)
