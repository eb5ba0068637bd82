"""What an evaluation is handed, and how a data set's evaluations are called."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from torch import Tensor

from pdual.compiler.graph import Graph
from pdual.dsl.declarations.registry import evaluations
from pdual.dsl.extensions import named
from pdual.runtime.data.tables import Table
from pdual.runtime.evaluation.violations import Violations
from pdual.runtime.problem.problem import Problem

Scores: TypeAlias = Mapping[str, Any]

#: Is handed what is done next, and how far it is.
Teller: TypeAlias = Callable[[str], None]


def silent(_: str) -> None:
    """Tell nobody."""


def inside(told: Teller, of: str) -> Teller:
    """What is told of a part of something."""
    return lambda text: told(f"{of}, {text}")


@dataclass(frozen=True)
class EvaluationContext:
    """One split of one data set after a run. ``problem`` holds the trained models, in evaluation mode; ``violations`` are those of
    the rows ``ids``, in their order. ``told`` is handed how far a long evaluation is. ``sampled``: the rows are those of the source's
    sample, beside which an evaluation takes nothing of the whole either.
    """

    graph: Graph
    problem: Problem
    data: str
    table: Table
    ids: Tensor
    violations: Violations
    told: Teller = silent
    sampled: bool = False


def evaluated(context: EvaluationContext, trained: bool) -> dict[str, Scores]:
    """The evaluations that the data set's source brings along, by name; those that have nothing to say are left out.
    ``trained``: these are train rows, and there are others. The name of each is told before it is taken.
    """
    source = next(item.source for item in context.graph.spec.data if item.name == context.data)
    found = {}
    for name, declaration in evaluations().items():
        if (declaration.sources and source not in declaration.sources) or (trained and not declaration.on_train):
            continue
        evaluate: Callable[[EvaluationContext], Scores | None] = named(declaration.builder)
        context.told(name)
        scores = evaluate(replace(context, told=inside(context.told, name)))
        if scores is not None:
            found[name] = scores
    return found
