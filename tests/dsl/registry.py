"""What tests of operations do with one that no list of theirs names: it is a function of real numbers, smooth and defined everywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch

from pdual.dsl.operations import OPERATIONS
from pdual.dsl.types import Kind

#: Primitives from real numbers to a real number with a rule for their slope.
SMOOTH = tuple(
    name
    for name, operation in OPERATIONS.items()
    if operation.slope is not None and operation.result([Kind.REAL] * operation.arity) is Kind.REAL
)


def others(names: Iterable[str]) -> tuple[str, ...]:
    """The smooth ones beside these."""
    return tuple(name for name in SMOOTH if name not in set(names))


def differentiated(name: str) -> Callable[..., tuple[float, ...]]:
    """The derivatives of an operation by torch's automatic differentiation of what is emitted."""

    def derivatives(*at: float) -> tuple[float, ...]:
        emit = OPERATIONS[name].emit
        assert emit is not None
        arguments = [torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in at[: OPERATIONS[name].arity]]
        return tuple(float(slope) for slope in torch.autograd.grad(emit()(*arguments), arguments))

    return derivatives
