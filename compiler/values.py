"""What a typed expression is lowered to: a node, two of them for a complex value, or a model call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from pdual.compiler.attributes import IndexAxis
from pdual.compiler.builder import Builder
from pdual.compiler.ir import Node
from pdual.dsl.declarations.signature import Signature
from pdual.dsl.operations.operation import Pair
from pdual.dsl.record import record


@record(frozen=True, slots=True)
class CallValue:
    """A lowered model call whose outputs have not been taken yet."""

    node: Node
    signature: Signature
    group: IndexAxis | None = None  # the rows of a group it was called on, one call for all


Value: TypeAlias = Node | Pair | CallValue
NodeFunction: TypeAlias = Callable[[Node], Node]


def over(build: Builder, node: Node, axes: Sequence[IndexAxis]) -> Node:
    """The node with these axes, whether or not its value varies along them."""
    missing = [axis for axis in axes if axis not in node.axes]
    if not missing:
        return node
    return build.spread(node, missing)


def nodes_of(value: Value) -> tuple[Node, ...]:
    """The nodes of a value."""
    if isinstance(value, CallValue):
        return (value.node,)
    return (value.re, value.im) if isinstance(value, Pair) else (value,)


def each(value: Value, function: NodeFunction) -> Value:
    """A function of every node of a value."""
    if isinstance(value, CallValue):
        return replace(value, node=function(value.node))
    return Pair(function(value.re), function(value.im)) if isinstance(value, Pair) else function(value)
