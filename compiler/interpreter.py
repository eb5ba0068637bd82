"""The reference interpreter: the second meaning of a checked spec, in scalar loops over rows and indices.

It shares nothing with the compiler but the scalar meaning of each operation, and it needs neither torch nor
numpy. Models are opaque: their outputs are handed to it. Where the two differ on a program, one of them is
wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import inf

from pdual.compiler.interpreter_expressions import is_constant, same_in_every_row, size_of, value_of
from pdual.compiler.interpreter_scope import (
    Environment,
    EvaluationError,
    GroupValues,
    Models,
    Remembered,
    RowValues,
    Scope,
    Value,
)
from pdual.dsl.checking.walking import walk
from pdual.dsl.operations import OPERATIONS, REDUCTIONS
from pdual.dsl.parts import PartShape, part_shapes
from pdual.dsl.record import record
from pdual.dsl.typed import (
    Apply,
    Binder,
    Reduce,
    TypedAverage,
    TypedBlock,
    TypedExpression,
    TypedFamily,
    TypedMetric,
)
from pdual.dsl.types import ArrayType, Kind

__all__ = [
    "Environment",
    "EvaluationError",
    "GroupValues",
    "Models",
    "Remembered",
    "RowEntry",
    "RowValues",
    "Value",
    "average_of",
    "evaluate",
    "is_constant",
    "metric_of",
    "objective_of",
    "rows_of",
]


@record(frozen=True, slots=True)
class RowEntry:
    """One entry of one part at one row: ``left <= right`` or ``left == right``, in the problem's units.

    ``members``: the position of each of the family's indices. A masked entry is switched off in this row and
    all its numbers are 0.
    """

    part: str
    members: tuple[int, ...]
    left: float
    right: float
    masked: bool = False

    @property
    def residual(self) -> float:
        """``left - right``."""
        return self.left - self.right


def evaluate(
    expression: TypedExpression,
    environment: Environment,
    row: RowValues | GroupValues,
    indices: Mapping[int, int] | None = None,
) -> Value:
    """The value of an expression at one row or group; ``indices``: its free ones by their binder's identity.

    Raises EvaluationError where it has none: outside an operation's domain, or a mean, max or min over none.
    """
    return value_of(expression, Scope(environment, row, dict(indices or {})))


def objective_of(
    block: TypedBlock,
    environment: Environment,
    row: RowValues | GroupValues,
    *,
    scaled: bool = False,
    remembered: Remembered | None = None,
) -> float:
    """The block's term of the objective at one row or group: the sum of its ``minimize`` statements.

    In the problem's units, or each divided by its ``scale`` when ``scaled``. ``remembered`` as of ``rows_of``. Raises
    EvaluationError as ``evaluate`` does.
    """
    scope = _scope(environment, row, remembered)
    total = 0.0
    for objective in block.objectives:
        unit = value_of(objective.scale, scope) if scaled and objective.scale is not None else 1.0
        total += value_of(objective.value, scope) / unit
    return total


def metric_of(
    metric: TypedMetric,
    environment: Environment,
    row: RowValues | GroupValues,
    remembered: Remembered | None = None,
) -> float:
    """A metric at one row or group; a truth value counts as 0 or 1. Raises EvaluationError."""
    return float(value_of(metric.value, _scope(environment, row, remembered)))


def rows_of(
    family: TypedFamily,
    environment: Environment,
    row: RowValues | GroupValues,
    remembered: Remembered | None = None,
) -> list[RowEntry]:
    """The entries of a family at one row: part by part, in each by its indices, the last fastest.

    An entry does not exist where a filter turns it away in every row, whatever its fields, or where its bound
    is the same in every row and infinite (``left`` is -inf or ``right`` is inf: nothing is asked). What only
    this row turns away is masked. ``remembered``: what the statements of one spec share at one row, the values of lets
    and calls; without one, nothing is shared. Raises EvaluationError as ``evaluate`` does.
    """
    complex_valued = any(_is_complex(operand) for operand in family.operands)
    entries = list(_entries(family.binders, family.operands, _scope(environment, row, remembered)))
    return [
        entry
        for shape in part_shapes(family.operators, complex_valued)
        for scope, masked in entries
        if (entry := _entry(family, shape, scope, masked)) is not None
    ]


def _scope(environment: Environment, row: RowValues | GroupValues, remembered: Remembered | None) -> Scope:
    return Scope(environment, row, {}, {} if remembered is None else remembered)


def average_of(
    average: TypedAverage, environment: Environment, rows: Mapping[str, Sequence[RowValues]]
) -> list[RowEntry]:
    """The parts of a constraint on averages over rows by data set, as ``rows_of`` gives those of a family at one row.

    Raises EvaluationError as ``evaluate`` does, and where a mean is over no rows.
    """
    nowhere = Scope(environment, RowValues({}), {})
    means = {id(mean): _mean_over(mean, environment, rows) for mean in average.means}

    def operand_of(expression: TypedExpression) -> float:
        if id(expression) in means:
            return means[id(expression)]
        if not isinstance(expression, Apply) or not any(id(inside) in means for inside in walk(expression)):
            return float(value_of(expression, nowhere))
        return float(OPERATIONS[expression.operation].meaning(*map(operand_of, expression.arguments)))

    values = [operand_of(operand) for operand in average.operands]
    return [
        RowEntry(shape.name, (), values[shape.left], values[shape.right])
        for shape in part_shapes(average.operators, complex_valued=False)
        if shape.equality or (values[shape.left] > -inf and values[shape.right] < inf)
    ]


def _mean_over(mean: Reduce, environment: Environment, rows: Mapping[str, Sequence[RowValues]]) -> float:
    (binder,) = mean.binders
    assert binder.rows_of is not None
    kept = [row for row in rows[binder.rows_of] if binder.where is None or evaluate(binder.where, environment, row)]
    if not kept:
        raise Scope(environment, RowValues({}), {}).error("mean over none", mean.span)
    return float(REDUCTIONS["mean"].meaning([evaluate(mean.body, environment, row) for row in kept]))


def _entries(
    binders: Sequence[Binder], used_in: Sequence[TypedExpression], scope: Scope, masked: bool = False
) -> Iterator[tuple[Scope, bool]]:
    """A scope for every entry that exists, and whether this row masks it."""
    if not binders:
        yield scope, masked
        return
    first, rest = binders[0], binders[1:]
    filters = [binder.where for binder in binders if binder.where is not None]
    for position in range(size_of(first, (*filters, *used_in), scope)):
        inner = scope.bind(first, position)
        known = True if first.where is None else _before_rows(first.where, inner)
        if known is False:
            continue
        off = masked or (first.where is not None and known is None and not value_of(first.where, inner))
        yield from _entries(rest, used_in, inner, off)


def _before_rows(condition: TypedExpression, scope: Scope) -> bool | None:
    """The truth of a filter at these indices where it is the same in every row; None where a row decides."""
    if same_in_every_row(condition, scope):
        return bool(value_of(condition, scope))
    if not isinstance(condition, Apply) or condition.operation not in ("and", "or", "not"):
        return None
    known = [_before_rows(argument, scope) for argument in condition.arguments]
    if condition.operation == "not":
        return None if known[0] is None else not known[0]
    deciding = condition.operation == "or"
    if deciding in known:
        return deciding
    return None if None in known else not deciding


def _entry(family: TypedFamily, shape: PartShape, scope: Scope, masked: bool) -> RowEntry | None:
    members = tuple(scope.position(binder) for binder in family.binders)
    left, right = family.operands[shape.left], family.operands[shape.right]
    if not shape.equality and any(
        same_in_every_row(operand, scope) and _component(operand, shape, scope) == nothing_asked
        for operand, nothing_asked in ((left, -inf), (right, inf))
    ):
        return None
    if masked:
        return RowEntry(shape.name, members, 0.0, 0.0, masked=True)
    lower, upper = _component(left, shape, scope), _component(right, shape, scope)
    if not shape.equality and (lower == -inf or upper == inf):
        return RowEntry(shape.name, members, 0.0, 0.0, masked=True)
    return RowEntry(shape.name, members, lower, upper)


def _component(operand: TypedExpression, shape: PartShape, scope: Scope) -> float:
    """The operand's real or imaginary part, as the part of the relation asks; both are of one evaluation."""
    key = ("operand", id(operand), tuple(scope.indices.items()))
    value = scope.remember(key, lambda: value_of(operand, scope))
    return float(value.imag if shape.component == "im" else value.real)


def _is_complex(operand: TypedExpression) -> bool:
    return isinstance(operand.type, ArrayType) and operand.type.element is Kind.COMPLEX
