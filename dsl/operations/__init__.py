"""The operations of the language. Reductions and whole-array functions stand in ``reductions``."""

from __future__ import annotations

from collections.abc import Mapping

from pdual.dsl.operations import arithmetic, complex_numbers, elementary, logic, losses
from pdual.dsl.operations.operation import Operation
from pdual.dsl.operations.reductions import AGGREGATES, REDUCTIONS

OPERATIONS: Mapping[str, Operation] = {
    operation.name: operation
    for group in (arithmetic, complex_numbers, elementary, logic, losses)
    for operation in group.OPERATIONS
}

#: Functions that a spec calls by name with element-wise arguments.
FUNCTIONS: Mapping[str, Operation] = {name: operation for name, operation in OPERATIONS.items() if operation.surface}

#: Operators by their symbol and number of operands.
OPERATORS: Mapping[tuple[str, int], Operation] = {
    (operation.symbol, operation.arity): operation for operation in OPERATIONS.values() if operation.symbol is not None
}

__all__ = ["AGGREGATES", "FUNCTIONS", "OPERATIONS", "OPERATORS", "REDUCTIONS", "Operation"]
