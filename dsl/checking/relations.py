"""Relations that must hold: one comparison, or a two-sided one."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from pdual.dsl import syntax
from pdual.dsl.checking.operators import require_real, require_scalar
from pdual.dsl.checking.scope import UNKNOWN_SET, Scope, is_unknown
from pdual.dsl.record import record
from pdual.dsl.spans import Span
from pdual.dsl.typed import Literal, TypedExpression
from pdual.dsl.types import ArrayType, Element, Kind, MemberOf

_TURNED = {"<": "<=", ">": ">="}
_TWO_SIDED = (("<=", "<="), (">=", ">="))


@record(frozen=True, slots=True)
class Relation:
    """Operands and the operators between them, real or complex throughout."""

    operators: tuple[str, ...]
    operands: tuple[TypedExpression, ...]

    @property
    def is_complex(self) -> bool:
        """Whether it compares real parts with real parts and imaginary with imaginary ones."""
        return any(operand.type == ArrayType(Kind.COMPLEX) for operand in self.operands)


def check_relation(node: syntax.Expression, scope: Scope) -> Relation | None:
    """A relation; None where it was refused."""
    if not isinstance(node, syntax.Compare):
        typed = scope.typed(node)
        if not is_unknown(typed):
            scope.diagnostics.add("PD208", node.span, found=f"`{typed.type}`")
        return None
    operands = tuple(scope.typed(operand) for operand in node.operands)
    if not _allowed(node, scope) or any(is_unknown(operand) for operand in operands):
        return None
    scalars = [require_scalar(typed, written, scope) for typed, written in zip(operands, node.operands, strict=True)]
    if not all(scalars) or not _comparable(node, operands, scope):
        return None
    return Relation(node.operators, operands)


def _allowed(node: syntax.Compare, scope: Scope) -> bool:
    """``<=``, ``>=``, ``==``, or two of one direction."""
    operators = node.operators
    for operator in operators:
        if operator in ("<", ">", "!="):
            gap = _between(node, operators.index(operator))
            scope.diagnostics.add("PD209", gap, operator=operator, turned=_TURNED.get(operator))
            return False
    if len(operators) == 1 or operators in _TWO_SIDED:
        return True
    shown = " and ".join(f"`{operator}`" for operator in operators)
    scope.diagnostics.add("PD270", node.span, operators=shown)
    return False


def _between(node: syntax.Compare, position: int) -> Span:
    left, right = node.operands[position : position + 2]
    return left.span.to(right.span)


def _comparable(node: syntax.Compare, operands: Sequence[TypedExpression], scope: Scope) -> bool:
    elements: list[Element] = [operand.type.element for operand in operands if isinstance(operand.type, ArrayType)]
    for element, written in zip(elements, node.operands, strict=True):
        if element not in (Kind.REAL, Kind.INT, Kind.COMPLEX):
            if element != MemberOf(UNKNOWN_SET):
                scope.diagnostics.add("PD211", written.span, found=element)
            return False
    if Kind.COMPLEX not in elements or set(elements) == {Kind.COMPLEX}:
        return True
    left, right = ("complex" if element is Kind.COMPLEX else "real" for element in _differing(elements))
    scope.diagnostics.add("PD210", node.span, operator=node.operators[0], left=left, right=right)
    return False


def _differing(elements: Sequence[Element]) -> tuple[Element, Element]:
    """Two neighbours of which one is complex and the other is not."""
    pairs = itertools.pairwise(elements)
    return next((a, b) for a, b in pairs if (a is Kind.COMPLEX) != (b is Kind.COMPLEX))


def check_scale(node: syntax.Expression | None, scope: Scope) -> TypedExpression | None:
    """What ``scale`` divides by: real, and positive where that can be told."""
    if node is None:
        return None
    typed = scope.typed(node)
    if is_unknown(typed) or not require_real(typed, node, "a scale", scope):
        return None
    if isinstance(typed, Literal) and not float(typed.value) > 0:
        scope.diagnostics.add("PD271", node.span, found=f"{float(typed.value):g}")
        return None
    return typed
