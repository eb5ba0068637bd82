"""Specs that must mean the same as another one, or something that is known: by rewriting typed expressions, texts, and the world."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import world
from drafts import World
from spelling import LABELS
from strategies import apply, real

from pdual.dsl.declarations.known import Known
from pdual.dsl.typed import (
    Aggregate,
    Apply,
    Binder,
    IndexRef,
    LetRef,
    ModelCall,
    OutputOf,
    Reduce,
    Select,
    TypedExpression,
    TypedFamily,
)
from pdual.dsl.types import ArrayType, MemberOf, RecordType, SetAxis, Type

# --- expressions ---------------------------------------------------------------------------------------------


def rebuilt(
    node: TypedExpression, leaf: Callable[[TypedExpression], TypedExpression | None], binder: Callable[[Binder], Binder]
) -> TypedExpression:
    """The expression with what ``leaf`` replaces, from the top, and every index of a reduction as ``binder`` makes it."""
    found = leaf(node)
    if found is not None:
        return found

    def inner(child: Any) -> Any:
        return rebuilt(child, leaf, binder)

    match node:
        case Apply(arguments=arguments) | Aggregate(arguments=arguments) | ModelCall(arguments=arguments):
            return replace(node, arguments=tuple(map(inner, arguments)))
        case Select(base=base, indices=indices):
            return replace(node, base=inner(base), indices=tuple(map(inner, indices)))
        case Reduce(binders=binders, body=body):
            return replace(node, binders=tuple(binder(filtered(item, inner)) for item in binders), body=inner(body))
        case OutputOf(call=call):
            return replace(node, call=inner(call))
    return node


def filtered(binder: Binder, change: Callable[[TypedExpression], TypedExpression]) -> Binder:
    """The index with its filter changed."""
    return binder if binder.where is None else replace(binder, where=change(binder.where))


def inlined(expression: TypedExpression, at: Mapping[int, TypedExpression] | None = None) -> TypedExpression:
    """The expression with the body of every let in its place; ``at`` is what its indices stand for."""
    members = at or {}

    def leaf(node: TypedExpression) -> TypedExpression | None:
        match node:
            case IndexRef(binder=binder):
                return members.get(binder.identity, node)
            case Select(base=LetRef(definition=definition), indices=indices):
                places = [inlined(index, members) for index in indices]
                names = [binder.identity for binder in definition.binders]
                return inlined(definition.body, dict(zip(names, places, strict=True)))
            case LetRef(definition=definition):
                return inlined(definition.body)
        return None

    return rebuilt(expression, leaf, lambda binder: binder)


def always(binder: Binder, condition: TypedExpression) -> Binder:
    """The index with one more condition, which holds."""
    return replace(binder, where=condition if binder.where is None else apply("and", binder.where, condition))


def everywhere_filtered(expression: TypedExpression, condition: TypedExpression) -> TypedExpression:
    """The expression with a condition that holds in every reduction over a set, outside of lets."""

    def change(binder: Binder) -> Binder:
        return always(binder, condition) if isinstance(binder.axis, SetAxis) else binder

    return rebuilt(expression, lambda node: None, change)


# --- families ------------------------------------------------------------------------------------------------

TURNED = {"<=": ">=", ">=": "<=", "==": "=="}


def over_all(family: TypedFamily, change: Callable[[TypedExpression], TypedExpression]) -> TypedFamily:
    """The family with every operand and every filter changed."""
    binders = tuple(filtered(binder, change) for binder in family.binders)
    return replace(family, binders=binders, operands=tuple(map(change, family.operands)))


def turned(family: TypedFamily) -> TypedFamily:
    """``b >= a`` for ``a <= b``."""
    return replace(
        family,
        operators=tuple(TURNED[sign] for sign in reversed(family.operators)),
        operands=tuple(reversed(family.operands)),
    )


def apart(family: TypedFamily) -> tuple[TypedFamily, TypedFamily]:
    """A two-sided family as two, ``first`` and ``second`` in the order of writing."""
    (one, two), (left, middle, right) = family.operators, family.operands
    return (
        replace(family, name="first", operators=(one,), operands=(left, middle)),
        replace(family, name="second", operators=(two,), operands=(middle, right)),
    )


def multiplied(family: TypedFamily, factor: float) -> TypedFamily:
    """Every operand times a number above 0."""
    return over_operands(family, lambda operand: apply("multiply", real(factor), operand))


def over_operands(family: TypedFamily, change: Callable[[TypedExpression], TypedExpression]) -> TypedFamily:
    """The family with every operand changed."""
    return replace(family, operands=tuple(map(change, family.operands)))


# --- texts ---------------------------------------------------------------------------------------------------


def renamed(text: str) -> str:
    """Indices, lets and the row under other names; names of the world have no digits, but for labels, which stay."""
    text = re.sub(r"\b([ab]|let)(\d+)\b", lambda m: f"other_{len(m[1])}{m[1]}_{m[2]}", text)
    text = re.sub(r"\bt(\d+)\b", r"piece_\1", text)
    return re.sub(r"\br\.", "sample.", text).replace("over r in rows", "over sample in rows")


# --- the world -----------------------------------------------------------------------------------------------

#: Which old member stands at each place.
ORDER: Mapping[str, Sequence[int]] = {"a": (2, 0, 1), "b": (1, 0)}
BACK: Mapping[str, Sequence[int]] = {name: [order.index(k) for k in range(len(order))] for name, order in ORDER.items()}


def permuted(value: Any, kind: Type, order: Mapping[str, Sequence[int]], axis: int = 0) -> Any:
    """A value with the members of its axes, and members that it holds, in another order."""
    if isinstance(kind, RecordType):
        return {name: permuted(value[name], inner, order) for name, inner in kind.fields}
    assert isinstance(kind, ArrayType)
    if axis < len(kind.axes):
        here = kind.axes[axis]
        places = order[here.set] if isinstance(here, SetAxis) else range(len(value))
        return [permuted(value[place], kind, order, axis + 1) for place in places]
    return list(order[kind.element.set]).index(value) if isinstance(kind.element, MemberOf) else value


def _permuted_models(model: str, arguments: tuple[Any, ...]) -> Any:
    inputs = world.SIGNATURES[model].inputs
    plain = tuple(permuted(value, kind, BACK) for value, (_, kind) in zip(arguments, inputs, strict=True))
    return permuted(world.models(model, plain), world.MODEL_TYPES[model], ORDER)


PERMUTED = World(
    labels={name: [LABELS[name][place] for place in order] for name, order in ORDER.items()},
    known=Known(
        sets={name: [world.SETS[name][place] for place in order] for name, order in ORDER.items()},
        fields={name: permuted(world.KNOWN.fields[name], kind, ORDER) for name, kind in world.GIVEN.items()},
    ),
    rows=[{name: permuted(row[name], kind, ORDER) for name, kind in world.FIELDS.items()} for row in world.ROWS],
    models=_permuted_models,
)
