"""How many operations stand on top of each other in a value, and how many it has written out: what walks it by recursion needs as much
room, and as much time.
"""

from __future__ import annotations

from pdual.dsl.checking.scope import Context, Extent
from pdual.dsl.checking.walking import children
from pdual.dsl.typed import Apply, LetRef, ModelCall, Reduce, TypedExpression

#: Operations that a call of a model or a reduction takes as long to look at as.
_HEAVY = 16


def extent_of(expression: TypedExpression, context: Context) -> Extent:
    """The extent of an expression; what is inside it was measured before it."""
    known = context.extents.get(id(expression))
    if known is not None:
        return known[1]
    if isinstance(expression, LetRef):
        found = Extent(1, 1, context.heights.get(expression.definition.identity, 0))
    elif below := children(expression):
        sizes, factors, heights = zip(*[extent_of(child, context) for child in below], strict=True)
        is_product = isinstance(expression, Apply) and expression.operation in ("multiply", "divide")
        own = _HEAVY if isinstance(expression, ModelCall | Reduce) else 1
        found = Extent(own + sum(sizes), sum(factors) if is_product else 1, 1 + max(heights))
    else:
        found = Extent(_HEAVY if isinstance(expression, ModelCall) else 1, 1, 1)
    context.extents[id(expression)] = expression, found  # kept alive: its identity is the key
    return found
