"""How many operations stand on top of each other in a value: what walks it by recursion needs as much room."""

from __future__ import annotations

from pdual.dsl.checking.scope import Context
from pdual.dsl.checking.walking import children
from pdual.dsl.typed import LetRef, TypedExpression


def height_of(expression: TypedExpression, context: Context) -> int:
    """The height of an expression, what lets stand for included; each object is looked at once, without recursion."""
    found: dict[int, int] = {}
    waiting: list[tuple[TypedExpression, bool]] = [(expression, False)]
    while waiting:
        item, ready = waiting.pop()
        if id(item) in found:
            continue
        if isinstance(item, LetRef):
            found[id(item)] = context.heights.get(item.definition.identity, 0)
            continue
        below = children(item)
        if ready or not below:
            found[id(item)] = 1 + max((found[id(child)] for child in below), default=0)
        else:
            waiting.append((item, True))
            waiting.extend((child, False) for child in below)
    return found[id(expression)]
