"""The value of an expression, one function a node type: the meaning of the language in scalar loops.

Double precision Python numbers; nothing is vectorised, nothing is aligned by position. A reduction is a loop
over its indices in which an index that its filter turns away does not take part; a let is its body under
other names of its indices; ``a if c else b`` looks only at the branch it takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import singledispatch

from pdual.compiler.interpreter_scope import GroupValues, Scope, Value, elements, frozen
from pdual.dsl.checking.walking import children, walk
from pdual.dsl.operations import AGGREGATES, OPERATIONS, REDUCTIONS
from pdual.dsl.operations.reductions import Reduction
from pdual.dsl.typed import (
    Aggregate,
    Apply,
    Binder,
    FamilyStatistic,
    FeaturesOf,
    FieldRef,
    GivenRef,
    IndexRef,
    LetDefinition,
    LetRef,
    Literal,
    ModelCall,
    OutputOf,
    ParamRef,
    Reduce,
    RowStatistic,
    Select,
    SquaredNorm,
    TypedExpression,
    TypedNode,
)
from pdual.dsl.types import ArrayType, Axis, FixedAxis, MemberOf, SetAxis


def value_of(expression: TypedNode, scope: Scope) -> Value:
    """The value of an expression; EvaluationError where it has none."""
    # Tens of thousands of times a row: one look instead of the search that a call of the dispatcher makes.
    return _RULES.get(type(expression), _value_of)(expression, scope)


@singledispatch
def _value_of(expression: TypedNode, scope: Scope) -> Value:
    raise TypeError(f"{type(expression).__name__} is not an expression")


_RULES = _value_of.registry


# --- leaves ------------------------------------------------------------------------------------------------


@_value_of.register
def _literal(expression: Literal, scope: Scope) -> Value:
    """A member of a set written by its label is the position of that label."""
    element = expression.type.element if isinstance(expression.type, ArrayType) else None
    if isinstance(element, MemberOf) and isinstance(expression.value, str):
        return scope.environment.sets[element.set].index(expression.value)
    return expression.value


@_value_of.register
def _param(expression: ParamRef, scope: Scope) -> Value:
    return scope.environment.params[expression.name]


@_value_of.register
def _given(expression: GivenRef, scope: Scope) -> Value:
    return scope.environment.knowns[expression.given].fields[expression.name]


@_value_of.register
def _field(expression: FieldRef, scope: Scope) -> Value:
    return scope.row_at(expression.binder).fields[expression.name]


@_value_of.register
def _index(expression: IndexRef, scope: Scope) -> Value:
    return scope.position(expression.binder)


@_value_of.register
def _squared_norm(expression: SquaredNorm, scope: Scope) -> Value:
    return scope.environment.squared_norms[expression.model]


# --- models ------------------------------------------------------------------------------------------------


@_value_of.register
def _model_call(expression: ModelCall, scope: Scope) -> Value:
    return _called(expression, scope, features=False)


@_value_of.register
def _output(expression: OutputOf, scope: Scope) -> Value:
    return _called(expression.call, scope, features=False)[expression.name]


@_value_of.register
def _features(expression: FeaturesOf, scope: Scope) -> Value:
    return _called(expression.call, scope, features=True)


def _called(call: ModelCall, scope: Scope, features: bool) -> Value:
    """One call with equal arguments is one call, however often it is written."""
    arguments = tuple(value_of(argument, scope) for argument in call.arguments)
    ask = scope.row.features if features else scope.row.models
    return scope.remember(("model", call.model, features, frozen(arguments)), lambda: ask(call.model, arguments))


# --- element-wise ------------------------------------------------------------------------------------------


@_value_of.register
def _apply(expression: Apply, scope: Scope) -> Value:
    arguments = expression.arguments
    match expression.operation:
        case "where":
            condition, then, otherwise = arguments
            return value_of(then if value_of(condition, scope) else otherwise, scope)
        case "and":
            return value_of(arguments[0], scope) and value_of(arguments[1], scope)
        case "or":
            return value_of(arguments[0], scope) or value_of(arguments[1], scope)
    values = [value_of(argument, scope) for argument in arguments]
    try:
        return OPERATIONS[expression.operation].meaning(*values)
    except (ValueError, ArithmeticError) as reason:
        shown = f"{expression.operation}({', '.join(map(str, values))})"
        raise scope.error(f"{shown} has no value: {reason}", expression.span) from reason


# --- arrays ------------------------------------------------------------------------------------------------


@_value_of.register
def _select(expression: Select, scope: Scope) -> Value:
    """Each index takes one leading axis. Of a let only the entry that is asked for is evaluated."""
    base = expression.base
    at = [value_of(index, scope) for index in expression.indices]
    if isinstance(base, LetRef) and len(at) >= len(base.definition.binders):
        own = len(base.definition.binders)
        found = _let_entry(base.definition, at[:own], scope)
        at = at[own:]
    else:
        found = value_of(base, scope)
    for position in at:
        if not 0 <= position < len(found):
            raise scope.error(f"position {position} of {len(found)}", expression.span)
        found = found[position]
    return found


@_value_of.register
def _let(expression: LetRef, scope: Scope) -> Value:
    """The whole array of a let, one level an index."""
    definition = expression.definition

    def from_level(level: int, at: list[int]) -> Value:
        if level == len(definition.binders):
            return _let_entry(definition, at, scope)
        inner = scope.only(definition.binders[:level], at)
        size = size_of(definition.binders[level], (definition.body,), inner)
        return [from_level(level + 1, [*at, position]) for position in range(size)]

    return from_level(0, [])


def _let_entry(definition: LetDefinition, at: Sequence[int], scope: Scope) -> Value:
    """The body of a let at these positions."""
    key = ("let", definition.identity, tuple(at))
    return scope.remember(key, lambda: value_of(definition.body, scope.only(definition.binders, at)))


@_value_of.register
def _aggregate(expression: Aggregate, scope: Scope) -> Value:
    values = [value_of(argument, scope) for argument in expression.arguments]
    try:
        return AGGREGATES[expression.function].meaning(*values)
    except (ValueError, ArithmeticError) as reason:
        raise scope.error(f"{expression.function} has no value: {reason}", expression.span) from reason


# --- indices -----------------------------------------------------------------------------------------------


@_value_of.register
def _reduce(expression: Reduce, scope: Scope) -> Value:
    reduction = REDUCTIONS[expression.function]
    body = expression.body
    kept = [value_of(body, inner) for inner in bindings(expression.binders, (body,), scope)]
    if not kept and reduction.of_none is None:
        raise scope.error(f"{expression.function} over none", expression.span)
    axes = expression.type.axes if isinstance(expression.type, ArrayType) else ()
    try:
        return _reduced(reduction, kept, [_size_of_axis(axis, scope) for axis in axes])
    except (ValueError, ArithmeticError) as reason:
        raise scope.error(f"{expression.function} has no value: {reason}", expression.span) from reason


def _reduced(reduction: Reduction, kept: Sequence[Value], sizes: Sequence[int | None]) -> Value:
    """Arrays are reduced element by element."""
    if not sizes:
        return reduction.meaning(kept) if kept else reduction.of_none
    size = len(kept[0]) if kept else sizes[0]
    if size is None:
        raise ValueError("over none, and of unknown size")
    return [_reduced(reduction, [array[n] for array in kept], sizes[1:]) for n in range(size)]


def _size_of_axis(axis: Axis, scope: Scope) -> int | None:
    if isinstance(axis, SetAxis):
        return len(scope.environment.sets[axis.set])
    return axis.size if isinstance(axis, FixedAxis) else None


def bindings(binders: Sequence[Binder], used_in: Sequence[TypedExpression], scope: Scope) -> Iterator[Scope]:
    """A scope for every combination of positions that the filters keep, the last index fastest.

    A filter may use its own index and those before it. ``used_in``: what the indices are free in.
    """
    if not binders:
        yield scope
        return
    first, rest = binders[0], binders[1:]
    filters = [binder.where for binder in binders if binder.where is not None]
    for position in _kept(first, size_of(first, (*filters, *used_in), scope), scope):
        yield from bindings(rest, used_in, scope.bind(first, position))


def _kept(binder: Binder, size: int, scope: Scope) -> Sequence[int]:
    """The positions, of so many, that a filter keeps; where no row changes them they are found once for all rows."""
    condition = binder.where
    if condition is None:
        return range(size)

    def found() -> Sequence[int]:
        return [position for position in range(size) if value_of(condition, scope.bind(binder, position))]

    if not same_in_every_row(condition, scope):
        return found()
    return scope.environment.remember(("kept", size, *scope.indices.items()), condition, found)


def same_in_every_row(expression: TypedExpression, scope: Scope) -> bool:
    """``is_constant``, found once in an environment."""
    return scope.environment.remember(("constant",), expression, lambda: is_constant(expression))


def is_constant(expression: TypedExpression) -> bool:
    """Whether an expression is the same in every row: no field of it, no model, no let that reads one."""
    varies = (FieldRef, ModelCall, FeaturesOf, SquaredNorm)
    return not any(isinstance(item, varies) for item in walk(expression, through_lets=True))


def size_of(binder: Binder, used_in: Sequence[TypedExpression], scope: Scope) -> int:
    """How many positions an index has: of a set its members, of a group its rows.

    A ragged axis is as long as the arrays on it that the index is used with are, in this row; that they
    differ is an error.
    """
    axis = binder.axis
    size = _size_of_axis(axis, scope)
    if size is not None:
        return size
    if binder.rows_of is not None:
        if not isinstance(scope.row, GroupValues):
            raise TypeError(f"{binder.name} ranges over the rows of a group, and this is a single row")
        return len(scope.row.rows)
    lengths = {length for expression in used_in for length in _lengths(expression, axis, scope)}
    if len(lengths) != 1:
        raise scope.error(f"{axis} has no one length in this row: {sorted(lengths)}", binder.span)
    return lengths.pop()


def _lengths(expression: TypedExpression, axis: Axis, scope: Scope) -> Iterator[int]:
    """The length of ``axis`` in every array on it that can be evaluated before the index is bound."""
    axes = expression.type.axes if isinstance(expression.type, ArrayType) else ()
    if axis in axes and _is_bound(expression, scope):
        depth = axes.index(axis)
        yield from (len(item) for item in elements(value_of(expression, scope), depth))
        return
    for child in children(expression):
        yield from _lengths(child, axis, scope)


def _is_bound(expression: TypedExpression, scope: Scope, local: frozenset[int] = frozenset()) -> bool:
    """Whether every index that is free in an expression stands somewhere."""
    if isinstance(expression, IndexRef):
        return expression.binder.identity in scope.indices or expression.binder.identity in local
    if isinstance(expression, FieldRef) and expression.binder is not None:
        return expression.binder.identity in scope.indices or expression.binder.identity in local
    if isinstance(expression, Reduce):
        local = local | {binder.identity for binder in expression.binders}
    return all(_is_bound(child, scope, local) for child in children(expression))


# --- statistics --------------------------------------------------------------------------------------------


@_value_of.register(FamilyStatistic)
@_value_of.register(RowStatistic)
def _statistic(expression: FamilyStatistic | RowStatistic, scope: Scope) -> Value:
    raise TypeError("a statistic over the rows of a split has no value at one row")
