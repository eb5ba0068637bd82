"""Values that are known before any data: parameters, settings, the ends of a range."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TypeAlias

from pdual.dsl import syntax
from pdual.dsl.checking.annotations import has_unknown
from pdual.dsl.checking.scope import Place, Scope, is_unknown
from pdual.dsl.checking.walking import children
from pdual.dsl.operations import OPERATIONS
from pdual.dsl.typed import Apply, Literal, ParamRef, TypedExpression
from pdual.dsl.types import ArrayType

Constant: TypeAlias = float | int | bool | str


class _NotConstantError(Exception):
    """Carries the part of an expression that only the data or a model tell."""

    def __init__(self, part: TypedExpression) -> None:
        self.part = part


def constant(node: syntax.Expression, scope: Scope) -> Constant | None:
    """The value of an expression over literals and parameters; None where it was refused."""
    typed = scope.at(Place.CONSTANT).typed(node)
    if is_unknown(typed):
        return None
    try:
        value = _value(typed, scope.context.tables.param_values)
    except _NotConstantError as error:
        scope.diagnostics.add("PD223", error.part.span)
        return None
    except (ArithmeticError, ValueError) as error:
        scope.diagnostics.add("PD224", node.span, reason=_reason(error))
        return None
    if isinstance(value, complex) or (isinstance(value, float) and math.isnan(value)):
        scope.diagnostics.add("PD224", node.span, reason="the result is not a real number")
        return None
    return value


def number(node: syntax.Expression, scope: Scope) -> float | None:
    """A constant that has to be a number."""
    value = constant(node, scope)
    if value is None:
        return None
    if isinstance(value, str | bool):
        scope.diagnostics.add("PD212", node.span, what="this", found="text" if isinstance(value, str) else "bool")
        return None
    return float(value)


def interval(node: syntax.Interval | None, scope: Scope) -> tuple[float | None, float | None]:
    """Both ends of ``in [lo, hi]``; (None, None) where there is none or it was refused."""
    if node is None:
        return None, None
    low, high = number(node.low, scope), number(node.high, scope)
    if low is not None and high is not None and low > high:
        scope.diagnostics.add("PD222", node.span, low=f"{low:g}", high=f"{high:g}")
        return None, None
    return low, high


def _value(expression: TypedExpression, params: Mapping[str, Constant]) -> Constant:
    if isinstance(expression, Literal):
        return expression.value
    if isinstance(expression, ParamRef):
        return params[expression.name]
    if isinstance(expression, Apply) and isinstance(expression.type, ArrayType) and not has_unknown(expression.type):
        arguments = [_value(argument, params) for argument in expression.arguments]
        result: Constant = OPERATIONS[expression.operation].meaning(*arguments)
        return result
    raise _NotConstantError(expression)


def has_finite_constants(expression: TypedExpression, scope: Scope) -> bool:
    """Whether what stands in an expression and is known before any data has finite values; PD224 where not."""
    try:
        value = _value(expression, scope.context.tables.param_values)
        reason = None
        if isinstance(value, complex) or (isinstance(value, float) and not math.isfinite(value)):
            reason = "the result is not a finite number"
    except _NotConstantError:
        found = [has_finite_constants(child, scope) for child in children(expression)]  # all of them: each is told
        return all(found)
    except (ArithmeticError, ValueError) as error:
        reason = _reason(error)
    if reason is not None:
        scope.diagnostics.add("PD224", expression.span, reason=reason)
    return reason is None


def _reason(error: Exception) -> str:
    if isinstance(error, ZeroDivisionError):
        return "it divides by zero"
    if isinstance(error, OverflowError):
        return "the result is too large"
    return "an argument is outside the function's domain"
