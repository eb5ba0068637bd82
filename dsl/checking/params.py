"""Parameters: their values in force, after ``--set``, and their declared ranges."""

from __future__ import annotations

from collections.abc import Mapping

from pdual.dsl import syntax
from pdual.dsl.checking.constants import Constant, constant, interval
from pdual.dsl.checking.scope import Scope
from pdual.dsl.near import nearest
from pdual.dsl.spans import Span
from pdual.dsl.typed import TypedParam
from pdual.dsl.types import BOOL, INT, REAL, TEXT, ArrayType

#: Whole numbers above it are no longer exact as real ones.
_LARGEST = 2**53

Overrides = Mapping[str, float | int | str]


def check_param(node: syntax.Param, overrides: Overrides, scope: Scope) -> TypedParam | None:
    """One parameter with its value in force; None where it was refused."""
    default = constant(node.value, scope)
    low, high = interval(node.interval, scope)
    if default is None:
        return None
    name = node.name.name
    type = _type_of(default)
    if node.interval is not None and type not in (INT, REAL):
        scope.diagnostics.add("PD220", node.interval.span, name=name, type=type, found="a range")
        low = high = None
    _check_range(name, default, low, high, node.value.span, scope, "PD221")
    value = default
    if name in overrides:
        given = _converted(overrides[name], type)
        if given is None:
            scope.diagnostics.add("PD240", node.name.span, name=name, type=_worded(type), found=overrides[name])
        else:
            _check_range(name, given, low, high, node.name.span, scope, "PD241")
            value = given
    return TypedParam(name, type, value, default, low, high, name in overrides, node.span)


def check_override_names(overrides: Overrides, declared: Mapping[str, object], scope: Scope) -> None:
    """Refuse ``--set`` of what is no parameter."""
    for name in overrides:
        if name not in declared:
            params = ", ".join(f"`{param}`" for param in declared) or None
            scope.diagnostics.add("PD116", name=name, near=nearest(name, declared), params=params)


def _type_of(value: Constant) -> ArrayType:
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, str):
        return TEXT
    return INT if isinstance(value, int) else REAL


def _worded(type: ArrayType) -> str:
    return {INT: "an integer", REAL: "a number", BOOL: "`true` or `false`"}.get(type, "a text")


def _converted(value: Constant, type: ArrayType) -> Constant | None:
    """The value of ``--set`` as the parameter's type; None where it does not fit. A text may spell a number."""
    if type == TEXT:
        return str(value)
    if type == BOOL:
        return value if isinstance(value, bool) else {"true": True, "false": False}.get(str(value))
    if isinstance(value, str):
        parsed = _parsed(value)
        return None if parsed is None else _converted(parsed, type)
    if isinstance(value, bool) or value != value or (isinstance(value, int) and abs(value) > _LARGEST):
        return None
    if type == INT:
        return int(value) if float(value).is_integer() else None
    return float(value)


def _parsed(text: str) -> int | float | None:
    written = text.strip()
    percent = written.endswith("%")
    try:
        return float(written[:-1]) / 100 if percent else int(written)
    except ValueError:
        pass
    try:
        return float(written)
    except ValueError:
        return None


def _check_range(
    name: str, value: Constant, low: float | None, high: float | None, span: Span, scope: Scope, code: str
) -> None:
    if low is None or high is None or isinstance(value, str):
        return
    if not low <= value <= high:
        scope.diagnostics.add(code, span, name=name, found=f"{value:g}", low=f"{low:g}", high=f"{high:g}")
