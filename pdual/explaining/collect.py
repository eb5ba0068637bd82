"""From what was understood to an ``Explanation``: ``explanation`` is the pipeline, a small function a statement."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import zip_longest

from pdual.compiler.compile import feature_types
from pdual.compiler.graph import Graph
from pdual.compiler.open_axes import called_signature
from pdual.dsl import typed
from pdual.dsl.declarations.architecture_plain import ROWS
from pdual.dsl.declarations.registry import architectures, sources
from pdual.dsl.declarations.sources_table import BoundSettings
from pdual.explaining import text
from pdual.explaining.multipliers import duals, states
from pdual.explaining.projection import Earlier, projection
from pdual.explaining.records import (
    DataFact,
    Explanation,
    FieldFact,
    GivenFact,
    ModelFact,
    NamedText,
    ObjectiveFact,
    ParamFact,
    SetFact,
)
from pdual.explaining.rows import parts

#: A set with more members shows its first ones and its last.
_SHOWN = 4

LAGRANGIAN = (
    "L = objective + sum of multiplier * (left - right), rows divided by their scale; "
    "`<=`: multiplier in [0, cap], `==`: in [-cap, cap]"
)


def explanation(
    spec: typed.TypedSpec, graph: Graph | None, minimize: bool = True, earlier: Earlier | None = None
) -> Explanation:
    """Everything that is known of a spec; without its graph, what stands in the spec alone.

    ``minimize`` false: the objective was dropped. ``earlier``: a run by which time is projected.
    """
    sizes = {item.name: len(item.labels) for item in spec.sets if item.labels is not None}
    if graph is not None:
        sizes |= graph.sizes
    rows = {data.name: data_rows(data) for data in spec.data}
    return Explanation(
        problem=spec.name,
        title=spec.title,
        params=tuple(_param(item) for item in spec.params),
        sets=tuple(_set(item, graph) for item in spec.sets),
        givens=tuple(_given(item, graph) for item in spec.givens),
        data=tuple(_data(item, rows[item.name]) for item in spec.data),
        models=_models(spec, sizes, rows),
        objective=_objective(spec, graph) if minimize else (),
        lagrangian=LAGRANGIAN,
        parts=parts(spec, graph) if graph is not None else (),
        duals=duals(spec, graph, rows) if graph is not None else (),
        state=states(spec, graph, rows) if graph is not None else (),
        metrics=_metrics(spec),
        expects=tuple(_expect(item, spec) for item in spec.expects),
        solve=_solve(spec),
        time=projection(spec, graph, rows, earlier),
        lowered=graph is not None,
    )


def data_rows(data: typed.TypedData) -> Mapping[str, int] | None:
    """Rows of each split as far as the declaration tells."""
    return sources()[data.source].rows(data.settings) if data.source is not None else None


def _param(item: typed.TypedParam) -> ParamFact:
    return ParamFact(item.name, str(item.type), item.value, item.default, _range(item.low, item.high))


def _range(low: float | None, high: float | None) -> tuple[float | None, float | None] | None:
    return None if low is None and high is None else (low, high)


def _set(item: typed.TypedSet, graph: Graph | None) -> SetFact:
    labels = graph.labels.get(item.name, item.labels) if graph is not None else item.labels
    if labels is None:
        return SetFact(item.name, None, (), item.given)
    shown = tuple(labels) if len(labels) <= _SHOWN else (*labels[: _SHOWN - 1], labels[-1])
    return SetFact(item.name, len(labels), shown, item.given)


def _fields(fields: tuple[typed.TypedField, ...], standardised: Collection[str] = ()) -> tuple[FieldFact, ...]:
    return tuple(
        FieldFact(item.name, str(item.type), _range(item.low, item.high), item.column, item.name in standardised)
        for item in fields
    )


def _given(item: typed.TypedGiven, graph: Graph | None) -> GivenFact:
    notes = tuple(graph.knowns[item.name].notes) if graph is not None else ()
    declaration = sources()[item.source]
    called = text.use(item.source, item.settings)
    return GivenFact(item.name, item.source, called, declaration.summary, _fields(item.fields), notes)


def _data(item: typed.TypedData, rows: Mapping[str, int] | None) -> DataFact:
    settings = item.settings
    names = [name.name for name in settings.standardised] if isinstance(settings, BoundSettings) else []
    fields = _fields(item.fields, names)
    if item.source is None:
        summary = f"given when it runs: --data {item.name}=FILE"
        return DataFact(item.name, None, "", summary, rows, fields)
    called = text.use(item.source, item.settings)
    return DataFact(item.name, item.source, called, sources()[item.source].summary, rows, fields)


def _models(
    spec: typed.TypedSpec, sizes: Mapping[str, int], rows: Mapping[str, Mapping[str, int] | None]
) -> tuple[ModelFact, ...]:
    known = [sum(found.values()) for found in rows.values() if found is not None]
    sizes = {**sizes, **({ROWS: max(known)} if known else {})}
    features = feature_types(spec, sizes)
    return tuple(
        _model(item, spec, sizes, str(features[item.name]) if item.name in features else None) for item in spec.models
    )


def _model(item: typed.TypedModel, spec: typed.TypedSpec, sizes: Mapping[str, int], features: str | None) -> ModelFact:
    signature = text.signature(item.name, item.signature)
    if item.frozen_of is not None:
        return ModelFact(item.name, signature, f"frozen({item.frozen_of})", 0, features)
    if item.architecture is None:
        return ModelFact(item.name, signature, "given from Python", None, features)
    declaration = architectures()[item.architecture.architecture]
    count = declaration.parameters(called_signature(item, spec), item.architecture.settings, sizes)
    return ModelFact(item.name, signature, text.setting(item.architecture), count, features)


def _objective(spec: typed.TypedSpec, graph: Graph | None) -> tuple[ObjectiveFact, ...]:
    """Every term; its scale is known when it was lowered."""
    free = [node.scale for node in graph.data_free] if graph is not None else []
    terms = [
        ObjectiveFact(None, text.written(spec.source, term.value.span), scale)
        for term, scale in zip_longest(spec.objectives, free)
    ]
    scales = {data.data: [node.scale for node in data.objective] for data in graph.data} if graph is not None else {}
    for block in spec.blocks:
        known = iter(scales.get(block.data, ()) if block.group_by is None else ())
        for term in block.objectives:
            words = f"mean over {_over(block)}: {text.written(spec.source, term.value.span)}"
            terms.append(ObjectiveFact(block.data, words, next(known, None)))
    return tuple(terms)


def _over(block: typed.TypedBlock) -> str:
    return f"groups of {block.data} by {block.group_by}" if block.group_by else block.data


def _metrics(spec: typed.TypedSpec) -> tuple[NamedText, ...]:
    found = [(metric.name, metric.value.span) for block in spec.blocks for metric in block.metrics]
    return tuple(NamedText(name, text.written(spec.source, span)) for name, span in found)


def _expect(item: typed.TypedExpect, spec: typed.TypedSpec) -> NamedText:
    sides = [text.written(spec.source, operand.span) for operand in item.operands]
    relation = sides[0] + "".join(f" {op} {side}" for op, side in zip(item.operators, sides[1:], strict=True))
    return NamedText(item.name, f"on {item.data}.{item.split}: {relation}")


def _solve(spec: typed.TypedSpec) -> tuple[NamedText, ...]:
    settings = spec.solve
    names = [name for name in type(settings).model_fields if getattr(settings, name) is not None]
    return tuple(NamedText(name, text.setting(getattr(settings, name))) for name in names)
