"""How generated expressions and families are written in the language's own words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pdual.dsl.operations import OPERATIONS
from pdual.dsl.typed import (
    Aggregate,
    Apply,
    Binder,
    FieldRef,
    GivenRef,
    IndexRef,
    LetRef,
    Literal,
    ModelCall,
    OutputOf,
    ParamRef,
    Reduce,
    Select,
    TypedExpression,
    TypedFamily,
)
from pdual.dsl.types import ArrayType, MemberOf

#: What the members of the world's sets are called in a text.
LABELS: Mapping[str, Sequence[str]] = {"a": ("la0", "la1", "la2"), "b": ("lb0", "lb1")}


def written(expression: TypedExpression) -> str:
    """An expression in the language's own words, the lets it needs before it."""
    lets: dict[int, str] = {}
    text = spelled(expression, lets)
    return "\n".join([*lets.values(), text])


_INFIX = {operation.name: operation.symbol for operation in OPERATIONS.values() if operation.symbol is not None}


def spelled(node: TypedExpression, lets: dict[int, str]) -> str:
    """An expression; lines of the lets it needs are added to ``lets``."""

    def inner(child: TypedExpression) -> str:
        return spelled(child, lets)

    def listed(children: Sequence[TypedExpression]) -> str:
        return ", ".join(map(inner, children))

    match node:
        case Literal(type=ArrayType(element=MemberOf(set=name)), value=value):
            return LABELS[name][value]
        case Literal(value=value):
            return str(value).lower() if isinstance(value, bool) else f"({value})" if _negative(value) else str(value)
        case ParamRef(name=name) | GivenRef(name=name):
            return name
        case FieldRef(name=name, binder=binder):
            return f"{binder.name if binder else 'r'}.{name}"
        case IndexRef(binder=binder):
            return binder.name
        case LetRef(definition=definition):
            body = spelled(definition.body, lets)
            lets[definition.identity] = f"let {definition.name}{bound(definition.binders, lets)} = {body}"
            return definition.name
        case Apply(operation="where", arguments=(condition, then, otherwise)):
            return f"({inner(then)} if {inner(condition)} else {inner(otherwise)})"
        case Apply(operation="square", arguments=(base,)):
            return f"({inner(base)})^2"
        case Apply(operation=name, arguments=arguments) if name in _INFIX:
            if len(arguments) == 1:
                return f"({_INFIX[name]} {inner(arguments[0])})"
            return f"({inner(arguments[0])} {_INFIX[name]} {inner(arguments[1])})"
        case Apply(operation=name, arguments=arguments) | Aggregate(function=name, arguments=arguments):
            return f"{name}({listed(arguments)})"
        case Select(base=base, indices=indices):
            return f"{inner(base)}[{listed(indices)}]"
        case Reduce(function=function, binders=binders, body=body_):
            return f"{function}{bound(binders, lets)}({inner(body_)})"
        case ModelCall(model=model, arguments=arguments):
            return f"{model}({listed(arguments)})"
        case OutputOf(call=call, name=name):
            return f"{inner(call)}.{name}"
    raise AssertionError(f"not generated: {type(node).__name__}")


def _negative(value: Any) -> bool:
    return isinstance(value, int | float) and value < 0


def bound(binders: Sequence[Binder], lets: dict[int, str]) -> str:
    """``[i in a where ..., j in b]``; nothing without an index."""
    if not binders:
        return ""
    pieces = [
        f"{binder.name} in {binder.axis}" + (f" where {spelled(binder.where, lets)}" if binder.where else "")
        for binder in binders
    ]
    return f"[{', '.join(pieces)}]"


def family_text(family: TypedFamily, lets: dict[int, str]) -> str:
    """``name[i in a]: left <= right``; lines of the lets it needs are added to ``lets``."""
    operands = [spelled(operand, lets) for operand in family.operands]
    joined = operands[0] + "".join(
        f" {sign} {right}" for sign, right in zip(family.operators, operands[1:], strict=True)
    )
    return f"{family.name}{bound(family.binders, lets)}: {joined}"
