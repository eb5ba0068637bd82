"""Which multipliers are held how: resolves duals to columns, features to members, formulas to nodes with ranges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf

from pdual.compiler.axes import own_axes
from pdual.compiler.graph import DataGraph, DualChoice, FormulaNode
from pdual.compiler.interval_analysis import IntervalAnalysis, places
from pdual.compiler.ir import Node, called
from pdual.compiler.layout import Layout, Sense
from pdual.compiler.lower import Lowering
from pdual.compiler.rows import PartRows
from pdual.dsl import typed
from pdual.dsl.checking.walking import children
from pdual.dsl.declarations.registry import FORMULA, duals
from pdual.dsl.diagnostics import Collector, Label
from pdual.dsl.operations.interval import Interval, union
from pdual.dsl.operations.operation import Pair
from pdual.dsl.types import Axis, MemberFeatures, SetAxis


def dual_choices(
    spec: typed.TypedSpec,
    block: typed.TypedBlock,
    layout: Layout,
    parts: Sequence[PartRows],
    lowering: Lowering,
    intervals: IntervalAnalysis,
    overrides: Mapping[str, str],
    features: dict[str, Node],
    diagnostics: Collector,
) -> tuple[DualChoice, ...]:
    """Every dual of a block with the columns it holds; nodes of the features they read are added to ``features``."""
    by_name = {(part.layout.family, part.layout.part): part for part in parts}
    choices: list[DualChoice] = []
    for dual in block.duals:
        for kind, names in _by_kind(dual, overrides).items():
            held = [by_name[name] for name in names if name in by_name]
            if held:
                choices.append(_choice(spec, dual, kind, held, layout, lowering, intervals, features, diagnostics))
    return tuple(choices)


def _by_kind(dual: typed.TypedDual, overrides: Mapping[str, str]) -> Mapping[str, list[tuple[str, str]]]:
    written = dual.value.kind if isinstance(dual.value, typed.HeldDual) else FORMULA
    kinds: dict[str, list[tuple[str, str]]] = {}
    for family, part in dual.parts:
        override = overrides.get(family, overrides.get("*"))
        kind = written if override is None or (written == FORMULA and duals()[override].fitted) else override
        kinds.setdefault(kind, []).append((family, part))
    return kinds


def _choice(
    spec: typed.TypedSpec,
    dual: typed.TypedDual,
    kind: str,
    held: Sequence[PartRows],
    layout: Layout,
    lowering: Lowering,
    intervals: IntervalAnalysis,
    features: dict[str, Node],
    diagnostics: Collector,
) -> DualChoice:
    columns = tuple(sorted(layout.columns_in([part.layout for part in held])))
    ordered = sorted(held, key=lambda part: layout.columns_of(part.layout).start)
    names = tuple(part.layout.name for part in ordered)
    if isinstance(dual.value, typed.FormulaDual):
        outside = Lowering(spec, lowering.builder, lowering.keys, features_outside=True)
        formulas = tuple(_formula(dual.value, part, outside, intervals, diagnostics) for part in ordered)
        if kind == FORMULA and called([f.value for f in formulas]) <= spec.frozen:
            diagnostics.add("PD417", dual.value.span, family=ordered[0].layout.family)
        cap = max(max(abs(f.interval.lo), abs(f.interval.hi)) for f in formulas)
        reads = _formula_features(dual.value, lowering, features) if kind == FORMULA else {}
        return DualChoice(kind, names, columns, cap, dual, reads, (), formulas if kind == FORMULA else ())
    choice = DualChoice(kind, names, columns, dual.value.cap, dual, {})
    if "on" not in duals()[kind].arguments:
        return choice
    if dual.value.on is None:
        diagnostics.add("PD440", dual.span, kind=kind)
        return choice
    reads = _read(dual.value.on, lowering, features)
    return replace(choice, features=reads, members=_members(ordered, reads, dual, lowering, diagnostics))


def _read(on: typed.TypedExpression, lowering: Lowering, features: dict[str, Node]) -> Mapping[str, tuple[Axis, ...]]:
    """What a learned dual reads: features of a call, or any value of the row (flattened by its store)."""
    if isinstance(on, typed.FeaturesOf):
        entries = lowering.keys.entries(on.call)
        for key, axes in entries.items():
            features[key] = lowering.feature(on.call, key, axes)
        return entries
    value = lowering.value(on, {})
    nodes = (value.re, value.im) if isinstance(value, Pair) else (value,)
    found: dict[str, tuple[Axis, ...]] = {}
    for node in nodes:
        assert isinstance(node, Node)
        key = f"on%{node.identity}"
        features[key] = node
        found[key] = node.inner
    return found


def _members(
    held: Sequence[PartRows],
    reads: Mapping[str, tuple[Axis, ...]],
    dual: typed.TypedDual,
    lowering: Lowering,
    diagnostics: Collector,
) -> tuple[tuple[str, int, str], ...]:
    """For features per member: which member each column reads, and the head that columns of one part share."""
    assert isinstance(dual.value, typed.HeldDual)
    on = dual.value.on
    if not isinstance(on, typed.FeaturesOf) or not isinstance(lowering.keys.types[on.call.model], MemberFeatures):
        return ()
    by_set = {axes[0].set: key for key, axes in reads.items() if isinstance(axes[0], SetAxis)}
    members: list[tuple[str, int, str]] = []
    for part in held:
        layout = part.layout
        position = next((i for i, name in enumerate(layout.sets) if name in by_set), None)
        if position is None:
            sets = " or ".join(f"`{name}`" for name in sorted(by_set))
            diagnostics.add("PD441", dual.span, family=layout.family, sets=sets)
            continue
        for place in layout.members:
            others = [str(member) for i, member in enumerate(place) if i != position]
            head = f"{layout.name}[{','.join(others)}]" if others else layout.name
            members.append((by_set[layout.sets[position]], place[position], head))
    return tuple(members)


def _formula(
    dual: typed.FormulaDual, part: PartRows, lowering: Lowering, intervals: IntervalAnalysis, diagnostics: Collector
) -> FormulaNode:
    axes = own_axes(dual.binders)
    named = tuple(axis for axis in axes if axis is not None)
    indices = {b.identity: lowering.builder.index(a) for b, a in zip(dual.binders, named, strict=True)}
    node = lowering.scalar(dual.value, indices)
    interval: Interval | None = None
    for place in part.layout.members or places(named, intervals.sizes):
        here = intervals.range(node, dict(zip(part.axes, place, strict=True)))
        interval = here if interval is None else union(interval, here)
    assert interval is not None
    signed = part.layout.sense is not Sense.AT_MOST
    if not signed and interval.lo < 0:
        diagnostics.add("PD430", dual.value.span, family=part.layout.name, range=interval)
    elif interval.hi == inf or interval.lo == -inf:
        written = "yes" if signed else None
        diagnostics.add("PD431", dual.value.span, family=part.layout.name, range=interval, signed=written)
    return FormulaNode(part.layout.name, node, part.axes, interval)


def _formula_features(
    dual: typed.FormulaDual, lowering: Lowering, features: dict[str, Node]
) -> Mapping[str, tuple[Axis, ...]]:
    """The features that a formula reads, registered as outputs of the block's program."""
    reads: dict[str, tuple[Axis, ...]] = {}
    for call in _feature_calls(dual.value, set()):
        for key, axes in lowering.keys.entries(call).items():
            features[key] = lowering.feature(call, key, axes)
            reads[key] = axes
    return reads


def _feature_calls(expression: typed.TypedExpression, seen: set[int]) -> Iterator[typed.ModelCall]:
    """Calls whose features are read, in the order of the text; what a let stands for is looked at once."""
    if isinstance(expression, typed.FeaturesOf):
        yield expression.call
    elif isinstance(expression, typed.LetRef):
        if expression.definition.identity not in seen:
            seen.add(expression.definition.identity)
            yield from _feature_calls(expression.definition.body, seen)
    else:
        for child in children(expression):
            yield from _feature_calls(child, seen)


def hold_once(spec: typed.TypedSpec, graphs: Sequence[DataGraph], diagnostics: Collector) -> None:
    """PD415 where a model holds multipliers of two data sets: those of each are fitted on its rows, apart from the other's."""
    trained = {model.name for model in spec.models} - spec.frozen
    holds: dict[str, DualChoice] = {}
    for graph in graphs:
        here = {model: choice for choice in graph.duals for model in sorted(choice.models & trained)}
        for model, choice in here.items():
            if model in holds:
                diagnostics.add("PD415", choice.written.span, Label(holds[model].written.span, "first"), model=model)
        holds = {**here, **holds}
