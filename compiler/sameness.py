"""Whether two lowered specs are one problem, however they are written: the same operations, the same models, the same layout."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pdual.compiler.graph import DataGraph, Graph
from pdual.compiler.ir import Node, called, topological


def differs(one: Graph, other: Graph, *, objective: bool = True, duals: bool = False) -> str | None:
    """What the problems do not share, in words; None where they are the same.

    The objective is left out where ``objective`` is False; how multipliers are held counts where ``duals`` is True. Titles,
    comments, names of lets and metrics never count.
    """
    if one.sizes != other.sizes or _content(one) != _content(other):
        return "the sets and constants"
    if [data.data for data in one.data] != [data.data for data in other.data]:
        return "the data sets"
    pairs = list(zip(one.data, other.data, strict=True))
    if any(_constraints(mine) != _constraints(theirs) for mine, theirs in pairs) or _averages(one) != _averages(other):
        return "the constraints"
    if objective and (_free(one) != _free(other) or any(_objective(a) != _objective(b) for a, b in pairs)):
        return "the objective"
    if _models(one) != _models(other):
        return "the models"
    if duals and (_duals(one), *map(_held, one.data)) != (_duals(other), *map(_held, other.data)):
        return "the multipliers"
    return None


def outline(roots: Iterable[Node]) -> tuple[Any, ...]:
    """Every node that the roots need, and the roots, without what only tells where they were written."""
    kept = list(roots)
    place: dict[int, int] = {}
    lines = []
    for node in topological(kept):
        place[node.identity] = len(place)
        arguments = tuple(place[argument.identity] for argument in node.arguments)
        lines.append((node.operation, arguments, node.attributes, node.kind, node.axes, node.inner, node.ragged))
    return tuple(lines), tuple(place[root.identity] for root in kept)


def _content(graph: Graph) -> dict[str, str]:
    return {name: known.fingerprint for name, known in graph.knowns.items()}


def _constraints(data: DataGraph) -> tuple[Any, ...]:
    masks = [part.mask for part in data.parts if part.mask is not None]
    return outline([*(part.residual for part in data.parts), *masks]), data.layout


def _objective(data: DataGraph) -> tuple[Any, ...]:
    terms = [*data.objective, *(term for group in data.groups for term in group.objective)]
    return outline(term.value for term in terms), tuple(term.scale for term in terms)


def _free(graph: Graph) -> tuple[Any, ...]:
    return outline(term.value for term in graph.data_free), tuple(term.scale for term in graph.data_free)


def _averages(graph: Graph) -> tuple[Any, ...]:
    means = [mean for item in graph.averages.weighted for mean in item.means]
    weights = [(tuple(item.means.values()), item.offset) for item in graph.averages.weighted]
    return outline(means), tuple(weights), graph.averages.layout


def _models(graph: Graph) -> tuple[Any, ...]:
    """Those that objective and constraints call; a formula over multipliers may call others."""
    roots = [part.residual for data in graph.data for part in data.parts]
    roots += [term.value for data in graph.data for term in data.objective]
    roots += [term.value for data in graph.data for group in data.groups for term in group.objective]
    roots += [mean for item in graph.averages.weighted for mean in item.means]
    names = called(roots) | {node.name for node in topological(roots) if node.operation == "norm"}
    return tuple(
        (model.name, model.signature, model.architecture, model.frozen_of)
        for model in graph.spec.models
        if model.name in names
    )


def _held(data: DataGraph) -> tuple[Any, ...]:
    choices = [(choice.kind, choice.parts, choice.cap, choice.members) for choice in data.duals]
    formulas = [formula.value for choice in data.duals for formula in choice.formulas]
    return tuple(choices), outline(formulas), outline(data.features.values()), tuple(data.features)


def _duals(graph: Graph) -> tuple[Any, ...]:
    written = [getattr(choice.written.value, "architecture", None) for data in graph.data for choice in data.duals]
    return tuple(written), tuple((choice.kind, choice.parts, choice.cap) for choice in graph.averages.duals)
