"""Rademacher complexities of the classes of a run: of its losses and of its multipliers, bounds and Monte-Carlo estimates.

Without |.| inside the supremum: the uniform rates hold with it on either side, and contraction then costs no factor 2. A loss of Lipschitz constant
L in K predictions has at most sqrt 2 L times the complexity of the predictions with a sign for each of them (Maurer, "A vector-contraction inequality for
Rademacher complexities", 2016; without the root for K = 1), and never more than half the width of its range.

They enter Assumptions 1 and 7 of Boero, Nixon and Ribeiro by "Derivation of Uniform Convergence Rates from Rademacher Complexity".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isfinite

import torch
from torch import nn

from pdual.bounding.dual_classes import DualClass, dual_classes
from pdual.bounding.estimate import Estimate
from pdual.bounding.networks import DRAWS, Signs, Watched, is_covered
from pdual.bounding.pairs import Pair, largest, nothing, together
from pdual.bounding.parts import Constants, Objective
from pdual.compiler.graph import Graph
from pdual.compiler.ir import Node, called, topological
from pdual.compiler.program import Evaluation
from pdual.restoring import Restored
from pdual.runtime.data.tables import with_groups
from pdual.runtime.training.training_sets import TrainingSet

BOUND = "networks with norms up to the trained ones, layer by layer"
MONTE_CARLO = f"last layers with norms up to the trained ones, features as trained; Monte Carlo, {DRAWS} draws of signs"


def complexities(restored: Restored, parts: Sequence[Constants], objective: Objective) -> list[Estimate]:
    """R0, R and RL on the train rows: of each a bound, which the certificate takes where there is one, and an estimate."""
    predictions: dict[str, Pair] = {}
    multipliers: list[Pair] = []
    for training_set in restored.run.training_sets:
        predictions[training_set.name], own = _of_training_set(restored, training_set)
        multipliers += own
    whole = _loss(predictions, objective.data, objective.lipschitz, objective.range.hi - objective.range.lo)
    losses = [
        _loss(predictions, part.data.split(", "), part.lipschitz, part.range.hi - part.range.lo)
        for part in parts
        if not part.average
    ]
    return [
        *_told("R0", whole if objective.data else nothing("the objective reads no rows")),
        *_told("R", largest(losses, "no constraint on rows")),
        *_told("RL", largest(multipliers, "no multipliers of rows")),
    ]


def _of_training_set(restored: Restored, training_set: TrainingSet) -> tuple[Pair, list[Pair]]:
    """The predictions of one data set as one vector, and its multipliers, plan by plan, from one pass over the train rows."""
    signs = Signs()
    models = {name: restored.run.problem.models[name] for name in _called(restored.graph, training_set.name)}
    why = "" if training_set.program.groups_by is None else "the rows of a group are predicted together"
    why = why or next((_unknown(restored.graph, name) for name, model in models.items() if not _is_known(model)), "")
    why = why or next(_of_no_row(restored.graph, training_set.name), "")
    watched = [] if why else [Watched(model, signs) for model in models.values() if not _is_fixed(model)]
    classes = dual_classes(restored, training_set, signs)
    try:
        if watched or any(item.watched for item in classes):
            _pass(training_set, watched, classes)
    finally:
        for item in (*watched, *(own for each in classes for own in each.watched)):
            item.close()
    rows = len(training_set.train_ids)
    return nothing(why) if why else together(watched, rows), [item.pair(rows) for item in classes]


@torch.no_grad()
def _pass(training_set: TrainingSet, watched: Sequence[Watched], classes: Sequence[DualClass]) -> None:
    """Evaluate objective, constraints and multipliers of every train row once; each network listens to its own turn alone."""
    networks = [own for item in classes for own in item.watched]
    for piece in torch.split(training_set.train_ids, training_set.evaluation_batch):
        rows = with_groups(training_set.table.batch(piece), [len(piece)])
        for item in watched:
            item.listens = len(piece)
        found = Evaluation(*training_set.program.train(rows.values, rows.ids))
        for item in watched:
            item.listens = 0
        for item in networks:
            item.listens = len(piece)
        if networks:
            training_set.multipliers.read(rows.ids, found.features, rows.values)
        for item in networks:
            item.listens = 0


def _called(graph: Graph, data: str) -> list[str]:
    return sorted(called(_read(graph, data)))


def _of_no_row(graph: Graph, data: str) -> Iterator[str]:
    """Why a call that is the same on every row is not covered: its terms move together, and the rates are those of rows."""
    for node in topological(_read(graph, data)):
        if node.operation == "call" and not node.batched:
            yield f"not covered: a call of `{node.name}` is the same on every row"


def _read(graph: Graph, data: str) -> list[Node]:
    own = graph.over(data)
    roots = [*(term.value for term in own.objective), *(part.residual for part in own.parts)]
    roots += [term.value for group in own.groups for term in group.objective]
    return roots


def _is_fixed(model: nn.Module) -> bool:
    return not any(weight.requires_grad for weight in model.parameters())


def _is_known(model: nn.Module) -> bool:
    return is_covered(model) or _is_fixed(model)


def _unknown(graph: Graph, name: str) -> str:
    use = next(model.architecture for model in graph.spec.models if model.name == name)
    kind = f"`{use.architecture}`" if use is not None else "a model from Python"
    return f"not covered: no standard bound for {kind} (`{name}`)"


def _loss(predictions: Mapping[str, Pair], data: Iterable[str], lipschitz: float, width: float) -> Pair:
    """From the predictions to a loss."""
    own = largest([predictions[name] for name in data], "")
    made = own.times(lipschitz) if isfinite(lipschitz) else nothing("not covered: no Lipschitz constant")
    return made.within(width / 2)


def _told(name: str, pair: Pair) -> Iterator[Estimate]:
    if isfinite(pair.bound):
        trivial = f"half the width of the range{f'; {pair.why}' if pair.why else f', below that of {BOUND}'}"
        yield Estimate(name, pair.bound, "bound", trivial if pair.bound >= pair.half else BOUND)
    else:
        yield Estimate(name, None, "bound", pair.why, False)
    if pair.estimate < pair.half:
        yield Estimate(name, pair.estimate, "estimate", MONTE_CARLO, not isfinite(pair.bound))
