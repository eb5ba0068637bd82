"""From a checked spec to IR. ``lower`` is the pipeline; nothing here imports torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf

from pdual.compiler.averages import averages_graph, means_over
from pdual.compiler.axes import GROUP_AXIS
from pdual.compiler.builder import Builder
from pdual.compiler.domains import check_domains
from pdual.compiler.duals import dual_choices, hold_once
from pdual.compiler.feature_keys import FeatureKeys
from pdual.compiler.finite import Finite
from pdual.compiler.flatness import report_flat
from pdual.compiler.graph import AverageGraph, DataGraph, Graph, GroupGraph, Grouping, ObjectiveTerm
from pdual.compiler.interval_analysis import IntervalAnalysis
from pdual.compiler.ir import Node
from pdual.compiler.layout import Layout
from pdual.compiler.lower import Lowering
from pdual.compiler.rows import family_rows
from pdual.compiler.strata import strata_of
from pdual.dsl import typed
from pdual.dsl.declarations.known import Known
from pdual.dsl.declarations.optimisers import OptimiserSettings
from pdual.dsl.declarations.registry import answers_by_row, architectures
from pdual.dsl.declarations.signature import Sizes
from pdual.dsl.depth import make_room
from pdual.dsl.diagnostics import Collector, Diagnostic, refuse
from pdual.dsl.operations.interval import Interval
from pdual.dsl.spans import NOWHERE
from pdual.dsl.types import ArrayType, Kind, MemberFeatures, MemberOf, OpenAxis


def lower(
    spec: typed.TypedSpec,
    knowns: Mapping[str, Known],
    overrides: Mapping[str, str] | None = None,
    minimize: bool = True,
) -> tuple[Graph, tuple[Diagnostic, ...]]:
    """The IR of a spec for known structure; diagnostics are warnings and errors about ranges and duals.

    ``overrides`` replaces how multipliers are held (``--dual``): kind by family name, ``"*"`` for all of them. ``minimize`` false
    drops the objective (feasibility only).
    """
    make_room()
    found = Collector()
    labels = index_labels(spec, knowns)
    sizes = {name: len(members) for name, members in labels.items()}
    intervals = interval_analysis(spec, knowns, sizes)
    # One builder for all of it: ranges and constants are remembered by the identity of a node.
    lowering = Lowering(spec, Builder(), FeatureKeys(feature_types(spec, sizes)))
    finite = Finite(spec, knowns, sizes, labels)
    averages = averages_graph(spec, lowering, intervals, labels, overrides or {}, found, finite)
    graphs = tuple(
        _data_graph(spec, over, intervals, labels, lowering, overrides or {}, minimize, averages, found, finite)
        for over in _ranged_over(spec)
    )
    hold_once(spec, graphs, found)
    if members_of(spec) is not None and not any(block.group_by for block in spec.blocks):
        raise refuse("PD297", spec.blocks[0].span if spec.blocks else NOWHERE)
    data_free = _terms(spec.objectives, lowering, intervals, finite) if minimize else ()
    graph = Graph(spec, knowns, sizes, labels, graphs, data_free, averages)
    report_flat(graph, intervals, found)
    return graph, found.diagnostics


def used_data(spec: typed.TypedSpec) -> tuple[str, ...]:
    """The data sets that a block ranges over or a constraint averages over, in the order of writing."""
    used = {block.data for block in spec.blocks} | {name for average in spec.averages for name in average.data}
    return tuple(data.name for data in spec.data if data.name in used)


def _ranged_over(spec: typed.TypedSpec) -> tuple[str, ...]:
    """What has a graph of its own: data sets, and groups of their rows where something is asked of each group.

    The rows of a data set that is only asked about in groups have none.
    """
    asked = [block for block in spec.blocks if block.group_by is not None and (block.families or block.metrics)]
    rows = {block.data for block in spec.blocks if block.group_by is None or block.objectives}
    rows |= {name for average in spec.averages for name in average.data}
    found: list[str] = []
    for data in used_data(spec):
        groups = [block.over for block in asked if block.data == data]
        found += [data] if data in rows or not groups else []
        found += dict.fromkeys(groups)
    return tuple(found)


def index_labels(spec: typed.TypedSpec, knowns: Mapping[str, Known]) -> Mapping[str, Sequence[str]]:
    """The members of every index set that is known."""
    labels: dict[str, Sequence[str]] = {}
    for item in spec.sets:
        if item.labels is not None:
            labels[item.name] = item.labels
        elif item.given is not None and item.given in knowns:
            labels[item.name] = knowns[item.given].sets[item.name]
    return labels


def interval_analysis(spec: typed.TypedSpec, knowns: Mapping[str, Known], sizes: Sizes) -> IntervalAnalysis:
    """The interval analysis with every declared range."""
    fields: dict[tuple[str, str], Interval] = {}
    members: dict[tuple[str, str], str] = {}
    for data in spec.data:
        for item in data.fields:
            if isinstance(item.type, ArrayType) and isinstance(item.type.element, MemberOf):
                members[data.name, item.name] = item.type.element.set
            fields[data.name, item.name] = Interval(
                -inf if item.low is None else item.low, inf if item.high is None else item.high
            )
    outputs = {
        (model.name, output.name): Interval(
            -inf if output.low is None else output.low, inf if output.high is None else output.high
        )
        for model in spec.models
        for output in model.signature.outputs
        if output.type.element is Kind.REAL
    }
    return IntervalAnalysis(knowns, sizes, fields, outputs, members)


def feature_types(spec: typed.TypedSpec, sizes: Sizes) -> Mapping[str, ArrayType | MemberFeatures]:
    """The type of every model's penultimate representation, where it has one."""
    types: dict[str, ArrayType | MemberFeatures] = {}
    for model in spec.models:
        if model.features_layer is not None:  # of a module from Python: as wide as its layer, which the run sees
            types[model.name] = ArrayType(Kind.REAL, (OpenAxis(),))
        elif model.architecture is not None:
            declaration = architectures()[model.architecture.architecture]
            kind = declaration.features(model.signature, model.architecture.settings, sizes)
            if kind is not None:
                types[model.name] = kind
    return types


def _data_graph(
    spec: typed.TypedSpec,
    over: str,
    intervals: IntervalAnalysis,
    labels: Mapping[str, Sequence[str]],
    lowering: Lowering,
    overrides: Mapping[str, str],
    minimize: bool,
    averages: AverageGraph,
    diagnostics: Collector,
    finite: Finite,
) -> DataGraph:
    blocks = [block for block in spec.blocks if block.over == over]
    grouping = _grouping(spec, blocks, labels)
    terms = [term for block in blocks for term in block.objectives] if grouping is None else []
    objective = _terms(terms, lowering, intervals, finite) if minimize else ()
    groups = _groups(spec, over, lowering, intervals, minimize, finite)
    written = tuple(
        part
        for block in blocks
        for family in block.families
        for part in family_rows(family, lowering, intervals, labels, diagnostics, finite)
    )
    parts = tuple(part for part in written if part.layout.size)
    empty = tuple(part for part in written if not part.layout.size)
    layout = Layout(over, tuple(part.layout for part in parts))
    metrics = tuple((metric.name, _metric(metric, lowering, finite)) for block in blocks for metric in block.metrics)
    features: dict[str, Node] = {}
    duals = tuple(
        choice
        for block in blocks
        for choice in dual_choices(spec, block, layout, parts, lowering, intervals, overrides, features, diagnostics)
    )
    _refuse_positions(spec, [term.value for group in groups for term in group.objective])
    if grouping is not None:
        _refuse_positions(spec, [*(part.residual for part in parts), *(node for _, node in metrics)])
    means = means_over(over, averages)
    graph = DataGraph(over, objective, parts, metrics, features, duals, layout, groups, means, grouping, empty)
    check_domains(graph.roots, intervals, diagnostics)
    return graph


def _refuse_positions(spec: typed.TypedSpec, roots: Sequence[Node]) -> None:
    """PD277 where a model that holds a value of every row is asked about a group, without a row of it."""
    by_row = {model.name for model in spec.models if answers_by_row(model.architecture, model.signature)}
    seen: set[int] = set()
    waiting = list(roots) if by_row else []
    while waiting:
        node = waiting.pop()
        if node.identity in seen or node.operation == "member":
            continue  # below a member is what is said of a row
        seen.add(node.identity)
        if node.operation == "call" and node.name in by_row:
            raise refuse("PD277", node.span, model=node.name)
        waiting.extend(node.arguments)


def _grouping(
    spec: typed.TypedSpec, blocks: Sequence[typed.TypedBlock], labels: Mapping[str, Sequence[str]]
) -> Grouping | None:
    field = blocks[0].group_by if blocks else None
    if field is None:
        return None
    kind = next(item.type for item in spec.data_set(blocks[0].data).fields if item.name == field)
    shared = kind.element if isinstance(kind, ArrayType) else None
    known = tuple(labels.get(shared.set, ())) if isinstance(shared, MemberOf) else ()
    return Grouping(field, tuple(GROUP_AXIS.format(block.row) for block in blocks), known or None)


def _groups(
    spec: typed.TypedSpec, data: str, lowering: Lowering, intervals: IntervalAnalysis, minimize: bool, finite: Finite
) -> tuple[GroupGraph, ...]:
    """The objectives over groups of a data set."""
    return tuple(
        GroupGraph(
            block.group_by,
            GROUP_AXIS.format(block.row),
            _terms(block.objectives, lowering, intervals, finite) if minimize else (),
            block.span,
            strata_of(block.objectives, lowering) if minimize and members_of(spec) is not None else (),
        )
        for block in spec.blocks
        if block.data == data and block.group_by is not None and block.objectives
    )


def members_of(spec: typed.TypedSpec) -> int | None:
    """How many rows of each group a batch takes; None where it takes whole groups."""
    descent = spec.solve.descent.settings
    assert isinstance(descent, OptimiserSettings)
    return descent.members


def objective_scale(
    term: typed.TypedObjective, lowering: Lowering, intervals: IntervalAnalysis, finite: Finite
) -> float:
    """The constant that a term is divided by."""
    if term.scale is None:
        return 1.0
    node = lowering.scalar(term.scale, {})
    finite.check("the scale of the objective", term.scale, node)
    scale = intervals.range(node, {})
    if not scale.is_bounded or scale.lo <= 0 or scale.hi - scale.lo > 1e-9 * scale.hi:
        raise refuse("PD303", term.scale.span, found=scale)
    return scale.hi if scale.is_point else (scale.lo + scale.hi) / 2


def _terms(
    terms: Sequence[typed.TypedObjective], lowering: Lowering, intervals: IntervalAnalysis, finite: Finite
) -> tuple[ObjectiveTerm, ...]:
    made = []
    for term in terms:
        value = lowering.scalar(term.value, {})
        finite.check("the objective", term.value, value)
        made.append(ObjectiveTerm(value, objective_scale(term, lowering, intervals, finite)))
    return tuple(made)


def _metric(metric: typed.TypedMetric, lowering: Lowering, finite: Finite) -> Node:
    value = lowering.scalar(metric.value, {})
    finite.check(f"metric `{metric.name}`", metric.value, value)
    return _as_real(lowering, value)


def _as_real(lowering: Lowering, node: Node) -> Node:
    return lowering.builder("as_real", node) if node.kind != "real" else node
