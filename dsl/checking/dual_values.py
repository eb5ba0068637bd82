"""The right-hand side of ``dual``: a kind with its cap, or a formula over models."""

from __future__ import annotations

from collections.abc import Mapping

from pdual.dsl import syntax
from pdual.dsl.checking.annotations import has_unknown
from pdual.dsl.checking.constants import number
from pdual.dsl.checking.scope import Place, Scope, is_unknown
from pdual.dsl.checking.settings import checked_architecture, name_span
from pdual.dsl.declarations.references import ArchitectureUse
from pdual.dsl.diagnostics import Label
from pdual.dsl.near import nearest
from pdual.dsl.operations import FUNCTIONS
from pdual.dsl.spans import Span
from pdual.dsl.typed import HeldDual, TypedExpression
from pdual.dsl.types import ArrayType, Kind, MemberFeatures, RaggedAxis

#: The cap of a dual for which the spec names none, scaled.
DEFAULT_CAP = 1e4

#: The kinds with their arguments, in order.
KINDS: Mapping[str, tuple[str, ...]] = {
    "pointwise": ("cap",),
    "shared": ("cap",),
    "hybrid": ("cap",),
    "learned": ("architecture", "on", "cap"),
    "penalty": (),
    "none": (),
}


def held_kind(node: syntax.Expression, scope: Scope) -> str | None:
    """The name of the kind, where the value is one and not a formula."""
    function = node.function if isinstance(node, syntax.Call) else node
    if not isinstance(function, syntax.Name) or scope.lookup(function.name) is not None:
        return None
    if function.name in KINDS:
        return function.name
    near = nearest(function.name, KINDS)
    known = isinstance(node, syntax.Call) and (function.name in FUNCTIONS or nearest(function.name, FUNCTIONS))
    return function.name if near is not None and not known else None


def check_held(node: syntax.Expression, kind: str, scope: Scope) -> HeldDual | None:
    """A dual of a kind; None where it was refused."""
    function = node.function if isinstance(node, syntax.Call) else node
    if kind not in KINDS:
        there = ", ".join(f"`{item}`" for item in KINDS)
        scope.found.add("PD403", function.span, name=kind, near=nearest(kind, KINDS), there=there)
        return None
    arguments = _arguments(node, kind, scope) if isinstance(node, syntax.Call) else {}
    if arguments is None:
        return None
    cap = _cap(arguments.get("cap"), kind, node, scope)
    if kind != "learned":
        return None if cap is None else HeldDual(kind, cap, span=node.span)
    architecture = _architecture(arguments.get("architecture"), node, scope)
    on = _on(arguments.get("on"), node, scope)
    if cap is None or architecture is None or on is None:
        return None
    return HeldDual(kind, cap, architecture, on, node.span)


def _arguments(node: syntax.Call, kind: str, scope: Scope) -> dict[str, syntax.Expression] | None:
    allowed = KINDS[kind]
    found: dict[str, syntax.Expression] = {}
    spans: dict[str, Span] = {}
    fits = True
    for position, argument in enumerate(node.arguments):
        name = argument.name
        if name is None and position < len(allowed):
            name = allowed[position]
        if name is None or name not in allowed:
            there = ", ".join(f"`{item}`" for item in allowed) or None
            near = nearest(name, allowed) if name is not None else None
            if name is None:
                words = {0: "no argument", 1: "one argument"}.get(len(allowed), f"{len(allowed)} arguments")
                scope.found.add("PD259", argument.span, owner=kind, allowed=words, there=there)
            else:
                scope.found.add("PD109", name_span(argument), name=name, owner=kind, near=near, there=there)
            fits = False
        elif name in found:
            scope.found.add("PD111", name_span(argument), Label(spans[name], "first"), name=name, what="a setting")
            fits = False
        else:
            found[name], spans[name] = argument.value, name_span(argument)
    return found if fits else None


def _cap(value: syntax.Expression | None, kind: str, node: syntax.Expression, scope: Scope) -> float | None:
    if "cap" not in KINDS[kind]:
        return 0.0
    if value is None:
        scope.found.add("PD409", node.span, kind=kind, cap=f"{DEFAULT_CAP:g}")
        return DEFAULT_CAP
    cap = number(value, scope)
    if cap is not None and not 0 < cap < float("inf"):
        scope.found.add("PD408", value.span, found=f"{cap:g}")
        return None
    return cap


def _architecture(value: syntax.Expression | None, node: syntax.Expression, scope: Scope) -> ArchitectureUse | None:
    if value is None:
        scope.found.add("PD412", node.span, missing="the architecture that holds it")
        return None
    call = value if isinstance(value, syntax.Call) else syntax.Call(value, (), span=value.span)
    return checked_architecture(call, scope)


def _is_number(found: ArrayType) -> bool:
    return found.element in (Kind.REAL, Kind.COMPLEX, Kind.INT, Kind.BOOL) or has_unknown(found)


def _on(value: syntax.Expression | None, node: syntax.Expression, scope: Scope) -> TypedExpression | None:
    """What a learned dual reads: features, or numbers of the row with axes of one length."""
    if value is None:
        scope.found.add("PD412", node.span, missing="`on`, what it reads")
        return None
    typed = scope.at(Place.DUAL).typed(value)
    if is_unknown(typed):
        return None
    if isinstance(typed.type, MemberFeatures):
        return typed
    if not isinstance(typed.type, ArrayType) or not _is_number(typed.type):
        scope.found.add("PD413", value.span, expected="features, or numbers of the row", found=typed.type)
        return None
    ragged = next((axis for axis in typed.type.axes if isinstance(axis, RaggedAxis)), None)
    if ragged is not None:
        expected = "of one length on every row"
        scope.found.add("PD413", value.span, expected=expected, found=typed.type, ragged=ragged.name)
        return None
    return None if has_unknown(typed.type) else typed
