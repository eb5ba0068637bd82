"""Recognises a join: a filter that says which member of an outer index an inner index belongs to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pdual.compiler.attributes import IndexAxis
from pdual.compiler.ir import Node
from pdual.dsl import typed


def conjuncts(condition: typed.TypedExpression | None) -> list[typed.TypedExpression]:
    """The conditions that must all hold."""
    if condition is None:
        return []
    if isinstance(condition, typed.Apply) and condition.operation == "and":
        return [piece for argument in condition.arguments for piece in conjuncts(argument)]
    return [condition]


def join_key(
    condition: typed.TypedExpression, indices: Mapping[int, Node], axis: IndexAxis
) -> tuple[int, typed.TypedExpression] | None:
    """For ``image(g) == i``: the identity of the outer index ``i`` and the expression of its image; None when it is no join.

    ``axis`` is the axis being reduced; the outer index must be a plain index on another one.
    """
    if not (isinstance(condition, typed.Apply) and condition.operation == "equal"):
        return None
    for outer, image in _both_ways(condition.arguments):
        if not isinstance(outer, typed.IndexRef) or outer.binder.identity not in indices:
            continue
        node = indices[outer.binder.identity]
        if node.operation == "index" and node.axes[0] != axis and not _mentions(image, outer.binder.identity):
            return outer.binder.identity, image
    return None


def _both_ways(
    arguments: tuple[typed.TypedExpression, ...],
) -> Iterator[tuple[typed.TypedExpression, typed.TypedExpression]]:
    left, right = arguments
    yield left, right
    yield right, left


def _mentions(expression: typed.TypedExpression, identity: int) -> bool:
    match expression:
        case typed.IndexRef(binder=binder):
            return binder.identity == identity
        case typed.Select(base=base, indices=chosen):
            return any(_mentions(piece, identity) for piece in (base, *chosen))
        case typed.Apply(arguments=arguments):
            return any(_mentions(piece, identity) for piece in arguments)
        case typed.GivenRef() | typed.Literal() | typed.ParamRef() | typed.FieldRef():
            return False
    return True
