"""``power.demands``: demands on a grid, the optimum of each and its multipliers, as a table."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch

from pdual.dsl.declarations.references import Settings
from pdual.dsl.declarations.splits import SPLITS, split_sizes
from pdual.dsl.diagnostics import refuse
from pdual.packs.power.cases.tables import enumerated, named
from pdual.packs.power.declarations.sources import PowerDemandsSettings
from pdual.packs.power.optima.cache import CHUNK, ChunkStore
from pdual.packs.power.optima.chunks import ChunkSolver, GridProblem
from pdual.packs.power.optima.file import read_demands
from pdual.packs.power.optima.grid import Complexes, Grid, Reals, grid_of, lacking
from pdual.packs.power.optima.record import MULTIPLIER, record_slices, record_width
from pdual.packs.power.optima.streams import Stream
from pdual.runtime.data.cache import cache_root
from pdual.runtime.data.context import SourceContext
from pdual.runtime.data.tables import ColumnTable


@dataclass(frozen=True)
class _Split:
    """The records of one split, [rows, width]; ``first`` is its first row's number in the full data set."""

    name: str
    first: int
    rows: Reals


def load_demands(settings: Settings, context: SourceContext) -> ColumnTable:
    """Demands with their optimal power flow.

    Columns, float64, in per unit: ``load.re``, ``load.im``, ``v.re``, ``v.im`` [rows, bus], ``s.re``,
    ``s.im`` [rows, gen]; ``optimum`` [rows] in $/h. ``multipliers`` are the solver's, by part of the
    constraints of opf30, in $/h per unit, for L = cost + sum of multiplier * (left - right). Random demands:
    P and Q of each load times independent U[1 - spread, 1 + spread], kept when they have an optimum. Each
    split is a stream of its own, so that ``context.limit`` gives the first rows of the full data set. A
    file's rows go to train, val and test in their order. Raises a Refusal with PD515 (hardly a demand has an
    optimum), PD516 to PD519 (the file), PD520 (no grid).
    """
    assert isinstance(settings, PowerDemandsSettings)
    problem = _problem(settings, context)
    splits = _drawn(settings, context, problem) if settings.file is None else _own(settings, context, problem)
    return _table(problem.grid, splits)


def _problem(settings: PowerDemandsSettings, context: SourceContext) -> GridProblem:
    name = settings.grid.given
    known = context.knowns[name]
    if missing := lacking(known):
        raise refuse("PD520", context.span, given=name, missing=enumerated(missing))
    return GridProblem(known.fingerprint, settings.iterations, grid_of(known))


def _solver(context: SourceContext, problem: GridProblem, *recipe: object) -> ChunkSolver:
    content = (problem.fingerprint, problem.iterations, *recipe)
    store = ChunkStore(cache_root(context), content, record_width(problem.grid), context.progress)
    return ChunkSolver(problem, store, context.workers, context.progress)


def _drawn(settings: PowerDemandsSettings, context: SourceContext, problem: GridProblem) -> list[_Split]:
    full = split_sizes(settings.samples, settings.split)
    wanted = _limited(full, context)
    context.progress.start("solving demands", sum(wanted.values()))
    splits = []
    for name, rows in wanted.items():
        # only the test split follows `draw`: a fresh test set must not cost a fresh training set
        numbers = (settings.seed, SPLITS.index(name), settings.draw if name == "test" else 0)
        solver = _solver(context, problem, settings.spread, numbers)
        stream = Stream(solver, settings.spread, numbers, context.span)
        splits.append(_Split(name, _before(name, full), stream.first(rows)))
    context.progress.finish()
    return splits


def _own(settings: PowerDemandsSettings, context: SourceContext, problem: GridProblem) -> list[_Split]:
    assert settings.file is not None
    loads = read_demands(settings.file, context.folder, problem.grid.buses, context.span)
    full = split_sizes(len(loads), settings.split)
    context.progress.start("solving demands", sum(_limited(full, context).values()))
    splits, unsolved = [], []
    for name, size in _limited(full, context).items():
        first = _before(name, full)
        rows, missing = _solved(loads[first : first + size], context, problem)
        splits.append(_Split(name, first, rows))
        unsolved += [str(first + row) for row in missing]
    context.progress.finish()
    if unsolved:
        raise refuse(
            "PD519",
            context.span,
            rows=named(unsolved, "row"),
            file=settings.file,
            given=settings.grid.given,
            verb="has" if len(unsolved) == 1 else "have",
            count=len(unsolved),
            total=sum(_limited(full, context).values()),
        )
    return splits


def _solved(loads: Complexes, context: SourceContext, problem: GridProblem) -> tuple[Reals, list[int]]:
    """The records of the demands that have an optimum, and the positions of those that have none."""
    solver = _solver(context, problem, hashlib.sha256(loads.tobytes()).hexdigest())
    indices = range(-(-len(loads) // CHUNK))
    chunks = solver.chunks(indices, lambda index: loads[index * CHUNK : (index + 1) * CHUNK])
    kept = {index * CHUNK + int(row) for index in indices for row in chunks[index].kept}
    return np.concatenate([chunk.rows for chunk in chunks]), sorted(set(range(len(loads))) - kept)


def _limited(sizes: Mapping[str, int], context: SourceContext) -> dict[str, int]:
    return {name: size if context.limit is None else min(size, context.limit) for name, size in sizes.items()}


def _before(name: str, sizes: Mapping[str, int]) -> int:
    """Rows of the splits that come before this one."""
    names = list(sizes)
    return sum(sizes[other] for other in names[: names.index(name)])


def _table(grid: Grid, splits: list[_Split]) -> ColumnTable:
    rows = np.concatenate([split.rows for split in splits])
    groups = {name: torch.from_numpy(rows[:, place].copy()) for name, place in record_slices(grid).items()}
    multipliers = {name: groups.pop(name) for name in list(groups) if name.startswith(MULTIPLIER)}
    groups["optimum"] = groups["optimum"][:, 0]
    sizes = {split.name: len(split.rows) for split in splits}
    content = hashlib.sha256(repr(list(sizes.items())).encode())
    content.update(rows.tobytes())
    return ColumnTable(
        columns=groups,
        splits={name: _before(name, sizes) + torch.arange(size) for name, size in sizes.items()},
        fingerprint=content.hexdigest(),
        multipliers={name.removeprefix(MULTIPLIER): entries for name, entries in multipliers.items()},
        labels=[str(split.first + row) for split in splits for row in range(len(split.rows))],
    )
