"""Terms that are sums of squared norms of models: their gradient is known without a backward pass."""

from __future__ import annotations

from collections.abc import Mapping

from pdual.compiler.constants import Constants
from pdual.compiler.ir import Node


def norm_weights(node: Node, constants: Constants) -> Mapping[str, float] | None:
    """c by model where the node is the sum of c ||theta||^2 over models; None where it is anything else."""
    match node.operation:
        case "norm":
            return {node.name: 1.0}
        case "negate":
            return _times(norm_weights(node.arguments[0], constants), -1.0)
        case "multiply":
            for one, other in (node.arguments, node.arguments[::-1]):
                if one.constant:
                    return _times(norm_weights(other, constants), float(constants.value(one)))
        case "divide" if node.arguments[1].constant:
            return _times(norm_weights(node.arguments[0], constants), 1.0 / float(constants.value(node.arguments[1])))
        case "add" | "subtract":
            left, right = (norm_weights(argument, constants) for argument in node.arguments)
            if left is None or right is None:
                return None
            sign = 1.0 if node.operation == "add" else -1.0
            return {name: left.get(name, 0.0) + sign * right.get(name, 0.0) for name in {**left, **right}}
    return None


def _times(weights: Mapping[str, float] | None, factor: float) -> Mapping[str, float] | None:
    return None if weights is None else {name: factor * weight for name, weight in weights.items()}
