"""Exact rewrites made while a node is built; each keeps value and gradient.

They serve two ends: a range rule meets its exact form (``x * x`` is a square), and the program does less work (gathers go after
element-wise work on the smaller side, constants disappear).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from pdual.compiler.ir import Node, Scalar
from pdual.dsl.operations import OPERATIONS

if TYPE_CHECKING:
    from pdual.compiler.builder import Builder


_LARGEST = 2**53  # above it, whole numbers are kept as real ones


def simplified(builder: Builder, operation: str, arguments: Sequence[Node]) -> Node | None:
    """A simpler node with the same value, or None."""
    if arguments and all(argument.operation == "number" for argument in arguments):
        folded = _folded(builder, operation, arguments)
        if folded is not None:
            return folded
    rule = _RULES.get(operation)
    found = rule(builder, *arguments) if rule is not None else None
    return found if found is not None else _after_gather(builder, operation, arguments)


def number_of(node: Node) -> float | None:
    """The value of a constant node."""
    return float(node.attributes[0]) if node.operation == "number" else None


def _folded(builder: Builder, operation: str, arguments: Sequence[Node]) -> Node | None:
    try:
        value: object = OPERATIONS[operation].meaning(*(argument.attributes[0] for argument in arguments))
        # What has no finite value stays as it is written, so that it can be told where.
        if not isinstance(value, bool | int | float) or not math.isfinite(value):
            return None
    except (ArithmeticError, ValueError):
        return None
    # A whole number that tensors cannot hold exactly would wrap around in them.
    return builder.number(float(value) if abs(value) > _LARGEST else value)


def _after_gather(builder: Builder, operation: str, arguments: Sequence[Node]) -> Node | None:
    """``f(a[i], b[i])`` is ``f(a, b)[i]``: worth it when ``i`` is a map, since the smaller array is worked on once."""
    if operation == "negate" or not arguments or any(argument.operation != "select" for argument in arguments):
        return None  # a negation is kept outside, where it disappears into a sum
    index = arguments[0].arguments[1]
    same = all(
        argument.arguments[1] is index
        and not argument.arguments[0].axes
        and argument.ragged is None
        and not argument.inner
        for argument in arguments
    )
    bases = [argument.arguments[0] for argument in arguments]
    if not same or index.batched or index.operation == "number" or any(base.inner != bases[0].inner for base in bases):
        return None
    if index.operation == "index" and len(arguments) > 1:
        return None  # nothing is saved, and `quantity - bound` should stay visible
    return builder.select(builder(operation, *bases), index)


def _add(builder: Builder, x: Node, y: Node) -> Node | None:
    if number_of(y) == 0 and x.kind is not Scalar.BOOL and _wider(x, y):
        return x
    if number_of(x) == 0 and _wider(y, x):
        return y
    if y.operation == "negate":
        return builder("subtract", x, y.arguments[0])
    return builder("subtract", y, x.arguments[0]) if x.operation == "negate" else None


def _subtract(builder: Builder, x: Node, y: Node) -> Node | None:
    if number_of(y) == 0 and _wider(x, y):
        return x
    if number_of(x) == 0 and _wider(y, x):
        return builder("negate", y)
    if y.operation == "negate":
        return builder("add", x, y.arguments[0])
    if x.operation == "negate" and x.arguments[0].operation != "negate":
        return builder("negate", builder("add", x.arguments[0], y))
    turned = builder.known("subtract", y, x)
    return builder("negate", turned) if turned is not None else None


def _multiply(builder: Builder, x: Node, y: Node) -> Node | None:
    if x is y:
        return builder("square", x)
    for one, other in ((x, y), (y, x)):
        if number_of(one) == 1 and _wider(other, one):
            return other
        if number_of(one) == -1 and _wider(other, one):
            return builder("negate", other)
        if one.operation == "negate":
            return builder("negate", builder("multiply", one.arguments[0], other))
    return None


def _divide(builder: Builder, x: Node, y: Node) -> Node | None:
    return x if number_of(y) == 1 and x.kind is Scalar.REAL else None


def _power(builder: Builder, x: Node, exponent: Node) -> Node | None:
    value = number_of(exponent)
    if value == 1 and _wider(x, exponent):
        return x
    return builder("square", x) if value == 2 and x.kind is Scalar.REAL else None


def _negate(builder: Builder, x: Node) -> Node | None:
    return x.arguments[0] if x.operation == "negate" else None


def _wider(kept: Node, dropped: Node) -> bool:
    """Whether dropping one operand leaves the kind of the result as it was."""
    return kept.kind is Scalar.REAL or kept.kind is dropped.kind


_RULES: Mapping[str, Callable[..., Node | None]] = {
    "add": _add,
    "subtract": _subtract,
    "multiply": _multiply,
    "divide": _divide,
    "power": _power,
    "negate": _negate,
}
