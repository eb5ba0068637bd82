"""Exact rewrites made while a node is built; each keeps value and gradient.

They serve two ends: a range rule meets its exact form (``x * x`` is a square), and the program does less work (gathers go after
element-wise work on the smaller side, constants disappear).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from pdual.compiler.ir import Node, Scalar
from pdual.dsl.operations import OPERATIONS


class Maker(Protocol):
    """What a rewrite builds with: the graph's ``Builder``."""

    def __call__(self, operation: str, *arguments: Node) -> Node:
        """Apply a primitive."""

    def known(self, operation: str, *arguments: Node) -> Node | None:
        """The node of a primitive, if it was made already."""

    def number(self, value: float) -> Node:
        """A constant."""

    def select(self, base: Node, index: Node) -> Node:
        """``base[index]``."""


_LARGEST = 2**53  # above it, whole numbers are kept as real ones


def simplified(maker: Maker, operation: str, arguments: Sequence[Node]) -> Node | None:
    """A simpler node with the same value, or None."""
    if arguments and all(argument.operation == "number" for argument in arguments):
        folded = _folded(maker, operation, arguments)
        if folded is not None:
            return folded
    rule = _RULES.get(operation)
    found = rule(maker, *arguments) if rule is not None else None
    return found if found is not None else _after_gather(maker, operation, arguments)


def number_of(node: Node) -> float | None:
    """The value of a constant node."""
    return float(node.number.value) if node.operation == "number" else None


def _folded(maker: Maker, operation: str, arguments: Sequence[Node]) -> Node | None:
    try:
        value: object = OPERATIONS[operation].meaning(*(argument.number.value for argument in arguments))
        # What has no finite value stays as it is written, so that it can be told where.
        if not isinstance(value, bool | int | float) or not math.isfinite(value):
            return None
    except (ArithmeticError, ValueError):
        return None
    # A whole number that tensors cannot hold exactly would wrap around in them.
    return maker.number(float(value) if abs(value) > _LARGEST else value)


def _after_gather(maker: Maker, operation: str, arguments: Sequence[Node]) -> Node | None:
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
    return maker.select(maker(operation, *bases), index)


def _add(maker: Maker, x: Node, y: Node) -> Node | None:
    if number_of(y) == 0 and x.kind is not Scalar.BOOL and _wider(x, y):
        return x
    if number_of(x) == 0 and _wider(y, x):
        return y
    if y.operation == "negate":
        return maker("subtract", x, y.arguments[0])
    return maker("subtract", y, x.arguments[0]) if x.operation == "negate" else None


def _subtract(maker: Maker, x: Node, y: Node) -> Node | None:
    if number_of(y) == 0 and _wider(x, y):
        return x
    if number_of(x) == 0 and _wider(y, x):
        return maker("negate", y)
    if y.operation == "negate":
        return maker("add", x, y.arguments[0])
    if x.operation == "negate" and x.arguments[0].operation != "negate":
        return maker("negate", maker("add", x.arguments[0], y))
    turned = maker.known("subtract", y, x)
    return maker("negate", turned) if turned is not None else None


def _multiply(maker: Maker, x: Node, y: Node) -> Node | None:
    if x is y:
        return maker("square", x)
    for one, other in ((x, y), (y, x)):
        if number_of(one) == 1 and _wider(other, one):
            return other
        if number_of(one) == -1 and _wider(other, one):
            return maker("negate", other)
        if one.operation == "negate":
            return maker("negate", maker("multiply", one.arguments[0], other))
    return None


def _divide(maker: Maker, x: Node, y: Node) -> Node | None:
    return x if number_of(y) == 1 and x.kind is Scalar.REAL else None


def _power(maker: Maker, x: Node, exponent: Node) -> Node | None:
    value = number_of(exponent)
    if value == 1 and _wider(x, exponent):
        return x
    return maker("square", x) if value == 2 and x.kind is Scalar.REAL else None


def _negate(maker: Maker, x: Node) -> Node | None:
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
