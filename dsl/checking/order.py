"""Lets are read from top to bottom: a name whose ``let`` stands further down, or that needs itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass

from pdual.dsl import syntax
from pdual.dsl.checking.scope import Scope
from pdual.dsl.diagnostics import Label


def report_later(node: syntax.Name, scope: Scope) -> bool:
    """Record a name that the let in hand, or one below it, declares; False where none does."""
    to_come = scope.context.lets_to_come
    later = to_come.get(node.name)
    if later is None:
        return False
    in_hand = next(iter(to_come.values()))
    circle = _circle(node.name, {name.name for name in in_hand.names}, to_come)
    if circle is None:
        declared = next(name for name in later.names if name.name == node.name)
        scope.diagnostics.add("PD125", node.span, Label(declared.span, "later"), name=node.name)
    else:
        chain = " -> ".join(f"`{name}`" for name in circle)
        scope.diagnostics.add("PD114", node.span, name=circle[0], what="let", chain=chain)
    return True


def _circle(start: str, ends: set[str], lets: Mapping[str, syntax.Let]) -> list[str] | None:
    """The way from a name through what lets read back to the let in hand, closed; None where there is none."""
    came_from: dict[str, str | None] = {start: None}
    waiting = [start]
    while waiting:
        name = waiting.pop(0)
        if name in ends:
            way = [name]
            while (before := came_from[way[0]]) is not None:
                way.insert(0, before)
            return [name, *way]
        for read in names_in(lets[name].value):
            if read in lets and read not in came_from:
                came_from[read] = name
                waiting.append(read)
    return None


def names_in(node: syntax.Expression) -> Iterator[str]:
    """Every bare name in an expression, in no order."""
    waiting: list[object] = [node]
    while waiting:
        item = waiting.pop()
        if isinstance(item, syntax.Name):
            yield item.name
        elif isinstance(item, tuple):
            waiting.extend(item)
        elif is_dataclass(item):
            waiting.extend(getattr(item, part.name) for part in fields(item))
