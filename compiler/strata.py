"""What the indices of a group's means keep, so that a batch can take a part of every group instead of whole ones.

A mean over pairs (a, b) of a group, a from the rows that one filter keeps and b from those another one keeps, is estimated without
bias from a part of the group: rows drawn at random among those that each filter keeps, at least one of each. That holds for a mean,
at the top of a term or in a sum of such terms with constant factors, whose filters need neither a model nor another index, and
(which only the rows tell) keep no row in common.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pdual.compiler.axes import group_binders
from pdual.compiler.ir import Node
from pdual.compiler.lower import Lowering
from pdual.dsl import typed
from pdual.dsl.checking.walking import walk
from pdual.dsl.diagnostics import refuse


def strata_of(terms: Sequence[typed.TypedObjective], lowering: Lowering) -> tuple[tuple[Node, ...], ...]:
    """For every mean in these terms over a group, for every index of it: which rows its filter keeps, a truth value a row.
    Raises PD296 for a term that a part of a group tells with a bias.
    """
    return tuple(
        tuple(_kept(binder, lowering) for binder in mean.binders) for term in terms for mean in _means(term.value)
    )


def _means(term: typed.TypedExpression) -> Iterator[typed.Reduce]:
    """The means that a term is a linear function of."""
    if not any(_of_a_group(item) for item in walk(term, through_lets=True)):
        return
    match term:
        case typed.LetRef(definition=definition) if not definition.binders:
            yield from _means(definition.body)
        case typed.Apply(operation="add" | "subtract" | "negate", arguments=arguments):
            for argument in arguments:
                yield from _means(argument)
        case typed.Apply(operation="multiply", arguments=(left, right)) if _is_fixed(left):
            yield from _means(right)
        case typed.Apply(operation="multiply" | "divide", arguments=(left, right)) if _is_fixed(right):
            yield from _means(left)
        case typed.Reduce(function="mean", binders=binders, body=body) if all(
            binder.rows_of is not None for binder in binders
        ) and not any(_of_a_group(item) for item in walk(body, through_lets=True)):
            yield term
        case _:
            raise refuse("PD296", term.span, reason="what is not a mean over rows of the group, or a sum of means")


def _kept(binder: typed.Binder, lowering: Lowering) -> Node:
    if binder.where is None:
        return lowering.builder.number(True)
    others = group_binders(binder.where).keys() - {binder.identity}
    models = [item for item in walk(binder.where, through_lets=True) if isinstance(item, typed.ModelCall)]
    if others or models:
        reason = "a filter that reads another index" if others else "a filter that asks a model"
        raise refuse("PD296", binder.where.span, reason=reason)
    return lowering.of_a_row(binder.where, binder)


def _of_a_group(expression: typed.TypedExpression) -> bool:
    return isinstance(expression, typed.Reduce) and any(b.rows_of is not None for b in expression.binders)


def _is_fixed(expression: typed.TypedExpression) -> bool:
    """Whether it is the same number for every group and state of the models."""
    varies = (typed.FieldRef, typed.ModelCall, typed.SquaredNorm, typed.RowStatistic, typed.Reduce)
    return not any(isinstance(item, varies) for item in walk(expression, through_lets=True))
