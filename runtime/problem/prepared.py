"""The problem of a spec as a run with some options has it: its rows loaded, samples chosen, its models at their start."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import nn

from pdual.compiler.graph import Graph
from pdual.dsl.diagnostics import Diagnostic
from pdual.runtime.data.context import SourceContext
from pdual.runtime.data.tables import Table
from pdual.runtime.problem.options import QUICK_OUTER, QUICK_ROWS, QUICK_STEPS, RunOptions
from pdual.runtime.problem.prepare import load_tables, prepare
from pdual.runtime.problem.problem import Problem
from pdual.runtime.problem.samples import notices, sampled_data, shortest, stood_in, warnings_of
from pdual.runtime.problem.shorter import constrained_rows, quick
from pdual.runtime.storage.records import SampleRecord


@dataclass(frozen=True)
class Prepared:
    """A problem with its rows loaded and its models at their start. ``graph`` has the settings that its models were built with, and
    ``samples`` says what stood in for what.
    """

    graph: Graph
    problem: Problem
    tables: Mapping[str, Table]
    samples: Mapping[str, SampleRecord]


def prepared(
    graph: Graph,
    options: RunOptions,
    context: SourceContext,
    given: Mapping[str, nn.Module],
    warn: Callable[[Sequence[Diagnostic]], None] = lambda found: None,
) -> Prepared:
    """The problem as a run with these options has it. ``warn`` is told of samples as soon as they are known."""
    dtype = torch.float64 if options.precision == "float64" else torch.float32
    torch.manual_seed(options.seed)
    chosen = _sampled(graph, options, context)
    said = notices(graph, graph, chosen)
    warn(warnings_of(graph.spec, said))
    tables = loaded(graph, replace(options, samples=chosen), context)
    after = graph
    if chosen:
        after = stood_in(graph, tables, options.samples, context)
    found = notices(graph, after, chosen)
    warn(warnings_of(graph.spec, {name: item for name, item in found.items() if name not in said}))
    problem = prepare(after, tables, dtype, given)
    if options.quick:
        outer, steps = shortest(graph.spec, chosen, QUICK_OUTER, QUICK_STEPS)
        problem = replace(problem, settings=quick(problem.settings, constrained_rows(problem), outer, steps))
    return Prepared(after, problem, tables, found)


def loaded(graph: Graph, options: RunOptions, context: SourceContext) -> Mapping[str, Table]:
    """The rows by data set, as a run with these options sees them. Raises a Refusal with PD5xx."""
    limit = options.limit if not options.quick else min(options.limit or QUICK_ROWS, QUICK_ROWS)
    own = replace(context, limit=limit, files=options.data, samples=_sampled(graph, options, context))
    return load_tables(graph.spec, graph.knowns, own)


def _sampled(graph: Graph, options: RunOptions, context: SourceContext) -> Collection[str]:
    """The data sets of which the sample is taken."""
    if options.samples is not None:
        return [item.name for item in graph.spec.data if item.name in options.samples]
    return sampled_data(graph.spec, replace(context, files=options.data)) if options.quick else ()
