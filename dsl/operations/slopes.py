"""Ranges of the partial derivatives of every primitive, given the ranges of its arguments: sound as ``interval`` is."""

from __future__ import annotations

from collections.abc import Sequence

from pdual.dsl.operations import OPERATIONS
from pdual.dsl.operations.interval import Interval
from pdual.dsl.operations.operation import Slopes


def slopes(operation: str, arguments: Sequence[Interval]) -> Slopes:
    """The range of the derivative in every argument; None stands for one that does not exist, as at a jump."""
    rule = OPERATIONS[operation].slope
    return (None,) * len(arguments) if rule is None else rule(*arguments)
