"""A multiplier that reads the label of its own constraint. Rows without a label then have no multiplier."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pdual.dsl import syntax
from pdual.dsl.checking.scope import Scope
from pdual.dsl.checking.walking import walk
from pdual.dsl.typed import FieldRef, FormulaDual, HeldDual, ModelCall, TypedExpression, TypedFamily
from pdual.dsl.types import ArrayType, Kind, MemberOf


def report_own_label(
    value: HeldDual | FormulaDual, node: syntax.Dual, families: Sequence[TypedFamily], scope: Scope
) -> None:
    """Warn where the network of a dual is handed a label that the relation of its family uses."""
    read = value.on if isinstance(value, HeldDual) else value.value
    if read is None:
        return
    calls = [item for item in walk(read, through_lets=True) if isinstance(item, ModelCall)]
    handed = [argument for call in calls for argument in call.arguments]
    inputs = _labels(walk(*handed, through_lets=True))
    if isinstance(value, HeldDual):
        inputs |= _labels(walk(read, through_lets=True))
    for family in families:
        compared = _labels(walk(*family.operands, through_lets=True, into_calls=False))
        for name in sorted(inputs & compared):
            scope.diagnostics.add("PD410", node.value.span, field=name, family=family.name)


def _labels(items: Iterable[TypedExpression]) -> set[str]:
    return {item.name for item in items if isinstance(item, FieldRef) and _is_label(item.type)}


def _is_label(type: object) -> bool:
    if not isinstance(type, ArrayType) or type.axes:
        return False
    return type.element is Kind.BOOL or isinstance(type.element, MemberOf)
