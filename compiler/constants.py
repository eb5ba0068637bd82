"""Folds what does not depend on the row: evaluated once in double precision, kept as buffers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from pdual.compiler.emit_nodes import NodeEmitter
from pdual.compiler.ir import Node, Scalar
from pdual.dsl.declarations.known import Known


class Constants:
    """Values of the nodes that are neither batched nor below a model."""

    def __init__(self, knowns: Mapping[str, Known], sizes: Mapping[str, int]) -> None:
        self._knowns = knowns
        self._emitter = NodeEmitter(
            sizes, torch.float64, lambda function, *arguments: function(*arguments), lambda value: value
        )
        self._values: dict[int, Tensor] = {}

    def value(self, node: Node) -> Tensor:
        """The value of a constant node: float64, int64 or bool."""
        found = self._values.get(node.identity)
        if found is None:
            found = self._compute(node)
            self._values[node.identity] = found
        return found

    def _compute(self, node: Node) -> Tensor:
        if node.operation == "number":
            return torch.tensor(node.number.value, dtype=_DTYPES[node.kind])
        if node.operation == "given":
            given, name, component = node.given
            return torch.tensor(_component(self._knowns[given].fields[name], component), dtype=_DTYPES[node.kind])
        value: Tensor = self._emitter.emit(node, [self.value(argument) for argument in node.arguments])
        return value.to(_DTYPES[node.kind])


_DTYPES = {Scalar.REAL: torch.float64, Scalar.INT: torch.int64, Scalar.BOOL: torch.bool}


def _component(values: Any, component: str) -> Any:
    if isinstance(values, Sequence) and not isinstance(values, str):
        return [_component(value, component) for value in values]
    if component == "re":
        return complex(values).real
    return complex(values).imag if component == "im" else values
