"""Types as they are written, and ranges: names resolved to sets."""

from __future__ import annotations

from pdual.dsl import syntax
from pdual.dsl.checking.scope import UNKNOWN_SET, Context
from pdual.dsl.near import nearest
from pdual.dsl.spans import Span
from pdual.dsl.types import (
    ArrayType,
    Axis,
    Element,
    FixedAxis,
    GraphType,
    Kind,
    MemberOf,
    OpenAxis,
    RaggedAxis,
    SetAxis,
    Type,
)

KINDS = tuple(kind.value for kind in Kind)
OPEN = "_"


def array_type(node: syntax.ArrayTypeName, context: Context) -> ArrayType:
    """``complex[bus]``; a set that is not there was reported and becomes the unknown set."""
    element = element_type(node.element, node.span, context)
    return ArrayType(element, tuple(axis_type(axis, context) for axis in node.axes))


def element_type(name: str, span: Span, context: Context) -> Element:
    """``real``, or a member of a set."""
    if name in KINDS:
        return Kind(name)
    if name in context.tables.sets:
        context.mark("set", name)
        return MemberOf(name)
    near = nearest(name, [*KINDS, *context.tables.sets])
    context.diagnostics.add("PD102", Span(span.start, span.start + len(name)), name=name, what="type or set", near=near)
    return MemberOf(UNKNOWN_SET)


def axis_type(node: syntax.Name | syntax.Number, context: Context) -> Axis:
    """A set, a fixed size, ``_``, or a ragged axis."""
    if isinstance(node, syntax.Number):
        if not node.integer or node.value < 1:
            context.diagnostics.add("PD237", node.span, found=f"{node.value:g}")
            return SetAxis(UNKNOWN_SET)
        return FixedAxis(int(node.value))
    if node.name == OPEN:
        return OpenAxis()
    if node.name in context.tables.sets:
        context.mark("set", node.name)
        return SetAxis(node.name)
    if node.name in context.tables.ragged:
        return RaggedAxis(node.name)
    near = nearest(node.name, [*context.tables.sets, *context.tables.ragged])
    context.diagnostics.add("PD102", node.span, name=node.name, what="set", near=near)
    return SetAxis(UNKNOWN_SET)


def graph_type(node: syntax.GraphTypeName, context: Context) -> GraphType:
    """``graph { node: real[dim] }``."""
    fields: list[tuple[str, ArrayType]] = []
    for declaration in node.fields:
        if not isinstance(declaration.type, syntax.ArrayTypeName):
            context.diagnostics.add(
                "PD238", declaration.type.span, where="the values on a graph", found="a nested type"
            )
            continue
        array = array_type(declaration.type, context)
        fields.extend((name.name, array) for name in declaration.names)
    return GraphType(tuple(fields))


def value_type(node: syntax.TypeName, context: Context, where: str) -> ArrayType | GraphType:
    """An array or a graph: a field of a data set, an argument of a model. A record is refused there."""
    if isinstance(node, syntax.ArrayTypeName):
        return array_type(node, context)
    if isinstance(node, syntax.GraphTypeName):
        return graph_type(node, context)
    context.diagnostics.add("PD238", node.span, where=where, found="a record")
    return ArrayType(MemberOf(UNKNOWN_SET))


def has_unknown(type: Type) -> bool:
    """Whether a set in it was already reported."""
    if isinstance(type, GraphType):
        return any(has_unknown(array) for _, array in type.fields)
    if not isinstance(type, ArrayType):
        return False
    return type.element == MemberOf(UNKNOWN_SET) or SetAxis(UNKNOWN_SET) in type.axes
