"""The axes of bound indices: over sets and over the rows of a group, and which of these an expression reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from pdual.compiler.attributes import IndexAxis
from pdual.dsl import typed
from pdual.dsl.checking.walking import children
from pdual.dsl.types import ArrayType, RaggedAxis, SetAxis

#: By the identity of a let, the binders it reads, by theirs.
Binders: TypeAlias = dict[int, Mapping[int, typed.Binder]]

#: The axis of the rows of a group, by the name of the group.
GROUP_AXIS = "rows of {}"


def axis_name(binder: typed.Binder) -> str:
    """What the axis of a binder over a set, or over the rows of a group, is called."""
    if binder.rows_of is not None:
        assert isinstance(binder.axis, RaggedAxis)
        return GROUP_AXIS.format(binder.axis.name)
    assert isinstance(binder.axis, SetAxis)
    return binder.axis.set


def group_binders(expression: typed.TypedExpression, lets: Binders | None = None) -> Mapping[int, typed.Binder]:
    """The binders of fields that an expression reads of the rows of a group, through lets too, by their identities.

    ``lets`` remembers what was found in each let, by its identity: one may stand in very many places.
    """
    known: Binders = {} if lets is None else lets
    match expression:
        case typed.FieldRef(binder=binder):
            return {} if binder is None else {binder.identity: binder}
        case typed.Select(base=typed.LetRef(definition=definition), indices=chosen):
            # what the let reads of its own binder, it reads at the index that is chosen
            own = {binder.identity for binder in definition.binders}
            inside = _of_let(definition, known)
            found = {identity: binder for identity, binder in inside.items() if identity not in own}
            parts: Sequence[typed.TypedExpression] = chosen
        case typed.IndexRef(binder=binder):
            return {binder.identity: binder} if binder.rows_of is not None else {}
        case typed.LetRef(definition=definition):
            return _of_let(definition, known)
        case _:
            found, parts = {}, children(expression)
    for part in parts:
        found = {**found, **group_binders(part, known)}
    return found


def _of_let(definition: typed.LetDefinition, known: Binders) -> Mapping[int, typed.Binder]:
    if definition.identity not in known:
        known[definition.identity] = group_binders(definition.body, known)
    return known[definition.identity]


def is_average(expression: typed.Reduce) -> bool:
    """Whether a reduction is over all rows of a data set, not over those of a group."""
    axes = [(binder.rows_of, binder.axis) for binder in expression.binders]
    return any(isinstance(axis, RaggedAxis) and axis.name == data for data, axis in axes)


def is_along_a_row(expression: typed.Reduce | typed.Aggregate) -> bool:
    """Whether it reduces over an axis of another length in every row: the tokens of an answer."""
    if isinstance(expression, typed.Reduce):
        return any(binder.rows_of is None and isinstance(binder.axis, RaggedAxis) for binder in expression.binders)
    types = [argument.type for argument in expression.arguments]
    return any(isinstance(axis, RaggedAxis) for kind in types if isinstance(kind, ArrayType) for axis in kind.axes)


def own_axes(binders: Sequence[typed.Binder]) -> list[IndexAxis | None]:
    """The canonical axes of the binders of a let or a family; None for a ragged one."""
    axes: list[IndexAxis | None] = []
    for binder in binders:
        if isinstance(binder.axis, SetAxis):
            level = sum(axis is not None and axis.set == binder.axis.set for axis in axes)
            axes.append(IndexAxis(binder.axis.set, level))
        else:
            axes.append(None)
    return axes
