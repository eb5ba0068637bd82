"""How many operations stand on top of each other in a value, and how many it has written out: what walks it by recursion needs as much
room, and as much time.
"""

from __future__ import annotations

from pdual.dsl.checking.scope import Context, Extent
from pdual.dsl.checking.walking import children
from pdual.dsl.typed import Apply, LetRef, ModelCall, Reduce, TypedExpression

#: Operations that a call of a model or a reduction takes as long to look at as.
_HEAVY = 16


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


def extent_of(expression: TypedExpression, context: Context) -> Extent:
    """The extent of an expression; what is inside it was measured before it."""
    known = context.extents.get(id(expression))
    if known is not None:
        return known[1]
    inside = [extent_of(child, context) for child in children(expression)]
    is_product = isinstance(expression, Apply) and expression.operation in ("multiply", "divide")
    own = _HEAVY if isinstance(expression, ModelCall | Reduce) else 1
    found = Extent(own + sum(item.size for item in inside), sum(item.factors for item in inside) if is_product else 1)
    context.extents[id(expression)] = expression, found  # kept alive: its identity is the key
    return found
