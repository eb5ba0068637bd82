"""Walks over checked expressions."""

from __future__ import annotations

from collections.abc import Iterator

from pdual.dsl.typed import (
    Aggregate,
    Apply,
    FeaturesOf,
    LetRef,
    ModelCall,
    OutputOf,
    Reduce,
    RowStatistic,
    Select,
    TypedExpression,
)


def children(expression: TypedExpression) -> tuple[TypedExpression, ...]:
    """The expressions directly inside one; what a ``let`` stands for is not inside it."""
    match expression:
        case Apply(arguments=arguments) | Aggregate(arguments=arguments) | ModelCall(arguments=arguments):
            return arguments
        case Select(base=base, indices=indices):
            return (base, *indices)
        case Reduce(binders=binders, body=body):
            return (*(binder.where for binder in binders if binder.where is not None), body)
        case OutputOf(call=call) | FeaturesOf(call=call):
            return (call,)
        case RowStatistic(argument=argument):
            return (argument,)
        case _:
            return ()


def walk(*roots: TypedExpression, through_lets: bool = False, into_calls: bool = True) -> Iterator[TypedExpression]:
    """Every expression under the roots, each object once; with ``through_lets`` also what the lets stand for."""
    seen: set[int] = set()
    waiting = list(roots)
    while waiting:
        item = waiting.pop()
        if id(item) in seen:
            continue
        seen.add(id(item))
        yield item
        if isinstance(item, LetRef) and through_lets:
            waiting.append(item.definition.body)
            waiting.extend(b.where for b in item.definition.binders if b.where is not None)
        if into_calls or not isinstance(item, ModelCall):
            waiting.extend(children(item))


def factors_of(expression: TypedExpression, inverse: bool = False) -> list[tuple[TypedExpression, bool]]:
    """The factors of a product, each with whether it divides."""
    if isinstance(expression, Apply) and expression.operation in ("multiply", "divide"):
        left, right = expression.arguments
        divides = expression.operation == "divide"
        return factors_of(left, inverse) + factors_of(right, inverse != divides)
    return [(expression, inverse)]
