"""Operators: arithmetic, comparisons and their chains, truth values, choice."""

from __future__ import annotations

from collections.abc import Sequence

from pdual.dsl import syntax
from pdual.dsl.checking.entities import IndexEntity
from pdual.dsl.checking.indexing import typed_as_member, written
from pdual.dsl.checking.lookup import CONSTANTS, TRUTHS
from pdual.dsl.checking.scope import DEEPEST, UNKNOWN_SET, Scope, is_unknown, unknown
from pdual.dsl.operations import OPERATIONS, OPERATORS, Operation
from pdual.dsl.spans import Span
from pdual.dsl.typed import Apply, Literal, TypedExpression
from pdual.dsl.types import ArrayType, Axis, Element, Kind, MemberOf, RaggedAxis, SetAxis, Type

_EQUALITIES = ("==", "!=")


def type_unary(node: syntax.Unary, scope: Scope) -> TypedExpression:
    """``-a`` and ``not a``; a negated literal is a literal."""
    operand = scope.deeper().typed(node.operand)
    if node.operator == "-" and isinstance(operand, Literal) and type(operand.value) in (int, float):
        return Literal(operand.type, -operand.value, span=node.span)  # type: ignore[operator]
    return apply(OPERATORS[node.operator, 1], node.operator, (operand,), (node.operand,), node.span, scope)


def type_binary(node: syntax.Binary, scope: Scope) -> TypedExpression:
    """``a + b`` and its like. The left spine of a long sum is walked, not descended into."""
    spine: list[syntax.Binary] = [node]
    while isinstance(spine[-1].left, syntax.Binary):
        spine.append(spine[-1].left)
    inner = scope.deeper()
    left_node: syntax.Expression = spine[-1].left
    left = inner.typed(left_node)
    for binary in reversed(spine):
        right = inner.typed(binary.right)
        left = _binary(binary, left, left_node, right, scope)
        left_node = binary
    return left


def _binary(
    node: syntax.Binary, left: TypedExpression, left_node: syntax.Expression, right: TypedExpression, scope: Scope
) -> TypedExpression:
    if node.operator == "^" and isinstance(right, Literal) and right.value == 2 and not isinstance(right.value, bool):
        return apply(OPERATIONS["square"], "^", (left,), (left_node,), node.span, scope)
    operation = OPERATORS[node.operator, 2]
    return apply(operation, node.operator, (left, right), (left_node, node.right), node.span, scope)


def type_compare(node: syntax.Compare, scope: Scope) -> TypedExpression:
    """``a <= b``; a chain ``a <= b <= c`` means ``a <= b and b <= c``."""
    inner = scope.deeper()
    if len(node.operators) > DEEPEST:
        scope.diagnostics.add("PD232", node.span, what="relations are chained", limit=DEEPEST)
        return unknown(node.span)
    operands = _operands(node, inner)
    found: TypedExpression | None = None
    for position, operator in enumerate(node.operators):
        pair, nodes = operands[position : position + 2], node.operands[position : position + 2]
        span = nodes[0].span.to(nodes[1].span)
        part = compare(operator, pair, nodes, span, scope)
        found = part if found is None else apply(OPERATIONS["and"], "and", (found, part), nodes, node.span, scope)
    assert found is not None
    return found


def _operands(node: syntax.Compare, scope: Scope) -> list[TypedExpression]:
    """What is compared; a label beside a member of a set is read as that member: ``d.label == 3``, ``j == left``."""
    labels = [_may_be_label(operand, scope) for operand in node.operands]
    found = [
        unknown(operand.span) if is_label else scope.typed(operand)
        for operand, is_label in zip(node.operands, labels, strict=True)
    ]
    for position, operand in enumerate(node.operands):
        if labels[position]:
            element = _member_beside(position, node.operators, found)
            found[position] = typed_as_member(operand, element, scope) if element else scope.typed(operand)
    return found


def _may_be_label(node: syntax.Expression, scope: Scope) -> bool:
    """Whether it is a number, or a name without a value."""
    if isinstance(node, syntax.Number):
        return True
    return isinstance(node, syntax.Name) and node.name not in {**CONSTANTS, **TRUTHS} and not scope.lookup(node.name)


def _member_beside(position: int, operators: Sequence[str], found: Sequence[TypedExpression]) -> MemberOf | None:
    """The set that a neighbour is a member of, where the two are asked to be equal."""
    for beside, between in ((position - 1, position - 1), (position + 1, position)):
        if 0 <= between < len(operators) and operators[between] in _EQUALITIES:
            element = None if is_unknown(found[beside]) else _element(found[beside].type)
            if isinstance(element, MemberOf):
                return element
    return None


def compare(
    operator: str, pair: Sequence[TypedExpression], nodes: Sequence[syntax.Expression], span: Span, scope: Scope
) -> TypedExpression:
    """One comparison; a real number against a complex one is refused, whatever the operator."""
    elements = [_element(operand.type) for operand in pair]
    if operator in _EQUALITIES and elements.count(Kind.COMPLEX) == 1 and set(elements) & {Kind.REAL, Kind.INT}:
        scope.diagnostics.add("PD210", span, operator=operator, left=elements[0], right=elements[1])
        return unknown(span)
    return apply(OPERATORS[operator, 2], operator, pair, nodes, span, scope)


def type_conditional(node: syntax.Conditional, scope: Scope) -> TypedExpression:
    """``a if c else b``."""
    inner = scope.deeper()
    condition, then, otherwise = inner.typed(node.condition), inner.typed(node.then), inner.typed(node.otherwise)
    if not is_unknown(condition) and condition.type != ArrayType(Kind.BOOL):
        scope.diagnostics.add("PD207", node.condition.span, found=condition.type)
        return unknown(node.span)
    nodes = (node.condition, node.then, node.otherwise)
    return apply(OPERATIONS["where"], "if", (condition, then, otherwise), nodes, node.span, scope)


def apply(
    operation: Operation,
    shown: str,
    arguments: Sequence[TypedExpression],
    nodes: Sequence[syntax.Expression],
    span: Span,
    scope: Scope,
) -> TypedExpression:
    """An element-wise operation on scalars, after its type rule; ``shown`` is how the spec wrote it."""
    if any(is_unknown(argument) for argument in arguments):
        return unknown(span)
    scalars = [require_scalar(argument, node, scope) for argument, node in zip(arguments, nodes, strict=True)]
    if not all(scalars):
        return unknown(span)
    elements = [argument.type.element for argument in arguments if isinstance(argument.type, ArrayType)]
    if MemberOf(UNKNOWN_SET) in elements:
        return unknown(span)
    result = operation.result(elements)
    if result is None:
        _report(operation, shown, elements, span, scope)
        return unknown(span)
    return Apply(ArrayType(result), operation.name, tuple(arguments), span=span)


def _report(operation: Operation, shown: str, elements: Sequence[Element], span: Span, scope: Scope) -> None:
    members = [element for element in elements if isinstance(element, MemberOf)]
    if shown in _EQUALITIES and len(members) == 2:
        scope.diagnostics.add("PD245", span, left=members[0], right=members[1])
        return
    order = "complex numbers have no order" if shown in ("<", ">", "<=", ">=") and Kind.COMPLEX in elements else None
    found = " and ".join(f"`{element}`" for element in elements)
    scope.diagnostics.add("PD201", span, shown=shown, expected=operation.expects, found=found, order=order)


def require_scalar(expression: TypedExpression, node: syntax.Expression, scope: Scope) -> bool:
    """Whether it is one value; a whole array or a record where one value is wanted is reported."""
    if is_unknown(expression):
        return False
    if isinstance(expression.type, ArrayType):
        if not expression.type.axes:
            return True
        name = written(expression, node)
        indices = [_index_for(axis, scope) for axis in expression.type.axes]
        carried = f"{name}[{', '.join(map(str, indices))}]" if None not in indices else None
        axis = expression.type.axes[0]
        over_one = len(indices) == 1 and isinstance(axis, SetAxis | RaggedAxis)
        reduced = f"sum[i in {axis}]({name}[i])" if over_one else None
        if not isinstance(node, syntax.Name | syntax.Member):
            carried = reduced = None
        scope.diagnostics.add("PD203", node.span, name=name, type=expression.type, carried=carried, reduced=reduced)
        return False
    scope.diagnostics.add("PD246", node.span, found=expression.type)
    return False


def _index_for(axis: Axis, scope: Scope) -> str | None:
    """An index in reach that ranges over the axis."""
    indices = ((name, entity.binder) for name, entity in scope.reachable() if isinstance(entity, IndexEntity))
    return next((name for name, binder in indices if binder.axis == axis), None)


def require_real(expression: TypedExpression, node: syntax.Expression, what: str, scope: Scope) -> bool:
    """Whether it is one real number; anything else is reported as ``what`` should be real."""
    if not require_scalar(expression, node, scope):
        return False
    element = _element(expression.type)
    if element in (Kind.REAL, Kind.INT):
        return True
    if element != MemberOf(UNKNOWN_SET):
        scope.diagnostics.add("PD212", node.span, what=what, found=element)
    return False


def _element(type: Type) -> Element | None:
    return type.element if isinstance(type, ArrayType) and not type.axes else None
