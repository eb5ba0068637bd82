"""From IR to Programs: the residual matrix of all rows, the objective, metrics and features of a data set in one module."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor, nn

from pdual.compiler.constants import Constants
from pdual.compiler.emit import Emission
from pdual.compiler.graph import DataGraph, DualChoice, Graph, ObjectiveTerm, Weighted
from pdual.compiler.ir import Node, topological
from pdual.compiler.norms import norm_weights
from pdual.compiler.program import AveragePlan, DualPlan, Evaluation, Program, Strata, Term
from pdual.compiler.rows import PartRows
from pdual.dsl import typed
from pdual.dsl.declarations.references import Settings
from pdual.dsl.declarations.registry import duals
from pdual.dsl.diagnostics import refuse
from pdual.dsl.record import record
from pdual.dsl.types import TEXT


def assemble(graph: Graph, models: nn.ModuleDict, dtype: torch.dtype) -> tuple[Program, ...]:
    """One program for every data set that blocks range or constraints average over; they share ``models``."""
    refuse_unsolved(graph)
    constants = Constants(graph.knowns, graph.sizes)
    return tuple(_program(graph, data, constants, models, dtype) for data in graph.data)


def refuse_unsolved(graph: Graph) -> None:
    """Refuse what is checked and not solved yet: objectives over groups by two fields (PD295), texts compared (PD298).

    Asked before rows are loaded too, which may take minutes.
    """
    for data in graph.data:
        for group in data.groups:
            if group.field != data.groups[0].field:
                raise refuse("PD295", group.span, data=data.data, one=data.groups[0].field, other=group.field)
        _refuse_texts(graph, data)


def _refuse_texts(graph: Graph, data: DataGraph) -> None:
    texts = {item.name for item in graph.spec.data_set(data.of).fields if item.type == TEXT}
    for node in topological(data.roots) if texts else ():
        if node.operation in ("equal", "unequal"):
            for item in topological(node.arguments):
                if item.operation == "field" and item.field.name in texts:
                    raise refuse("PD298", node.span, name=item.field.name)


def average_plan(graph: Graph) -> AveragePlan | None:
    """The constraints on averages as numbers; None where there are none."""
    averages = graph.averages
    if not averages.parts:
        return None
    scales = torch.tensor([part.layout.scale[0] for part in averages.parts], dtype=torch.float64)
    weights = {
        data.data: torch.tensor(
            [[weighted.means.get(mean, 0.0) for mean in data.means] for weighted in averages.weighted],
            dtype=torch.float64,
        )
        / scales[:, None]
        for data in graph.data
        if data.means
    }
    places = {mean: (data.data, place) for data in graph.data for place, mean in enumerate(data.means)}
    offsets = torch.tensor([weighted.offset for weighted in averages.weighted], dtype=torch.float64) / scales
    return AveragePlan(
        layout=averages.layout,
        weights=weights,
        offsets=offsets,
        reads=tuple(_reads(weighted, places) for weighted in averages.weighted),
        duals=tuple(
            DualPlan(choice.kind, choice.parts, choice.columns, choice.cap, settings_of(choice))
            for choice in averages.duals
        ),
        multiplier_units=tuple(graph.objective_scale / scale for scale in scales.tolist()),
    )


def _reads(weighted: Weighted, places: Mapping[Node, tuple[str, int]]) -> tuple[tuple[str, int], ...]:
    means = [mean for mean, weight in weighted.means.items() if weight]
    return tuple(places[mean] for mean in sorted(means, key=lambda mean: mean.identity))


def data_free_terms(graph: Graph, models: nn.ModuleDict, dtype: torch.dtype) -> tuple[Term, ...]:
    """The terms that need no data."""
    constants = Constants(graph.knowns, graph.sizes)
    terms = []
    for term in graph.data_free:
        emission = Emission(constants, graph.sizes, models, dtype)
        module = _WithoutRows(emission.finish(emission.dense(term.value) * (1.0 / term.scale)))
        weights = norm_weights(term.value, constants)
        scaled = None if weights is None else {name: weight / term.scale for name, weight in weights.items()}
        terms.append(Term(module, graph.objective_scale, scaled))
    return tuple(terms)


class _WithoutRows(nn.Module):
    """A program that reads no rows; the models are its own already."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, models: nn.ModuleDict) -> Any:
        return self.inner({}, None)


class _AsEvaluation(nn.Module):
    """Names the outputs of a program."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, values: Any, ids: Tensor) -> Evaluation:
        return Evaluation(*self.inner(values, ids))


def _program(graph: Graph, data: DataGraph, constants: Constants, models: nn.ModuleDict, dtype: torch.dtype) -> Program:
    scale = graph.objective_scale
    return Program(
        data=data.data,
        layout=data.layout,
        objective_scale=scale,
        train=_AsEvaluation(_module(graph, data, constants, models, dtype, with_metrics=False)),
        evaluate=_AsEvaluation(_module(graph, data, constants, models, dtype, with_metrics=True)),
        duals=tuple(_plan(graph, data, choice, constants, models, dtype) for choice in data.duals),
        metrics=tuple(name for name, _ in data.metrics),
        means=len(data.means),
        grouped_by=data.groups[0].field if data.groups else None,
        strata=_strata(graph, data, constants, models, dtype),
        multiplier_units=tuple(scale / width for part in data.layout.parts for width in part.scale),
        of=data.of,
        grouping=data.grouping,
    )


def emission_of(
    graph: Graph, data: DataGraph, constants: Constants, models: nn.ModuleDict, dtype: torch.dtype
) -> Emission:
    """For what is said of every row of a data set, or of every group."""
    if data.grouping is not None:
        return Emission(constants, graph.sizes, models, dtype, data.grouping.axes, of_groups=True)
    return Emission(constants, graph.sizes, models, dtype, tuple(group.axis for group in data.groups))


def features_module(graph: Graph, data: DataGraph, models: nn.ModuleDict, dtype: torch.dtype) -> nn.Module:
    """What duals read, alone: called as ``module(values, ids)``, gives the features of an Evaluation."""
    emission = emission_of(graph, data, Constants(graph.knowns, graph.sizes), models, dtype)
    emission.meet(list(data.features.values()))
    return emission.finish({key: emission.rows(node) for key, node in data.features.items()})


def _module(
    graph: Graph, data: DataGraph, constants: Constants, models: nn.ModuleDict, dtype: torch.dtype, with_metrics: bool
) -> nn.Module:
    emission = emission_of(graph, data, constants, models, dtype)
    emission.meet(data.roots)
    objective = _objective(emission, data.objective, emission.rows)
    grouped = _objective(emission, [term for group in data.groups for term in group.objective], emission.groups)
    residuals, mask = _residuals(emission, data.parts, with_metrics)
    features = {key: emission.rows(node) for key, node in data.features.items()}
    metrics = {name: emission.rows(node) for name, node in data.metrics} if with_metrics else {}
    averaged, kept = _averaged(emission, data.means)
    return emission.finish((objective, residuals, mask, features, metrics, grouped, averaged, kept))


def _averaged(emission: Emission, means: Sequence[Node]) -> tuple[Any, Any]:
    """What means over all rows are of, [batch, means], and which rows count for each, None where all do."""
    if not means:
        return None, None
    values = torch.stack([emission.rows(mean.arguments[0]) for mean in means], 1)
    if all(len(mean.arguments) == 1 for mean in means):
        return values, None
    kept = torch.cat([_counted(emission, mean) for mean in means], 1)
    return torch.where(kept, values, 0.0), kept


def _counted(emission: Emission, mean: Node) -> Any:
    if len(mean.arguments) == 1:
        return emission.always(1)
    return emission.rows(mean.arguments[1]).unsqueeze(1)


def _objective(emission: Emission, terms: Sequence[ObjectiveTerm], each: Callable[[Node], Any]) -> Any:
    total: Any = None
    for term in terms:
        value = each(term.value)
        if term.scale != 1.0:
            value = value * (1.0 / term.scale)
        total = value if total is None else total + value
    return total


@record(frozen=True, slots=True)
class _Affine:
    """A row as ``sign * quantity + offset``: two sides of one quantity then read it once."""

    quantity: Node
    sign: float
    offset: Node | None


def _affine(node: Node) -> _Affine:
    if node.operation == "subtract":
        left, right = node.arguments
        if right.constant:
            return _Affine(left, 1.0, right)
        if left.constant:
            return _Affine(right, -1.0, left)
    return _Affine(node, 1.0, None)


def _strata(
    graph: Graph, data: DataGraph, constants: Constants, models: nn.ModuleDict, dtype: torch.dtype
) -> Strata | None:
    means = [mean for group in data.groups for mean in group.strata]
    if not means:
        return None
    emission = Emission(constants, graph.sizes, models, dtype)
    kept = [node for mean in means for node in mean]
    emission.meet(kept)
    columns = [emission.rows(node).unsqueeze(1) for node in kept]
    module = emission.finish(_beside(columns))
    ends = list(accumulate(len(mean) for mean in means))
    return Strata(module, tuple(tuple(range(end - len(mean), end)) for mean, end in zip(means, ends, strict=True)))


def _residuals(emission: Emission, parts: Sequence[PartRows], with_mask: bool) -> tuple[Any, Any]:
    """Scaled ``left - right`` of every column, [batch, columns], 0 where a row has no such entry; and which it has, where asked for."""
    if not parts:
        return emission.no_columns(), None
    pieces, factors, offsets = [], [], []
    for part in parts:
        row = _affine(part.residual)
        pieces.append(_columns(emission, row.quantity, part))
        factor = torch.tensor(part.layout.scale, dtype=torch.float64).reciprocal()
        offset = torch.zeros_like(factor)
        if row.offset is not None:
            offset = -row.sign * emission.entries(row.offset, part.axes, part.layout.members) * factor
        factors.append(row.sign * factor)
        offsets.append(offset)
    together = _beside(pieces)
    residuals = _moved(emission, together, torch.cat(factors), torch.cat(offsets))
    if len(parts) == 1 and parts[0].mask is not None and parts[0].mask.operation == "not":
        left_out = _columns(emission, parts[0].mask.arguments[0], parts[0])
        return torch.masked_fill(residuals, left_out, 0.0), torch.logical_not(left_out) if with_mask else None
    mask = _mask(emission, parts)
    if mask is None:
        return residuals, None
    return torch.where(mask, residuals, 0.0), mask if with_mask else None


def _moved(emission: Emission, values: Any, factor: Tensor, offset: Tensor) -> Any:
    """``factor * values + offset``, without a product where there is nothing to multiply."""
    if bool((factor == 1.0).all()):
        return torch.add(values, emission.buffer(offset, "offset")) if bool(offset.any()) else values
    if bool((factor == -1.0).all()):
        return torch.sub(emission.buffer(offset, "offset"), values)
    return torch.addcmul(emission.buffer(offset, "offset"), values, emission.buffer(factor, "factor"))


def _mask(emission: Emission, parts: Sequence[PartRows]) -> Any:
    if all(part.mask is None for part in parts):
        return None
    pieces = []
    for part in parts:
        if part.mask is None:
            pieces.append(emission.always(part.layout.size))
        else:
            pieces.append(_columns(emission, part.mask, part))
    return _beside(pieces)


def _beside(pieces: Sequence[Any]) -> Any:
    """Side by side, without a copy where there is one alone."""
    return torch.cat(list(pieces), 1) if len(pieces) > 1 else pieces[0]


def _columns(emission: Emission, node: Node, part: PartRows) -> Any:
    """A node on a part's live entries, flat: [batch, entries]."""
    return emission.flat(node, part.axes, part.layout.members)


def settings_of(choice: DualChoice) -> Settings:
    """The settings of its own of the kind in force: those that are written, the defaults where the kind is another one."""
    written = choice.written.value
    if isinstance(written, typed.HeldDual) and written.kind == choice.kind and written.settings is not None:
        return written.settings
    return duals()[choice.kind].settings()


def _plan(
    graph: Graph, data: DataGraph, choice: DualChoice, constants: Constants, models: nn.ModuleDict, dtype: torch.dtype
) -> DualPlan:
    formula: nn.Module | None = None
    if choice.formulas:
        emission = emission_of(graph, data, constants, models, dtype)
        emission.meet([f.value for f in choice.formulas])
        by_name = {part.layout.name: part for part in data.parts}
        pieces = [emission.flat(f.value, f.axes, by_name[f.part].layout.members) for f in choice.formulas]
        formula = emission.finish(_beside(pieces))
    held, kind = choice.written.value, duals()[choice.kind]
    return DualPlan(
        kind=choice.kind,
        parts=choice.parts,
        columns=choice.columns,
        cap=choice.cap,
        architecture=held.architecture
        if isinstance(held, typed.HeldDual) and "architecture" in kind.arguments
        else None,
        settings=settings_of(choice),
        features=tuple(choice.features),
        members=choice.members,
        formula=formula,
    )
