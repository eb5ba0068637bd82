"""``power.demands``: demands on a grid, the optimum of each and its multipliers, as a table."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch

from pdual.dsl.declarations.references import Settings
from pdual.dsl.declarations.sources_power import SPLITS, PowerDemandsSettings, split_sizes
from pdual.dsl.diagnostics import refuse
from pdual.runtime.context import SourceContext
from pdual.runtime.data import ColumnTable
from pdual.runtime.sources.power_cache import ChunkStore, cache_root
from pdual.runtime.sources.power_chunks import CHUNK, GridProblem, Job, solve_jobs
from pdual.runtime.sources.power_file import read_demands
from pdual.runtime.sources.power_grid import Complexes, Reals, grid_of, lacking
from pdual.runtime.sources.power_record import MULTIPLIER, record_slices, record_width
from pdual.runtime.sources.power_streams import Stream
from pdual.runtime.sources.power_tables import enumerated


@dataclass(frozen=True)
class _Split:
    """The records of one split, [rows, width], and the position of its first row in the full data set."""

    name: str
    first: int
    rows: Reals


def load_demands(settings: Settings, context: SourceContext) -> ColumnTable:
    """Demands with their optimal power flow.

    Columns, float64, per unit: ``load.re``, ``load.im``, ``v.re``, ``v.im`` [rows, bus], ``s.re``, ``s.im`` [rows, gen];
    ``optimum`` [rows] in $/h. ``multipliers`` are the solver's, by part of the constraints of opf30, in $/h per unit, for
    L = cost + sum of multiplier * (left - right). Random demands: P and Q of each load times independent
    U[1 - spread, 1 + spread], kept when they have an optimum; each split is a stream of its own, so ``context.limit`` gives
    the first rows of the full data set. A file's rows go to train, val and test in their order.
    Raises a Refusal: PD515 to PD520.
    """
    assert isinstance(settings, PowerDemandsSettings)
    problem = _problem(settings, context)
    splits = _drawn(settings, context, problem) if settings.file is None else _given(settings, context, problem)
    return _table(problem, splits)


def _problem(settings: PowerDemandsSettings, context: SourceContext) -> GridProblem:
    name = settings.grid.given
    known = context.knowns[name]
    if missing := lacking(known):
        raise refuse("PD520", context.span, given=name, missing=enumerated(missing))
    return GridProblem(known.fingerprint, settings.iterations, grid_of(known))


def _drawn(settings: PowerDemandsSettings, context: SourceContext, problem: GridProblem) -> list[_Split]:
    full = split_sizes(settings.samples, settings.split)
    wanted = {name: min(size, context.limit or size) for name, size in full.items()}
    context.progress.start("solving demands", sum(wanted.values()))
    splits = [
        _Split(name, _before(name, full), _stream(name, settings, context, problem).first(rows))
        for name, rows in wanted.items()
    ]
    context.progress.finish()
    return splits


def _stream(name: str, settings: PowerDemandsSettings, context: SourceContext, problem: GridProblem) -> Stream:
    # only the test split follows `draw`: a fresh test set must not cost a fresh training set
    numbers = (settings.seed, SPLITS.index(name), settings.draw if name == "test" else 0)
    recipe = (problem.fingerprint, settings.iterations, settings.spread, numbers)
    store = ChunkStore(cache_root(context), recipe, record_width(problem.grid), context.progress)
    return Stream(name, problem, settings.spread, numbers, store, context.workers, context.progress, context.span)


def _given(settings: PowerDemandsSettings, context: SourceContext, problem: GridProblem) -> list[_Split]:
    assert settings.file is not None
    loads = read_demands(settings.file, context.folder, problem.grid.buses, context.span)
    full = split_sizes(len(loads), settings.split)
    wanted = {name: min(size, context.limit or size) for name, size in full.items()}
    taken = np.concatenate([_before(name, full) + np.arange(rows) for name, rows in wanted.items()])
    rows, unsolved = _solved(loads[taken], context, problem)
    if len(unsolved):
        raise refuse(
            "PD519",
            context.span,
            rows=enumerated([f"row {row}" for row in taken[unsolved]]),
            file=settings.file,
            given=settings.grid.given,
            count=len(unsolved),
            total=len(taken),
        )
    return [_Split(name, _before(name, full), rows[_before(name, wanted) :][:size]) for name, size in wanted.items()]


def _solved(loads: Complexes, context: SourceContext, problem: GridProblem) -> tuple[Reals, np.ndarray[tuple[int, ...], np.dtype[np.int64]]]:
    """The records of those demands that have an optimum, and the positions of those that have none."""
    digest = hashlib.sha256(np.ascontiguousarray(loads).tobytes()).hexdigest()
    recipe = (problem.fingerprint, problem.iterations, digest)
    store = ChunkStore(cache_root(context), recipe, record_width(problem.grid), context.progress)
    parts = {index: loads[index * CHUNK :][:CHUNK] for index in range(-(-len(loads) // CHUNK))}
    solved = {index: chunk for index in parts if (chunk := store.load(index)) is not None}
    context.progress.start("solving demands", len(loads))
    context.progress.advance(sum(len(chunk.kept) for chunk in solved.values()))
    jobs = [Job("file", index, part) for index, part in parts.items() if index not in solved]
    for job, chunk in solve_jobs(problem, jobs, context.workers):
        store.save(job.index, chunk)
        solved[job.index] = chunk
        context.progress.advance(len(job.loads))
    context.progress.finish()
    kept = np.concatenate([index * CHUNK + solved[index].kept for index in parts])
    return np.concatenate([solved[index].rows for index in parts]), np.setdiff1d(np.arange(len(loads)), kept)


def _before(name: str, sizes: Mapping[str, int]) -> int:
    """Rows of the splits that come before this one."""
    names = list(sizes)
    return sum(sizes[other] for other in names[: names.index(name)])


def _table(problem: GridProblem, splits: list[_Split]) -> ColumnTable:
    rows = np.concatenate([split.rows for split in splits])
    places = record_slices(problem.grid)
    columns = {name: torch.from_numpy(rows[:, place].copy()) for name, place in places.items()}
    columns["optimum"] = columns["optimum"][:, 0]
    sizes = {split.name: len(split.rows) for split in splits}
    ids = {split.name: _before(split.name, sizes) + torch.arange(len(split.rows)) for split in splits}
    labels = [str(split.first + row) for split in splits for row in range(len(split.rows))]
    return ColumnTable(
        {name: column for name, column in columns.items() if not name.startswith(MULTIPLIER)},
        ids,
        _fingerprint(rows, sizes),
        {name.removeprefix(MULTIPLIER): column for name, column in columns.items() if name.startswith(MULTIPLIER)},
        labels,
    )


def _fingerprint(rows: Reals, sizes: Mapping[str, int]) -> str:
    content = hashlib.sha256(repr(list(sizes.items())).encode())
    content.update(np.ascontiguousarray(rows).tobytes())
    return content.hexdigest()
