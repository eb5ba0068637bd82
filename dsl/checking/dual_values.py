"""The right-hand side of ``dual``: a kind with its cap, or a formula over models."""

from __future__ import annotations

from collections.abc import Mapping

from pdual.dsl import syntax
from pdual.dsl.checking.annotations import has_unknown
from pdual.dsl.checking.constants import number
from pdual.dsl.checking.scope import Place, Scope, is_unknown
from pdual.dsl.checking.settings import call_settings, checked_architecture, name_span
from pdual.dsl.declarations.dual import DualKind
from pdual.dsl.declarations.references import ArchitectureUse, Settings
from pdual.dsl.declarations.registry import FORMULA, duals, held_kinds
from pdual.dsl.diagnostics import Label
from pdual.dsl.near import nearest
from pdual.dsl.operations import FUNCTIONS
from pdual.dsl.spans import Span
from pdual.dsl.typed import HeldDual, TypedExpression
from pdual.dsl.types import ArrayType, Kind, MemberFeatures, RaggedAxis

#: The cap of a dual for which the spec names none, scaled.
DEFAULT_CAP = 1e4


def held_kind(node: syntax.Expression, scope: Scope) -> str | None:
    """The name of the kind, where the value is one and not a formula."""
    function = node.function if isinstance(node, syntax.Call) else node
    if not isinstance(function, syntax.Name) or scope.lookup(function.name) is not None:
        return None
    if is_held(function.name):
        return function.name
    near = nearest(function.name, held_kinds())
    known = isinstance(node, syntax.Call) and (function.name in FUNCTIONS or nearest(function.name, FUNCTIONS))
    return function.name if near is not None and not known else None


def check_held(node: syntax.Expression, kind: str, scope: Scope) -> HeldDual | None:
    """A dual of a kind; None where it was refused."""
    function = node.function if isinstance(node, syntax.Call) else node
    if not is_held(kind):
        kinds = held_kinds()
        there = ", ".join(f"`{item}`" for item in kinds)
        scope.diagnostics.add("PD403", function.span, name=kind, near=nearest(kind, kinds), there=there)
        return None
    declaration = duals()[kind]
    arguments = _arguments(node, declaration, scope) if isinstance(node, syntax.Call) else {}
    if arguments is None:
        return None
    cap = _cap(arguments.get("cap"), declaration, node, scope)
    takes = declaration.arguments
    architecture = _architecture(arguments.get("architecture"), node, scope) if "architecture" in takes else None
    on = _on(arguments.get("on"), node, scope) if "on" in takes else None
    settings = _settings(arguments, declaration, node, scope)
    if (
        cap is None
        or settings is None
        or (architecture is None) == ("architecture" in takes)
        or (on is None) == ("on" in takes)
    ):
        return None
    return HeldDual(kind, cap, architecture, on, settings, node.span)


def is_held(name: str) -> bool:
    """Whether a kind of dual has this name in a spec."""
    return name != FORMULA and name in duals()


def _settings(
    arguments: Mapping[str, syntax.Expression], kind: DualKind, node: syntax.Expression, scope: Scope
) -> Settings | None:
    """The settings of its own that a kind has."""
    own = tuple(
        syntax.Argument(name, value, span=value.span)
        for name, value in arguments.items()
        if name in kind.settings.model_fields
    )
    function = node.function if isinstance(node, syntax.Call) else node
    return call_settings(kind.settings, (), syntax.Call(function, own, span=node.span), kind.name, scope)


def _arguments(node: syntax.Call, declaration: DualKind, scope: Scope) -> dict[str, syntax.Expression] | None:
    kind, allowed = declaration.name, (*declaration.arguments, *declaration.settings.model_fields)
    found: dict[str, syntax.Expression] = {}
    spans: dict[str, Span] = {}
    fits = True
    for position, argument in enumerate(node.arguments):
        name = argument.name
        if name is None and position < len(declaration.arguments):
            name = allowed[position]
        if name is None or name not in allowed:
            there = ", ".join(f"`{item}`" for item in allowed) or None
            near = nearest(name, allowed) if name is not None else None
            if name is None:
                words = {0: "no argument", 1: "one argument"}.get(len(allowed), f"{len(allowed)} arguments")
                scope.diagnostics.add("PD259", argument.span, owner=kind, allowed=words, there=there)
            else:
                scope.diagnostics.add("PD109", name_span(argument), name=name, owner=kind, near=near, there=there)
            fits = False
        elif name in found:
            scope.diagnostics.add(
                "PD111", name_span(argument), Label(spans[name], "first"), name=name, what="a setting"
            )
            fits = False
        else:
            found[name], spans[name] = argument.value, name_span(argument)
    return found if fits else None


def _cap(value: syntax.Expression | None, kind: DualKind, node: syntax.Expression, scope: Scope) -> float | None:
    if "cap" not in kind.arguments:
        return 0.0
    if value is None:
        scope.diagnostics.add("PD409", node.span, kind=kind.name, cap=f"{DEFAULT_CAP:g}")
        return DEFAULT_CAP
    cap = number(value, scope)
    if cap is not None and not 0 < cap < float("inf"):
        scope.diagnostics.add("PD408", value.span, found=f"{cap:g}")
        return None
    return cap


def _architecture(value: syntax.Expression | None, node: syntax.Expression, scope: Scope) -> ArchitectureUse | None:
    if value is None:
        scope.diagnostics.add("PD412", node.span, missing="the architecture that holds it")
        return None
    call = value if isinstance(value, syntax.Call) else syntax.Call(value, (), span=value.span)
    return checked_architecture(call, scope)


def _is_number(array: ArrayType) -> bool:
    return array.element in (Kind.REAL, Kind.COMPLEX, Kind.INT, Kind.BOOL) or has_unknown(array)


def _on(value: syntax.Expression | None, node: syntax.Expression, scope: Scope) -> TypedExpression | None:
    """What a learned dual reads: features, or numbers of the row with axes of one length."""
    if value is None:
        scope.diagnostics.add("PD412", node.span, missing="`on`, what it reads")
        return None
    typed = scope.at(Place.DUAL).typed(value)
    if is_unknown(typed):
        return None
    if isinstance(typed.type, MemberFeatures):
        return typed
    if not isinstance(typed.type, ArrayType) or not _is_number(typed.type):
        scope.diagnostics.add("PD413", value.span, expected="features, or numbers of the row", found=typed.type)
        return None
    ragged = next((axis for axis in typed.type.axes if isinstance(axis, RaggedAxis)), None)
    if ragged is not None:
        expected = "of one length on every row"
        scope.diagnostics.add("PD413", value.span, expected=expected, found=typed.type, ragged=ragged.name)
        return None
    return None if has_unknown(typed.type) else typed
