"""How multipliers are held, and what that costs: a table of all of them against the networks that a spec chose."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod
from typing import TypeAlias

from pdual.compiler.graph import DataGraph, DualChoice, Graph
from pdual.compiler.open_axes import called_signature
from pdual.dsl import typed
from pdual.dsl.declarations.registry import FORMULA, architectures
from pdual.dsl.declarations.registry import duals as kinds
from pdual.dsl.declarations.signature import Output, Signature
from pdual.dsl.types import ArrayType, Axis, FixedAxis, Kind, SetAxis
from pdual.explaining import text
from pdual.explaining.records import DualFact, StateFact

#: Bytes of one multiplier in a table.
WIDTH = 4


#: Rows of each split by data set, None where only the data tell.
Rows: TypeAlias = Mapping[str, Mapping[str, int] | None]


def duals(spec: typed.TypedSpec, graph: Graph, rows: Rows) -> tuple[DualFact, ...]:
    """Every dual with the parts it really holds."""
    of_rows = [
        _dual(choice, data.data, spec, graph, _train(rows.get(data.data)))
        for data in graph.data
        for choice in data.duals
    ]
    averages = graph.averages
    over = [", ".join(dict.fromkeys(name for part in averages.parts for name in averages.data_of(part)))]
    return (*of_rows, *(_dual(choice, over[0], spec, graph, None) for choice in averages.duals))


def states(spec: typed.TypedSpec, graph: Graph, rows: Rows) -> tuple[StateFact, ...]:
    """What holds the multipliers of each data set that has some."""
    return tuple(_state(data, spec, graph, _train(rows.get(data.data))) for data in graph.data if data.layout.columns)


def _train(splits: Mapping[str, int] | None) -> int | None:
    return splits.get("train") if splits is not None else None


def _dual(choice: DualChoice, data: str, spec: typed.TypedSpec, graph: Graph, rows: int | None) -> DualFact:
    return DualFact(
        data=data,
        kind=choice.kind,
        parts=choice.parts,
        columns=len(choice.columns),
        cap=choice.cap,
        text=_words(choice, spec),
        reads=tuple(choice.features),
        parameters=numbers(choice, spec, graph, rows),
        is_default=choice.written.is_default,
    )


def _words(choice: DualChoice, spec: typed.TypedSpec) -> str:
    value = choice.written.value
    if choice.kind == FORMULA:
        return text.written(spec.source, value.value.span if isinstance(value, typed.FormulaDual) else value.span)
    if kinds()[choice.kind].fitted and isinstance(value, typed.HeldDual) and value.architecture is not None:
        on = f" on {text.written(spec.source, value.on.span)}" if value.on is not None else ""
        return f"{text.setting(value.architecture)}{on}"
    return choice.kind


def _state(data: DataGraph, spec: typed.TypedSpec, graph: Graph, rows: int | None) -> StateFact:
    columns = data.layout.columns
    # Two duals may read one model: it counts once.
    counts = [numbers(choice, spec, graph, rows) for choice in data.duals if choice.kind != FORMULA]
    counts += [_parameters(name, spec, graph) for name in _formula_models(data)]
    known = [count for count in counts if count is not None]
    total = sum(known) if len(known) == len(counts) else None
    return StateFact(data.data, columns, rows, None if rows is None else rows * columns * WIDTH, total)


def numbers(choice: DualChoice, spec: typed.TypedSpec, graph: Graph, rows: int | None) -> int | None:
    """How many numbers hold the multipliers of a choice; None where a size is not known."""
    kind = kinds()[choice.kind]
    if kind.numbers is not None:
        return kind.numbers(rows, len(choice.columns))
    if choice.kind == FORMULA:
        return _known_sum(_parameters(name, spec, graph) for name in sorted(choice.models))
    return _learned(choice, graph)


def _learned(choice: DualChoice, graph: Graph) -> int | None:
    """Networks per index set, or one on everything flattened; and a bias of its own for every column."""
    value = choice.written.value
    if not isinstance(value, typed.HeldDual) or value.architecture is None:
        return None
    if choice.members:
        heads: dict[str, set[str]] = {}
        for key, _, head in choice.members:
            heads.setdefault(key, set()).add(head)
        shapes = [(_width(choice.features[key][1:], graph), len(found)) for key, found in heads.items()]
    else:
        widths = [_width(axes, graph) for axes in choice.features.values()]
        shapes = [(_known_sum(widths), len(choice.columns))]
    declaration = architectures()[value.architecture.architecture]
    counts = [
        None if width is None else declaration.parameters(_vectors(width, outputs), value.architecture.settings, {})
        for width, outputs in shapes
    ]
    networks = _known_sum(counts)
    return None if networks is None else networks + len(choice.columns)


def _width(axes: tuple[Axis, ...], graph: Graph) -> int | None:
    sides = [
        axis.size if isinstance(axis, FixedAxis) else graph.sizes.get(axis.set) if isinstance(axis, SetAxis) else None
        for axis in axes
    ]
    known = [side for side in sides if side is not None]
    return prod(known) if len(known) == len(sides) else None


def _vectors(inputs: int, outputs: int) -> Signature:
    return Signature((("x", _vector(inputs)),), (Output("", _vector(outputs)),))


def _vector(width: int) -> ArrayType:
    return ArrayType(Kind.REAL, (FixedAxis(width),))


def _formula_models(data: DataGraph) -> list[str]:
    return sorted({name for choice in data.duals for name in choice.models})


def _parameters(name: str, spec: typed.TypedSpec, graph: Graph) -> int | None:
    model = next(item for item in spec.models if item.name == name)
    if model.architecture is None:
        return None
    declaration = architectures()[model.architecture.architecture]
    return declaration.parameters(called_signature(model, spec), model.architecture.settings, graph.sizes)


def _known_sum(counts: Iterable[int | None]) -> int | None:
    found = list(counts)
    known = [count for count in found if count is not None]
    return sum(known) if len(known) == len(found) else None
