"""``expect``: statements about a split that are checked after the run and never used in training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import nan
from typing import TypeAlias

import torch
from torch import Tensor

from pdual.dsl import typed
from pdual.dsl.operations import OPERATIONS
from pdual.runtime.evaluation.measured_averages import MeasuredAverages
from pdual.runtime.evaluation.metrics import Measured
from pdual.runtime.evaluation.violations import Violations, families
from pdual.runtime.storage.records import TOLERANCE

Number: TypeAlias = "float | Tensor"

_RELATIONS = {"<=": "at_most", ">=": "at_least", "==": "equal", "<": "below", ">": "above", "!=": "unequal"}


@dataclass(frozen=True, slots=True)
class Expectation:
    """Whether a statement held, with the value of each of its sides."""

    name: str
    data: str
    split: str
    holds: bool
    values: tuple[float, ...]
    operators: tuple[str, ...]


def check_expectation(
    expect: typed.TypedExpect,
    measured: Mapping[str, Measured],
    params: Mapping[str, float | int | str],
    averages: MeasuredAverages | None = None,
) -> Expectation:
    """Check one statement against a measured split of its data set, and the constraints on ``averages`` over that split; what
    is said of one whose rows the split does not have is not a number, and does not hold.
    """
    item = _Split([item for item in measured.values() if item.program.of == expect.data], averages)
    values = tuple(float(_value(operand, item, params)) for operand in expect.operands)
    pairs = zip(expect.operators, values[:-1], values[1:], strict=True)
    holds = all(bool(OPERATIONS[_RELATIONS[operator]].meaning(left, right)) for operator, left, right in pairs)
    return Expectation(expect.name, expect.data, expect.split, holds, values, expect.operators)


@dataclass(frozen=True, slots=True)
class _Split:
    """What a statement may be about: the rows of a data set, groups of them, and averages."""

    measured: Sequence[Measured]
    averages: MeasuredAverages | None

    def violations(self, family: str) -> Violations:
        """Where a family is; any where it has no part."""
        profiles = [item.violations for item in self.measured]
        return next((item for item in profiles if family in families(item.layout)), profiles[0])

    def metric(self, name: str) -> Tensor:
        """One number a row, or a group."""
        return next(item.result.metrics[name] for item in self.measured if name in item.result.metrics)


def _value(expression: typed.TypedExpression, item: _Split, params: Mapping[str, float | int | str]) -> Number:
    """One number a split, or one a row ([rows])."""
    match expression:
        case typed.Literal(value=value):
            return float(value)
        case typed.ParamRef(name=name):
            return float(params[name])
        case typed.FamilyStatistic(kind=kind, family=family, tolerance=tolerance, average=True):
            return _average(item.averages, kind, family, tolerance)
        case typed.FamilyStatistic(kind=kind, family=family, tolerance=tolerance):
            return _family(item.violations(family), kind, family, tolerance)
        case typed.RowStatistic(function=function, argument=argument, level=level):
            return _statistic(function, torch.as_tensor(_value(argument, item, params)), level)
        case typed.Apply(operation=name, arguments=arguments):
            return _apply(name, [_value(argument, item, params) for argument in arguments])
        case typed.LetRef(definition=definition):
            return item.metric(definition.name).double()
    raise AssertionError(f"not a statement about a split: {expression}")


def _family(violations: Violations, kind: str, family: str, tolerance: float | None) -> Number:
    parts = families(violations.layout).get(family, [])  # none where every bound is infinite: nothing is violated
    if kind == "viol":
        return violations.largest(parts).double()
    columns = violations.columns(parts)
    live = violations.live[:, columns]
    violated = (
        violations.violated[:, columns]
        if tolerance is None or tolerance == TOLERANCE
        else violations.violation[:, columns] > tolerance
    )
    return float((violated & live).sum()) / max(1, int(live.sum()))


def _average(measured: MeasuredAverages | None, kind: str, name: str, tolerance: float | None) -> Number:
    """Of a constraint on averages, whose violations are those of one row; not a number where a mean of it is over no rows."""
    if measured is None:
        return nan
    violations = measured.violations
    if not bool(violations.live[0, violations.columns(families(violations.layout).get(name, []))].all()):
        return nan
    found = _family(violations, kind, name, tolerance)
    return float(found[0]) if isinstance(found, Tensor) else found


def _statistic(function: str, values: Tensor, level: float | None) -> float:
    if function == "quantile":
        assert level is not None
        return float(torch.quantile(values.double(), level))
    return float(values.double().mean() if function == "mean" else values.max())


def _apply(name: str, arguments: list[Number]) -> Number:
    if any(isinstance(argument, Tensor) for argument in arguments):
        emit = OPERATIONS[name].emit
        assert emit is not None, name
        result: Tensor = emit()(*(torch.as_tensor(argument, dtype=torch.float64) for argument in arguments))
        return result
    try:
        return float(OPERATIONS[name].meaning(*arguments))
    except (ArithmeticError, ValueError):  # of what was measured: an expectation of no value does not hold
        return nan
