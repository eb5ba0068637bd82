"""``dual``: which statement holds which part, and how. The most specific statement wins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite

from pdual.dsl import syntax
from pdual.dsl.checking.constants import number
from pdual.dsl.checking.entities import IndexEntity
from pdual.dsl.checking.operators import require_real
from pdual.dsl.checking.reads import labels_read
from pdual.dsl.checking.scope import Place, Scope, is_unknown
from pdual.dsl.checking.setting_values import dotted
from pdual.dsl.checking.settings import checked_architecture
from pdual.dsl.diagnostics import Label
from pdual.dsl.near import nearest
from pdual.dsl.parts import PartShape, part_shapes
from pdual.dsl.typed import Binder, FormulaDual, HeldDual, TypedDual, TypedFamily
from pdual.dsl.types import ArrayType, Kind

KINDS = ("pointwise", "shared", "hybrid", "learned", "penalty", "none")

#: The cap of what no statement holds: wide enough never to bind in a problem whose rows are scaled.
DEFAULT_CAP = 1e4

PartKey = tuple[str, str]


@dataclass(frozen=True, slots=True)
class _Claim:
    """One target of one statement: the parts it claims, and how specific it is."""

    parts: tuple[PartKey, ...]
    level: int
    node: syntax.Dual
    target: syntax.DualTarget


def check_duals(nodes: Sequence[syntax.Dual], families: Sequence[TypedFamily], scope: Scope) -> tuple[TypedDual, ...]:
    """The duals of a block: every part of every family is held exactly once."""
    by_name = {family.name: family for family in families}
    claims = [claim for node in nodes for claim in _claims(node, by_name, scope)]
    winners = _winners(claims, by_name, scope)
    duals: list[TypedDual] = []
    for node in nodes:
        mine = [claim for claim in claims if claim.node is node]
        duals.extend(_held(node, mine, winners, by_name, scope))
    unheld = tuple(part for family in families for part in _parts(family) if part not in winners)
    if unheld:
        duals.append(TypedDual(unheld, HeldDual("pointwise", DEFAULT_CAP), is_default=True))
    return tuple(duals)


def _parts(family: TypedFamily) -> list[PartKey]:
    return [(family.name, shape.name) for shape in shapes_of(family)]


def shapes_of(family: TypedFamily) -> tuple[PartShape, ...]:
    """The parts of a family."""
    is_complex = any(operand.type == ArrayType(Kind.COMPLEX) for operand in family.operands)
    return part_shapes(family.operators, is_complex)


def _claims(node: syntax.Dual, families: Mapping[str, TypedFamily], scope: Scope) -> Iterator[_Claim]:
    for target in node.targets:
        name = target.family.name
        if name == "default" and name not in families:
            yield _Claim(tuple(p for family in families.values() for p in _parts(family)), 0, node, target)
            continue
        family = families.get(name)
        if family is None:
            there = ", ".join(f"`{other}`" for other in families) or None
            scope.found.add("PD401", target.family.span, name=name, near=nearest(name, families), there=there)
            continue
        wanted = tuple(piece.name for piece in target.part)
        shapes = [shape for shape in shapes_of(family) if _matches(wanted, shape)]
        if not shapes:
            has = [shape.name for shape in shapes_of(family) if shape.name]
            shown = ", ".join(f"`{name}.{part}`" for part in has) or None
            near = nearest(".".join(wanted), has)
            span = target.part[0].span.to(target.part[-1].span)
            scope.found.add("PD402", span, name=name, part=".".join(wanted), has=shown, near=near and f"{name}.{near}")
            continue
        yield _Claim(tuple((name, shape.name) for shape in shapes), 1 + len(wanted), node, target)


def _matches(wanted: Sequence[str], shape: PartShape) -> bool:
    own = [piece for piece in (shape.component, shape.side) if piece]
    return [piece for piece in own if piece in wanted] == list(wanted)


def _winners(
    claims: Sequence[_Claim], families: Mapping[str, TypedFamily], scope: Scope
) -> Mapping[PartKey, _Claim]:
    winners: dict[PartKey, _Claim] = {}
    for claim in claims:
        for part in claim.parts:
            other = winners.get(part)
            if other is not None and other.level == claim.level:
                first = Label(other.target.span, "first")
                scope.found.add("PD404", claim.target.span, first, part=".".join(filter(None, part)))
                break
            if other is None or claim.level > other.level:
                winners[part] = claim
    return winners


def _held(
    node: syntax.Dual,
    claims: Sequence[_Claim],
    winners: Mapping[PartKey, _Claim],
    families: Mapping[str, TypedFamily],
    scope: Scope,
) -> Iterator[TypedDual]:
    inside = scope.at(Place.DUAL)
    if is_kind(node.value):
        assert isinstance(node.value, syntax.Call)
        value = check_kind(node.value, inside)
        parts = tuple(part for claim in claims for part in claim.parts if winners.get(part) is claim)
        if value is not None and parts:
            yield TypedDual(parts, value, span=node.span)
        return
    for claim in claims:
        parts = tuple(part for part in claim.parts if winners.get(part) is claim)
        formula = _formula(node, claim.target, families, inside)
        if formula is not None and parts:
            yield TypedDual(parts, formula, span=node.span)


def is_kind(node: syntax.Expression) -> bool:
    """Whether a dual's value is a kind rather than a formula; a near miss of a kind counts."""
    if not isinstance(node, syntax.Call) or not isinstance(node.function, syntax.Name):
        return False
    name = node.function.name
    named = any(argument.name is not None for argument in node.arguments)
    return name in KINDS or (named and nearest(name, KINDS) is not None)


def check_kind(node: syntax.Call, scope: Scope) -> HeldDual | None:
    """``learned(mlp(...), on = features(f), cap = 20)`` and its siblings; None where it was refused."""
    kind = dotted(node.function)
    if kind not in KINDS:
        kinds = ", ".join(f"`{item}`" for item in KINDS)
        scope.found.add("PD408", node.function.span, kind=kind, kinds=kinds, near=nearest(kind, KINDS))
        return None
    allowed = ("architecture", "on", "cap") if kind == "learned" else ("cap",)
    given: dict[str, syntax.Argument] = {}
    for position, argument in enumerate(node.arguments):
        name = argument.name or ("architecture" if kind == "learned" and position == 0 else "cap")
        if name not in allowed or name in given:
            there = ", ".join(f"`{item}`" for item in allowed)
            scope.found.add("PD109", argument.span, name=name, owner=kind, near=nearest(name, allowed), there=there)
            return None
        given[name] = argument
    cap = _cap(given.get("cap"), node, kind, scope)
    if cap is None:
        return None
    held = HeldDual(kind, cap, span=node.span)
    return _learned(held, given, node, scope) if kind == "learned" else held


def _cap(argument: syntax.Argument | None, node: syntax.Call, kind: str, scope: Scope) -> float | None:
    if argument is None:
        if kind not in ("penalty", "none"):
            scope.found.add("PD421", node.span, kind=kind, cap=f"{DEFAULT_CAP:g}")
        return DEFAULT_CAP
    cap = number(argument.value, scope)
    if cap is None:
        return None
    if not cap > 0 or not isfinite(cap):
        scope.found.add("PD403", argument.value.span, found=f"{cap:g}")
        return None
    return cap


def _learned(
    held: HeldDual, given: Mapping[str, syntax.Argument], node: syntax.Call, scope: Scope
) -> HeldDual | None:
    for name in ("architecture", "on"):
        if name not in given:
            scope.found.add("PD409", node.span, name=name)
            return None
    written = given["architecture"].value
    if not isinstance(written, syntax.Call):
        scope.found.add("PD409", written.span, name="architecture")
        return None
    use = checked_architecture(written, scope)
    on = scope.typed(given["on"].value)
    return None if use is None or is_unknown(on) else replace(held, architecture=use, on=on)


def _formula(
    node: syntax.Dual, target: syntax.DualTarget, families: Mapping[str, TypedFamily], scope: Scope
) -> FormulaDual | None:
    family = families.get(target.family.name)
    if family is None:
        scope.found.add("PD410", target.span)
        return None
    if len(target.indices) != len(family.binders):
        label = Label(family.span, "declared")
        expected = _indices(family.binders)
        scope.found.add("PD411", target.span, label, name=family.name, expected=expected, found=len(target.indices) or "none")
        return None
    inner, binders = _bound(target, family, scope)
    value = inner.typed(node.value)
    if is_unknown(value) or not require_real(value, node.value, "a multiplier", inner):
        return None
    shared = sorted(labels_read(value) & {name for operand in family.operands for name in labels_read(operand)})
    if shared:
        scope.found.add("PD420", node.value.span, name=family.name, field=shared[0])
    return FormulaDual(value, binders, span=node.span)


def _bound(
    target: syntax.DualTarget, family: TypedFamily, scope: Scope
) -> tuple[Scope, tuple[Binder, ...]]:
    binders = []
    for name, binder in zip(target.indices, family.binders, strict=True):
        own = replace(binder, identity=scope.context.identity(), name=name.name, where=None, span=name.span)
        binders.append(own)
        scope = scope.extended(name.name, IndexEntity(own), name.span)
    return scope, tuple(binders)


def _indices(binders: Sequence[Binder]) -> str:
    if not binders:
        return "no index"
    return ", ".join(f"{binder.name} in {binder.axis}" for binder in binders)
