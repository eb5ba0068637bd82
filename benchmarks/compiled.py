"""The solver on a shipped spec, for timing what it does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import torch
from turns import Step

from pdual.compiler.graph import Graph
from pdual.finding import find
from pdual.runtime.data.context import SourceContext
from pdual.runtime.problem.prepare import load_tables, prepare
from pdual.runtime.problem.problem import Options, Problem
from pdual.runtime.training.solver import Solver
from pdual.understanding import understand


def problem_of(
    spec: str, dual: str, limit: int | None = None, overrides: Mapping[str, str] | None = None
) -> tuple[Problem, Mapping[str, float]]:
    """A shipped problem without shrinking, whose steps all cost the same, and its parameters that are numbers."""
    graph, problem = prepared(spec, {"*": dual}, limit, overrides)
    numbers = {item.name: float(item.value) for item in graph.spec.params if not isinstance(item.value, str)}
    return replace(problem, settings=problem.settings.model_copy(update={"shrinking": None})), numbers


def prepared(
    spec: str,
    duals: Mapping[str, str],
    limit: int | None = None,
    overrides: Mapping[str, str] | None = None,
    seed: int = 0,
) -> tuple[Graph, Problem]:
    """A shipped problem with its rows, its models at their start."""
    found = find(spec)
    context = SourceContext(folder=found.folder, limit=limit)
    understood = understand(found.source, overrides or {}, duals, True, context)
    understood.refuse()
    graph = understood.graph
    assert graph is not None
    torch.manual_seed(seed)
    return graph, prepare(graph, load_tables(graph.spec, graph.knowns, context), torch.float32, {})


def started(problem: Problem) -> Solver:
    """A solver in its first outer iteration: multipliers are read, and still 0."""
    solver = Solver(problem, Options())
    solver._iteration = 1
    problem.models.train()
    return solver


def step_of(solver: Solver) -> Step:
    """One primal step, which refuses a loss that is not finite, as a run's do on a CPU."""

    def step() -> None:
        solver.primal_step()

    return step
