"""Constraint families to rows: parts in normal form, live entries, feasible ranges, scales."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from pdual.compiler.attributes import IndexAxis
from pdual.compiler.axes import own_axes
from pdual.compiler.finite import Finite
from pdual.compiler.interval_analysis import IntervalAnalysis, places
from pdual.compiler.ir import Node
from pdual.compiler.layout import PartLayout, Sense
from pdual.compiler.lower import Lowering
from pdual.compiler.narrowing import sweep
from pdual.compiler.values import CallValue, Value
from pdual.dsl import typed
from pdual.dsl.diagnostics import Collector, refuse
from pdual.dsl.operations.interval import FALSE, TRUE, Interval
from pdual.dsl.operations.operation import Pair
from pdual.dsl.parts import PartShape, part_shapes
from pdual.dsl.record import record

#: Entries of one family on one row, those that a filter removes included. Each has its own range, scale and multiplier.
MOST_ENTRIES = 100_000
SMALL_RANGE = 1e-3  # an entry with a smaller feasible range takes the mean of its part's other entries


@record(frozen=True, slots=True)
class PartRows:
    """One part: its layout, the node of ``left - right``, the filter, and the range of every entry.

    ``impossible``: positions of entries that hold for no values within the declared ranges.
    """

    layout: PartLayout
    residual: Node
    axes: tuple[IndexAxis, ...]
    mask: Node | None
    intervals: tuple[Interval, ...]
    without_side: int  # entries whose bound is infinite: no row
    filtered: int  # entries that a constant filter removes
    impossible: tuple[int, ...] = ()


@record(frozen=True, slots=True)
class _Entry:
    place: tuple[int, ...]
    interval: Interval
    range: float | None
    scale: float | None
    masked: bool
    never: bool


def family_rows(
    family: typed.TypedFamily,
    lowering: Lowering,
    intervals: IntervalAnalysis,
    labels: Mapping[str, Sequence[str]],
    diagnostics: Collector,
    finite: Finite,
) -> tuple[PartRows, ...]:
    """The parts of one family, in the order of rows."""
    axes = own_axes(family.binders)
    if any(axis is None for axis in axes):
        raise refuse("PD292", family.span, family=family.name)
    named = [axis for axis in axes if axis is not None]
    size = math.prod(intervals.sizes[axis.set] for axis in named)
    if size > MOST_ENTRIES:
        raise refuse("PD274", family.span, family=family.name, limit=f"{MOST_ENTRIES:,}", size=f"{size:,}")
    indices = {b.identity: lowering.builder.index(a) for b, a in zip(family.binders, named, strict=True)}
    mask = _family_mask(family, lowering, indices)
    operands = [lowering.value(operand, indices) for operand in family.operands]
    scale = lowering.scalar(family.scale, indices) if family.scale is not None else None
    _check_finite(family, finite, intervals, named, operands, mask, scale)
    is_complex = any(isinstance(operand, Pair) for operand in operands)
    parts = [
        _part(family, shape, lowering, intervals, labels, tuple(named), operands, mask, scale, finite)
        for shape in part_shapes(family.operators, is_complex)
    ]
    for part in parts:
        _report(family, part, diagnostics)
    _report_none(family, parts, diagnostics)
    _report_scale(family, [part.layout for part in parts if part.layout.size], diagnostics)
    return tuple(parts)


def _check_finite(
    family: typed.TypedFamily,
    finite: Finite,
    intervals: IntervalAnalysis,
    axes: Sequence[IndexAxis],
    operands: Sequence[Value],
    mask: Node | None,
    scale: Node | None,
) -> None:
    """PD310 for what has no finite value on an entry that counts."""
    every = places(axes, intervals.sizes)
    for binder in family.binders:
        if binder.where is not None and mask is not None:
            finite.check(f"the filter of `{family.name}`", binder.where, mask, axes, every)
    if mask is not None:
        every = [place for place in every if intervals.range(mask, dict(zip(axes, place, strict=True))) != FALSE]
    for expression, operand in zip(family.operands, operands, strict=True):
        finite.check(f"`{family.name}`", expression, operand, axes, every)
    if family.scale is not None and scale is not None:
        finite.check(f"the scale of `{family.name}`", family.scale, scale, axes, every)


def _family_mask(family: typed.TypedFamily, lowering: Lowering, indices: Mapping[int, Node]) -> Node | None:
    mask: Node | None = None
    for binder in family.binders:
        if binder.where is not None:
            condition = lowering.scalar(binder.where, indices)
            mask = condition if mask is None else lowering.builder("and", mask, condition)
    return mask


def _part(
    family: typed.TypedFamily,
    shape: PartShape,
    lowering: Lowering,
    intervals: IntervalAnalysis,
    labels: Mapping[str, Sequence[str]],
    axes: tuple[IndexAxis, ...],
    operands: Sequence[Value],
    mask: Node | None,
    scale: Node | None,
    finite: Finite,
) -> PartRows:
    left = _component(lowering, operands[shape.left], shape.component)
    right = _component(lowering, operands[shape.right], shape.component)
    residual = lowering.builder("subtract", left, right)
    other = _other_side(lowering, operands, shape)
    entries: list[_Entry] = []
    without_side = filtered = 0
    for place in places(axes, intervals.sizes):
        at = dict(zip(axes, place, strict=True))
        kept = intervals.range(mask, at) if mask is not None else TRUE
        if kept == FALSE:
            filtered += 1
            continue
        low, high = intervals.range(left, at), intervals.range(right, at)
        infinite = _infinite(low, high, shape)
        if infinite is not None:
            never, side = infinite
            node = left if side == shape.left else right
            finite.check_side(f"`{family.name}`", family.operands[side], node, never)
            without_side += 1
            continue
        interval = intervals.range(residual, at)
        width = (
            None
            if shape.equality
            else _width(low, high, intervals.range(other, at) if other is not None else None, shape)
        )
        own = intervals.range(scale, at).hi if scale is not None else None
        never = _never(intervals, residual, at, interval, shape.equality)
        entries.append(_Entry(place, interval, width, own, kept != TRUE, never))
    ranges = _filled([entry.range for entry in entries])
    layout = PartLayout(
        family=family.name,
        part=shape.name,
        sense=Sense.EQUAL if shape.equality else Sense.AT_MOST,
        sets=tuple(axis.set for axis in axes),
        members=tuple(entry.place for entry in entries),
        addresses=tuple(
            ", ".join(labels[axis.set][member] for axis, member in zip(axes, entry.place, strict=True))
            for entry in entries
        ),
        scale=tuple(r or entry.scale or 1.0 for r, entry in zip(ranges, entries, strict=True)),
        range=tuple(r or math.nan for r in ranges) if any(r is not None for r in ranges) else None,
        masked=any(entry.masked for entry in entries),
    )
    return PartRows(
        layout,
        residual,
        axes,
        mask if layout.masked else None,
        tuple(entry.interval for entry in entries),
        without_side,
        filtered,
        tuple(position for position, entry in enumerate(entries) if entry.never),
    )


def _infinite(low: Interval, high: Interval, shape: PartShape) -> tuple[bool, int] | None:
    """Which operand of ``low <= high``, or ``low == high``, is infinite whatever the row, and whether it can then never hold."""
    if math.inf in (low.lo, -low.hi):
        return shape.equality or low.lo == math.inf, shape.left
    if math.inf in (high.lo, -high.hi):
        return shape.equality or high.hi == -math.inf, shape.right
    return None


def _never(
    intervals: IntervalAnalysis, residual: Node, at: Mapping[IndexAxis, int], interval: Interval, equality: bool
) -> bool:
    """Whether a row holds for no values: by its range, or since going back through it leaves some value none."""
    if interval.lo > 0 or (equality and interval.hi < 0):
        return True
    return interval.is_bounded and interval.hi > 0 and sweep(intervals, residual, at, equality=equality) is None


def _component(lowering: Lowering, value: Value, component: str) -> Node:
    assert not isinstance(value, CallValue)
    if not component:
        assert isinstance(value, Node)
        return value
    if isinstance(value, Pair):
        node: Node = value.re if component == "re" else value.im
        return node
    return value if component == "re" else lowering.builder.number(0.0)


def _other_side(lowering: Lowering, operands: Sequence[Value], shape: PartShape) -> Node | None:
    """Of a two-sided relation, the bound that this part does not use."""
    if len(operands) < 3:
        return None
    position = ({0, 1, 2} - {shape.left, shape.right}).pop()
    return _component(lowering, operands[position], shape.component)


def _width(left: Interval, right: Interval, other: Interval | None, shape: PartShape) -> float | None:
    """The feasible range of ``left <= right``: up to the other bound, or to where the other side's own range ends."""
    low, high = constant(left), constant(right)
    bound = constant(other) if other is not None else None
    if shape.side == "lower":  # left is the bound, right the quantity
        return _finite((bound if bound is not None else right.hi) - low) if low is not None else None
    if high is not None:
        return _finite(high - (bound if bound is not None else left.lo))
    return _finite(right.hi - low) if low is not None else None


def constant(interval: Interval) -> float | None:
    """The value of what is known but for rounding."""
    if not interval.is_bounded or interval.hi - interval.lo > 1e-9 * max(1.0, abs(interval.lo)):
        return None
    return interval.lo if interval.is_point else (interval.lo + interval.hi) / 2


def _finite(width: float) -> float | None:
    return width if math.isfinite(width) and width >= 0 else None


def _filled(ranges: Sequence[float | None]) -> list[float | None]:
    large = [r for r in ranges if r is not None and r >= SMALL_RANGE]
    mean = sum(large) / len(large) if large else None
    return [mean if r is not None and r < SMALL_RANGE else r for r in ranges]


def _report(family: typed.TypedFamily, part: PartRows, diagnostics: Collector) -> None:
    layout = part.layout
    inert = [
        a for a, i in zip(layout.addresses, part.intervals, strict=True) if i.hi <= 0 and layout.sense is Sense.AT_MOST
    ]
    if inert:
        diagnostics.add(
            "PD301",
            family.span,
            family=layout.name,
            count=len(inert),
            total=layout.size,
            first=_address(layout, inert[0]),
        )
    never = [(layout.addresses[position], part.intervals[position]) for position in part.impossible]
    if never and not layout.masked:
        address, interval = never[0]
        diagnostics.add(
            "PD302", family.span, family=layout.name, count=len(never), first=_address(layout, address), range=interval
        )


def _report_none(family: typed.TypedFamily, parts: Sequence[PartRows], diagnostics: Collector) -> None:
    """PD311 for a constraint of which nothing is left."""
    total = sum(part.filtered + part.without_side for part in parts)
    if total and not any(part.layout.size for part in parts):
        infinite, filtered = (
            sum(counts) for counts in zip(*((p.without_side, p.filtered) for p in parts), strict=True)
        )
        diagnostics.add("PD311", family.span, family=family.name, total=total, infinite=infinite, filtered=filtered)


def _report_scale(family: typed.TypedFamily, layouts: Sequence[PartLayout], diagnostics: Collector) -> None:
    if family.scale is None or not layouts:
        return
    ranges = [width for layout in layouts for width in layout.range or (math.nan,)]
    if not any(map(math.isnan, ranges)):
        ends = dict.fromkeys(f"{end:.4g}" for end in (min(ranges), max(ranges)))
        diagnostics.add("PD306", family.scale.span, family=family.name, ranges=" to ".join(ends))


def _address(layout: PartLayout, address: str) -> str:
    return f"{layout.name}[{address}]" if address else layout.name
