"""``dual`` statements of a block: which parts each one holds, the most specific winning."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pdual.dsl import syntax
from pdual.dsl.checking.dual_values import DEFAULT_CAP, check_held, held_kind
from pdual.dsl.checking.entities import IndexEntity
from pdual.dsl.checking.leaks import report_own_label
from pdual.dsl.checking.operators import require_real
from pdual.dsl.checking.reductions import check_free
from pdual.dsl.checking.scope import Place, Scope, is_unknown
from pdual.dsl.diagnostics import Label
from pdual.dsl.near import nearest
from pdual.dsl.parts import PartShape, part_shapes
from pdual.dsl.record import record
from pdual.dsl.spans import Span
from pdual.dsl.typed import Binder, FormulaDual, HeldDual, TypedDual, TypedFamily
from pdual.dsl.types import ArrayType, Kind

DEFAULT = "default"

#: How multipliers are held where the spec says nothing.
DEFAULT_KIND = "pointwise"

#: A part of a family, by both names.
Part = tuple[str, str]


@record(frozen=True, slots=True)
class _Claim:
    """What one target claims: parts, and how specific it is (default 0, family 1, side or component 2, part 3)."""

    statement: int
    parts: tuple[Part, ...]
    rank: int
    span: Span


def family_parts(family: TypedFamily) -> tuple[PartShape, ...]:
    """The parts of a family, in the order of rows."""
    is_complex = any(operand.type == ArrayType(Kind.COMPLEX) for operand in family.operands)
    return part_shapes(family.operators, is_complex)


def check_duals(
    nodes: Sequence[syntax.Dual], families: Mapping[str, TypedFamily], broken: set[str], scope: Scope
) -> tuple[TypedDual, ...]:
    """Every part of every family with the statement that holds it; pointwise where there is none."""
    claims = [
        claim
        for position, node in enumerate(nodes)
        for target in node.targets
        for claim in _claims(position, target, families, broken, scope)
    ]
    held, doubled = _holders(claims, scope)
    parts_of: dict[int | None, list[Part]] = {}
    for part in _ordered(families):
        parts_of.setdefault(held.get(part), []).append(part)
    claiming = {claim.statement for claim in claims if claim.parts}
    duals = []
    for position, node in enumerate(nodes):
        mine = tuple(parts_of.get(position, ()))
        if position in claiming and not mine and position not in doubled:
            scope.diagnostics.add("PD402", node.span)
        value = _value(node, families, broken, scope)
        if value is not None and mine:
            duals.append(TypedDual(mine, value, False, node.span))
            report_own_label(value, node, [families[name] for name in dict(mine)], scope)
    free = tuple(parts_of.get(None, ()))
    if free:
        duals.append(TypedDual(free, HeldDual(DEFAULT_KIND, DEFAULT_CAP), True))
    return tuple(duals)


def _ordered(families: Mapping[str, TypedFamily]) -> Iterator[Part]:
    for name, family in families.items():
        for shape in family_parts(family):
            yield name, shape.name


def _claims(
    position: int, target: syntax.DualTarget, families: Mapping[str, TypedFamily], broken: set[str], scope: Scope
) -> Iterator[_Claim]:
    name = target.family.name
    if name == DEFAULT and name not in families:
        yield _Claim(position, tuple(_ordered(families)), 0, target.span)
        return
    if name in broken:
        return
    if name not in families:
        elsewhere = "yes" if name in scope.context.tables.families or name in scope.context.tables.averages else None
        there = ", ".join(f"`{family}`" for family in families) or None
        near = nearest(name, [*families, DEFAULT])
        scope.diagnostics.add("PD106", target.family.span, name=name, near=near, elsewhere=elsewhere, there=there)
        return
    shapes = family_parts(families[name])
    asked = ".".join(part.name for part in target.part)
    matching = [shape for shape in shapes if _covers(asked, shape)]
    if not matching:
        there = ", ".join(f"`{shape.name}`" for shape in shapes if shape.name) or None
        span = target.part[0].span.to(target.part[-1].span)
        candidates = [piece for shape in shapes for piece in (shape.name, shape.side, shape.component) if piece]
        near = nearest(asked, candidates)
        whole = "yes" if there is None else None
        scope.diagnostics.add("PD118", span, name=asked, family=name, there=there, near=near, whole=whole)
        return
    rank = 1 if not asked else 3 if any(shape.name == asked for shape in matching) else 2
    yield _Claim(position, tuple((name, shape.name) for shape in matching), rank, target.span)


def _covers(asked: str, shape: PartShape) -> bool:
    return asked in ("", shape.name, shape.component, shape.side)


def _holders(claims: Sequence[_Claim], scope: Scope) -> tuple[dict[Part, int], set[int]]:
    """The statement that holds each part, and those refused for claiming what an equally specific one has."""
    best: dict[Part, _Claim] = {}
    told: set[tuple[Span, Span]] = set()
    doubled: set[int] = set()
    for claim in claims:
        for part in claim.parts:
            other = best.get(part)
            if other is None or claim.rank > other.rank:
                best[part] = claim
            elif claim.rank == other.rank and (claim.span, other.span) not in told:
                told.add((claim.span, other.span))
                doubled.add(claim.statement)
                name = ".".join(filter(None, part))
                scope.diagnostics.add("PD401", claim.span, Label(other.span, "first"), name=name)
    return {part: claim.statement for part, claim in best.items()}, doubled


def _value(
    node: syntax.Dual, families: Mapping[str, TypedFamily], broken: set[str], scope: Scope
) -> HeldDual | FormulaDual | None:
    targets = [target for target in node.targets if target.family.name in families]
    is_default = any(target.family.name == DEFAULT for target in node.targets) and DEFAULT not in families
    if is_default:
        targets = [
            *targets,
            *(
                syntax.DualTarget(syntax.Name(name, span=node.targets[0].span), span=node.targets[0].span)
                for name in families
            ),
        ]
    kind = held_kind(node.value, scope)
    if kind is not None:
        for target in targets:
            if target.indices:
                _check_indices(target, families[target.family.name], scope)
        return check_held(node.value, kind, scope)
    if any(target.family.name in broken for target in node.targets) or not targets:
        return None
    if not all(_check_indices(target, families[target.family.name], scope) for target in targets):
        return None
    if not _agree(targets, families, scope):
        return None
    return _formula(node, targets[0], families[targets[0].family.name], scope)


def _check_indices(target: syntax.DualTarget, family: TypedFamily, scope: Scope) -> bool:
    """Whether a target names as many indices as its family has."""
    if len(target.indices) == len(family.binders):
        return True
    indices = ", ".join(binder.name for binder in family.binders)
    sets = " and ".join(f"`{binder.axis}`" for binder in family.binders) or "nothing"
    written = ".".join([target.family.name, *(part.name for part in target.part)])
    shown = f"{written}[{indices}]" if indices else written
    found = len(target.indices) or "none"
    scope.diagnostics.add(
        "PD404",
        target.span,
        Label(family.span, "family"),
        family=family.name,
        sets=sets,
        found=f"{found} {'is' if found in (1, 'none') else 'are'} named",
        shown=shown,
    )
    return False


def _agree(targets: Sequence[syntax.DualTarget], families: Mapping[str, TypedFamily], scope: Scope) -> bool:
    """Whether one formula can serve all targets: the same indices over the same sets, under the same names."""
    first = targets[0]
    axes = [binder.axis for binder in families[first.family.name].binders]
    names = [index.name for index in first.indices]
    for target in targets[1:]:
        same = [binder.axis for binder in families[target.family.name].binders] == axes
        if not same or [index.name for index in target.indices] != names:
            scope.diagnostics.add(
                "PD414", target.span, Label(first.span, "first"), left=first.family.name, right=target.family.name
            )
            return False
    return True


def _formula(node: syntax.Dual, target: syntax.DualTarget, family: TypedFamily, scope: Scope) -> FormulaDual | None:
    inner = scope.at(Place.DUAL)
    binders = []
    for index, binder in zip(target.indices, family.binders, strict=True):
        check_free(index.name, index.span, inner)
        named = Binder(scope.context.identity(), index.name, binder.axis, None, binder.rows_of, index.span)
        binders.append(named)
        inner = inner.extended(index.name, IndexEntity(named), index.span)
    value = inner.typed(node.value)
    if is_unknown(value) or not require_real(value, node.value, "a multiplier", inner):
        return None
    return FormulaDual(value, tuple(binders), node.span)
