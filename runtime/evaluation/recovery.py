"""Multipliers against a reference: another run that saw the rows, or a solver of its own (method.md, "What is measured")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from pdual.compiler.layout import Layout, Sense
from pdual.compiler.program import Program
from pdual.runtime.data.tables import Table
from pdual.runtime.evaluation.ranking import Flags, Reals, auc, mean, ndcg, pearson, precision, spearman, spearman_top
from pdual.runtime.evaluation.result import EvaluationResult
from pdual.runtime.storage.records import Ranking, Recovery

#: A reference multiplier above this is one of a tight constraint; scaled.
TIGHT = 1e-3

#: A multiplier below this counts as 0 on both sides: an interior point leaves 1e-9 where a constraint is slack. Scaled.
SILENT = 1e-4


Entries = TypeVar("Entries", Reals, Flags)


@dataclass(frozen=True, slots=True)
class Reference:
    """Scaled multipliers of some rows, [n, columns]; NaN in columns that it says nothing about. ``source`` names where from."""

    source: str
    values: Tensor


def solver_reference(program: Program, table: Table, ids: Tensor) -> Reference | None:
    """The table's own multipliers of these rows, scaled; None where it has none of any part."""
    layout = program.layout
    values = torch.full((len(ids), layout.columns), torch.nan, dtype=torch.float64)
    units = torch.tensor(program.multiplier_units, dtype=torch.float64)
    for part, start in zip(layout.parts, layout.starts, strict=True):
        own = table.multipliers.get(part.name)
        if own is None:
            continue
        entries = own.index_select(0, ids.to(own.device)).double().cpu()
        if entries.shape[1] != part.size:  # of every member, also of those that have no row
            entries = entries[:, [members[0] for members in part.members]]
        columns = slice(start, start + part.size)
        values[:, columns] = entries / units[columns]
    return None if bool(values.isnan().all()) else Reference("solver", values)


def solver_recovery(
    program: Program,
    table: Table,
    passes: Mapping[str, EvaluationResult],
    families: Sequence[str] | None = None,
    rho: Tensor | None = None,
) -> dict[str, Recovery]:
    """By split: the multipliers of each pass against the table's own; nothing where either side has none."""
    training = solver_reference(program, table, table.splits["train"])
    if training is None:
        return {}
    found = {}
    for split, item in passes.items():
        reference = solver_reference(program, table, item.ids)
        if reference is not None and item.multipliers is not None and not bool(item.multipliers.isnan().any()):
            found[split] = recovery(program.layout, item, reference, training.values, families, rho)
    return found


def recovery(
    layout: Layout,
    result: EvaluationResult,
    reference: Reference,
    training: Tensor | None = None,
    families: Sequence[str] | None = None,
    rho: Tensor | None = None,
) -> Recovery:
    """The scores of a pass's multipliers on its rows.

    ``training`` [m, columns] are reference multipliers of train rows, for the row ``constant``; ``families`` restricts the
    inequalities that are ranked; ``rho`` [columns] is for the row ``stepped``. Equalities have multipliers of either sign and are correlated instead.
    """
    assert result.multipliers is not None
    truth, said = _numbers(reference.values), _numbers(result.multipliers)
    ranked = _columns(layout, Sense.AT_MOST, truth, families)
    live = None if result.mask is None else result.mask.cpu().numpy()[:, ranked]
    wanted = _silenced(truth[:, ranked], live)
    own, margin = _silenced(said[:, ranked], live), _numbers(result.residuals)[:, ranked]
    stepped = None if rho is None else own + _numbers(rho)[ranked] * margin
    constant = None
    if training is not None:
        level = _silenced(_numbers(training)[:, ranked].mean(0), None)
        constant = np.broadcast_to(level, wanted.shape).copy()
    pairs = _pairs(layout, ranked)
    net, own_net = _netted(wanted, pairs), _netted(own, pairs)
    constant_net = None if constant is None else _netted(constant, pairs)
    by_constraint = _by_constraint(net, own_net, live)
    moving = net.max(0, initial=0.0) > TIGHT if len(wanted) else np.zeros(len(ranked), bool)
    names = _names(layout)
    return Recovery(
        **_pooled(wanted, own, live).model_dump(),
        against=reference.source,
        rows=len(wanted),
        constraints=len(ranked),
        active_rate=float(_alive(wanted > TIGHT, live).mean()) if wanted.size else 0.0,
        per_row=_per_row(wanted, own, live),
        netted=_pooled(net, own_net, live),
        netted_per_row=_per_row(net, own_net, live),
        margin=_pooled(wanted, margin, live),
        margin_per_row=_per_row(wanted, margin, live),
        stepped=_pooled(wanted, stepped, live) if stepped is not None else None,
        stepped_per_row=_per_row(wanted, stepped, live) if stepped is not None else None,
        constant=_pooled(wanted, constant, live) if constant is not None else None,
        constant_per_row=_per_row(wanted, constant, live) if constant is not None else None,
        constant_netted=_pooled(net, constant_net, live) if constant_net is not None else None,
        constant_netted_per_row=_per_row(net, constant_net, live) if constant_net is not None else None,
        spearman_by_constraint={
            names[column]: None if np.isnan(value) else float(value)
            for column, value, moves in zip(ranked, by_constraint, moving, strict=True)
            if moves
        },
        spearman_median=_median(by_constraint[moving]),
        correlation=_correlations(layout, truth, said),
    )


def _pooled(wanted: Reals, score: Reals, live: Flags | None) -> Ranking:
    """All rows and constraints as one list."""
    return _ranking([(_alive(wanted, live).reshape(1, -1), _alive(score, live).reshape(1, -1))])


def _per_row(wanted: Reals, score: Reals, live: Flags | None) -> Ranking:
    """Row by row, averaged; rows with equally many live entries at once."""
    if live is None:
        return _ranking([(wanted, score)])
    counts = live.sum(1)
    groups = []
    for count in np.unique(counts[counts > 0]):
        rows = counts == count
        chosen = live[rows]
        groups.append((wanted[rows][chosen].reshape(-1, count), score[rows][chosen].reshape(-1, count)))
    return _ranking(groups)


def _ranking(groups: Sequence[tuple[Reals, Reals]]) -> Ranking:
    """The mean over the rows of all groups, each [rows, entries]."""
    kept = [(wanted, score, wanted > TIGHT) for wanted, score in groups if wanted.size]
    if not kept:
        return Ranking(auc=None, ndcg=None, spearman=None)
    return Ranking(
        auc=mean(np.concatenate([auc(tight, score) for _, score, tight in kept])),
        ndcg=mean(np.concatenate([ndcg(wanted, score) for wanted, score, _ in kept])),
        spearman=mean(np.concatenate([spearman(wanted, score) for wanted, score, _ in kept])),
        precision=mean(np.concatenate([precision(tight, score) for _, score, tight in kept])),
        spearman_top=mean(np.concatenate([spearman_top(wanted, score, tight.sum(1)) for wanted, score, tight in kept])),
    )


def _by_constraint(wanted: Reals, score: Reals, live: Flags | None) -> Reals:
    """Each constraint over the rows on which it is live; NaN where there is nothing to compare."""
    found = np.full(wanted.shape[1], np.nan)
    if len(wanted) < 2:
        return found
    if live is None:
        return spearman(wanted.T.copy(), score.T.copy())
    for column in range(len(found)):
        rows = np.flatnonzero(live[:, column])
        if len(rows) > 1:
            found[column] = spearman(wanted[None, rows, column], score[None, rows, column])[0]
    return found


def _alive(values: Entries, live: Flags | None) -> Entries:
    return values if live is None else values[live]


def _median(values: Reals) -> float | None:
    kept = values[~np.isnan(values)]
    return float(np.median(kept)) if len(kept) else None


def _columns(layout: Layout, sense: Sense, truth: Reals, families: Sequence[str] | None) -> list[int]:
    """The columns of a sense on which the reference says something."""
    told = [int(count) == 0 for count in np.isnan(truth).sum(axis=0)]
    return [
        column
        for part, start in zip(layout.parts, layout.starts, strict=True)
        for column in range(start, start + part.size)
        if part.sense is sense and told[column] and (families is None or part.family in families)
    ]


def _pairs(layout: Layout, ranked: Sequence[int]) -> list[tuple[int, int]]:
    """Positions, within ``ranked``, of the lower and the upper side of every entry that has both.

    Of a quantity without room between its limits only their difference is determined, so a pair is compared by it: the
    net of both goes to the side that it points to.
    """
    sides: dict[tuple[str, str, tuple[int, ...]], dict[str, int]] = {}
    where = {column: position for position, column in enumerate(ranked)}
    for part, start in zip(layout.parts, layout.starts, strict=True):
        component, _, side = part.part.rpartition(".")
        if side not in ("lower", "upper"):
            continue
        for entry, members in enumerate(part.members):
            if start + entry in where:
                sides.setdefault((part.family, component, members), {})[side] = where[start + entry]
    return [(found["lower"], found["upper"]) for found in sides.values() if len(found) == 2]


def _netted(values: Reals, pairs: Sequence[tuple[int, int]]) -> Reals:
    if not pairs:
        return values
    low, high = (np.array(side) for side in zip(*pairs, strict=True))
    net, found = values[:, high] - values[:, low], values.copy()
    found[:, high], found[:, low] = np.maximum(net, 0.0), np.maximum(-net, 0.0)
    return found


def _correlations(layout: Layout, truth: Reals, said: Reals) -> Mapping[str, float | None]:
    """Of the multipliers of each equality part, over all its rows and entries."""
    found: dict[str, float | None] = {}
    for part, start in zip(layout.parts, layout.starts, strict=True):
        columns = slice(start, start + part.size)
        if part.sense is Sense.EQUAL and part.size and not np.isnan(truth[:, columns]).any():
            value = pearson(truth[:, columns].reshape(1, -1), said[:, columns].reshape(1, -1))[0]
            found[part.name] = None if np.isnan(value) else float(value)
    return found


def _names(layout: Layout) -> list[str]:
    return [f"{part.name}[{address}]" if address else part.name for part in layout.parts for address in part.addresses]


def _silenced(values: Reals, live: Flags | None) -> Reals:
    return np.where(values < SILENT if live is None else (values < SILENT) | ~live, 0.0, values)


def _numbers(values: Tensor) -> Reals:
    found: Reals = values.detach().double().cpu().numpy()
    return found
