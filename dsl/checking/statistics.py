"""Statistics over the rows of a split, which ``expect`` states: ``quantile(viol(flow), 0.99)``."""

from __future__ import annotations

from pdual.dsl import syntax
from pdual.dsl.checking.constants import number
from pdual.dsl.checking.operators import require_real
from pdual.dsl.checking.scope import Scope, unknown
from pdual.dsl.near import nearest
from pdual.dsl.operations import FUNCTIONS
from pdual.dsl.typed import Apply, FamilyStatistic, Literal, ParamRef, RowStatistic, TypedExpression
from pdual.dsl.types import REAL, ArrayType, Kind

#: Each with how it is called.
STATISTICS = {
    "viol": "viol(family)",
    "rate": "rate(family, tolerance)",
    "quantile": "quantile(x, level)",
    "mean": "mean(x)",
    "max": "max(x)",
}
_OF_FAMILIES = ("viol", "rate")


def type_statistic(node: syntax.Call, name: str, scope: Scope) -> TypedExpression:
    """``viol(F)`` of a constraint on rows is one number a row; the others are one number a split."""
    count = len(node.arguments)
    if name == "max" and count == 2:
        arguments = [scope.deeper().typed(argument.value) for argument in node.arguments]
        return Apply(REAL, FUNCTIONS["max"].name, tuple(arguments), span=node.span)
    wanted = STATISTICS[name].count(",") + 1
    if count != wanted and not (name == "rate" and count == 1):
        expected = f"{wanted} argument{'' if wanted == 1 else 's'}"
        scope.diagnostics.add(
            "PD202", node.span, name=name, expected=expected, found=count or "none", signature=STATISTICS[name]
        )
        return unknown(node.span)
    if name in _OF_FAMILIES:
        return _of_family(node, name, scope)
    argument = node.arguments[0].value
    value = scope.deeper().typed(argument)
    if value.type == ArrayType(Kind.BOOL) and name == "mean":
        return RowStatistic(REAL, name, value, None, span=node.span)
    if not require_real(value, argument, f"what `{name}` is taken of", scope):
        return unknown(node.span)
    if not is_per_row(value):
        scope.diagnostics.add("PD256", argument.span, name=name)
        return unknown(node.span)
    if name != "quantile":
        return RowStatistic(REAL, name, value, None, span=node.span)
    level = number(node.arguments[1].value, scope)
    if level is not None and not 0 <= level <= 1:
        scope.diagnostics.add("PD257", node.arguments[1].value.span, what="a level", found=f"{level:g}")
        level = None
    return unknown(node.span) if level is None else RowStatistic(REAL, name, value, level, span=node.span)


def _of_family(node: syntax.Call, name: str, scope: Scope) -> TypedExpression:
    target = node.arguments[0].value
    tables = scope.context.tables
    names = {**tables.families, **tables.averages}
    if isinstance(target, syntax.Name) and target.name in tables.broken:
        return unknown(node.span)
    if not isinstance(target, syntax.Name) or target.name not in names:
        written = target.name if isinstance(target, syntax.Name) else "this"
        near = nearest(written, names)
        scope.diagnostics.add("PD106", target.span, name=written, near=near)
        return unknown(node.span)
    average = target.name in tables.averages
    if name == "viol":
        return FamilyStatistic(REAL, name, target.name, None, average, span=node.span)
    tolerance = number(node.arguments[1].value, scope) if len(node.arguments) == 2 else None
    return FamilyStatistic(REAL, name, target.name, tolerance, average, span=node.span)


def is_per_row(expression: TypedExpression) -> bool:
    """Whether it has one value for every row, not one for the split."""
    match expression:
        case Literal() | ParamRef() | RowStatistic():
            return False
        case FamilyStatistic(kind=kind, average=average):
            return kind == "viol" and not average
        case Apply(arguments=arguments):
            return any(map(is_per_row, arguments))
        case _:
            return True
