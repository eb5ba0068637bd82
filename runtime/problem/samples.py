"""Sample data and models for a quick run on a machine that does not have the whole: which are used, and the notices about them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from pdual.compiler.compile import used_data
from pdual.compiler.graph import Graph
from pdual.dsl import typed
from pdual.dsl.declarations.references import ArchitectureUse
from pdual.dsl.declarations.registry import architectures, sources
from pdual.dsl.declarations.sample import Sample
from pdual.dsl.declarations.source import BOUND_NAME
from pdual.dsl.diagnostics import Diagnostic, diagnostic
from pdual.dsl.extensions import named
from pdual.runtime.data.context import SourceContext
from pdual.runtime.data.tables import Table
from pdual.runtime.storage.records import SampleRecord


@dataclass(frozen=True)
class ModelSampleContext:
    """What the sample of an architecture may use: the spec, whose model of this name it is for, and its rows; where to cache, whom to tell."""

    graph: Graph
    model: str
    tables: Mapping[str, Table]
    source: SourceContext


def sampled_data(spec: typed.TypedSpec, context: SourceContext) -> frozenset[str]:
    """The data sets that are not on this machine and have a sample; no network is asked. What the command line names is there."""
    used = used_data(spec)
    return frozenset(data.name for data in spec.data if data.name in used and missing_of(data, context) is not None)


def missing_of(data: typed.TypedData, context: SourceContext) -> Sample | None:
    """The sample that can stand in for a data set that is not on this machine; None where it is, or none can."""
    sample = sources()[data.source or BOUND_NAME].sample
    if sample is None or data.name in context.files or context.file is not None or not sample.covers(data.settings):
        return None
    return None if named(sample.present)(data.settings, context) else sample


def stood_in(
    graph: Graph, tables: Mapping[str, Table], chosen: Collection[str] | None, context: SourceContext
) -> Graph:
    """The spec with the settings of models changed to those of their samples: of ``chosen`` ones, or, with None, of those that are not on
    this machine.
    """
    made: dict[str, ArchitectureUse] = {}
    for model in graph.spec.models:
        own = replace(context, span=model.span)
        if model.architecture is None or model.frozen_of is not None or not _is_chosen(model, chosen, own):
            continue
        name = model.architecture.architecture
        sample = architectures()[name].sample
        assert sample is not None
        asked = ModelSampleContext(graph, model.name, tables, own)
        made[model.name] = ArchitectureUse(name, named(sample.builder)(model.architecture.settings, asked))
    models = [
        replace(model, architecture=use) if (use := made.get(model.frozen_of or model.name)) is not None else model
        for model in graph.spec.models
    ]
    return replace(graph, spec=replace(graph.spec, models=tuple(models)))


def _is_chosen(model: typed.TypedModel, chosen: Collection[str] | None, context: SourceContext) -> bool:
    assert model.architecture is not None
    sample, settings = architectures()[model.architecture.architecture].sample, model.architecture.settings
    if sample is None:
        return False
    if chosen is not None:
        return model.name in chosen
    return sample.covers(settings) and not named(sample.present)(settings, context)


def notices(graph: Graph, after: Graph, data: Collection[str]) -> dict[str, SampleRecord]:
    """What is said of these data sets, and of the models that have other settings ``after``, by name."""
    found = {}
    for item in graph.spec.data:
        sample = sources()[item.source or BOUND_NAME].sample
        if item.name in data and sample is not None:
            found[item.name] = SampleRecord(of="data", words=sample.words, whole=sample.whole(item.settings))
    for before, now in zip(graph.spec.models, after.spec.models, strict=True):
        if before.architecture is not None and before.frozen_of is None and before.architecture != now.architecture:
            made = architectures()[before.architecture.architecture].sample
            assert made is not None
            whole = made.whole(before.architecture.settings)
            found[before.name] = SampleRecord(of="model", words=made.words, whole=whole)
    return found


def shortest(spec: typed.TypedSpec, chosen: Collection[str], outer: int, steps: int) -> tuple[int, int]:
    """How many outer iterations and primal steps a quick run makes at most on the samples of these data sets: no more than those given."""
    own = [sources()[item.source or BOUND_NAME].sample for item in spec.data if item.name in chosen]
    known = [sample for sample in own if sample is not None]
    return (
        min([outer, *(sample.outer for sample in known if sample.outer is not None)]),
        min([steps, *(sample.steps for sample in known if sample.steps is not None)]),
    )


def warnings_of(spec: typed.TypedSpec, samples: Mapping[str, SampleRecord]) -> tuple[Diagnostic, ...]:
    """A warning for each, where it is declared."""
    spans = {item.name: item.span for item in spec.data} | {item.name: item.span for item in spec.models}
    codes = {"data": "PD580", "model": "PD670"}
    return tuple(
        diagnostic(codes[item.of], spans[name], name=name, words=item.words, whole=item.whole)
        for name, item in samples.items()
    )


def sentences(samples: Mapping[str, SampleRecord]) -> tuple[str, ...]:
    """The same in plain lines."""
    told = {"data": "a sample, not the whole", "model": "a stand-in"}
    lines = [f"{told[item.of]}: `{name}` is {item.words}" for name, item in samples.items()]
    return (*lines, *(f"for the whole of `{name}`: {item.whole}" for name, item in samples.items()))
