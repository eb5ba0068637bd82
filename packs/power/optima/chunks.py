"""Demands are solved a chunk at a time. No torch here: workers start with this module and what it needs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from joblib import Parallel, delayed

from pdual.packs.power.optima.cache import ChunkStore, Solved
from pdual.packs.power.optima.grid import Complexes, Grid
from pdual.packs.power.optima.optimum import PowerSolver
from pdual.packs.power.optima.record import record_of, record_width
from pdual.runtime.data.context import Progress
from pdual.runtime.system.parent import end_with

_SAFE = "PYTHONSAFEPATH"


@dataclass(frozen=True)
class GridProblem:
    """A grid to solve on, recognised by its fingerprint."""

    fingerprint: str
    iterations: int
    grid: Grid = field(compare=False)


@dataclass(frozen=True)
class ChunkSolver:
    """Chunks from the cache where they lie there, else solved on ``workers`` cores and put into it."""

    problem: GridProblem
    store: ChunkStore
    workers: int
    progress: Progress

    def chunks(self, indices: range, loads: Callable[[int], Complexes]) -> list[Solved]:
        """The chunks of these numbers, in order; ``loads`` gives the demands of one: [count, bus]."""
        found = {index: chunk for index in indices if (chunk := self.store.load(index)) is not None}
        for chunk in found.values():
            self.progress.advance(len(chunk.kept))
        missing = {index: loads(index) for index in indices if index not in found}
        for index, chunk in _solved(self.problem, missing, self.workers):
            self.store.save(index, chunk)
            found[index] = chunk
            self.progress.advance(len(chunk.kept))
        return [found[index] for index in indices]


def _solved(problem: GridProblem, loads: Mapping[int, Complexes], workers: int) -> Iterator[tuple[int, Solved]]:
    """Each chunk with its number, in the order they end; what it holds does not depend on ``workers``."""
    waiting = dict(loads)
    if workers > 1 and len(waiting) > 1:
        tasks = [delayed(_task)(problem, index, part, os.getpid()) for index, part in loads.items()]
        try:
            # joblib: unlike those of a spawned pool, its workers do not run the caller's main script again
            pool = Parallel(min(workers, len(tasks)), return_as="generator_unordered", batch_size=1)
            with _safe_path():
                for index, chunk in pool(tasks):
                    del waiting[index]
                    yield index, chunk
        except (OSError, ImportError, RuntimeError):
            pass  # some sandboxes allow no second process: what is left is solved here
    for index, part in waiting.items():
        yield _task(problem, index, part)


def _task(problem: GridProblem, index: int, loads: Complexes, parent: int | None = None) -> tuple[int, Solved]:
    if parent is not None:
        _end_with(parent)
    return index, solve_chunk(problem, loads)


@lru_cache(maxsize=1)
def _end_with(parent: int) -> None:
    """Once in a worker: joblib's own go on for minutes when the process that they work for is killed."""
    end_with(parent)


@contextmanager
def _safe_path() -> Iterator[None]:
    """Processes that are started look for no module in the current folder, whoever uses pdual from Python."""
    before = os.environ.get(_SAFE)
    os.environ[_SAFE] = "1"
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(_SAFE, None)
        else:
            os.environ[_SAFE] = before


def solve_chunk(problem: GridProblem, loads: Complexes) -> Solved:
    """Solves demands [count, bus] in per unit, one after the other."""
    solver = _solver(problem)
    kept, rows = [], []
    for position, load in enumerate(loads):
        optimum = solver.solve(load)
        if optimum is not None:
            kept.append(position)
            rows.append(record_of(problem.grid, load, optimum))
    width = record_width(problem.grid)
    return Solved(np.array(kept, dtype=np.int64), np.array(rows).reshape(len(kept), width))


@lru_cache(maxsize=2)
def _solver(problem: GridProblem) -> PowerSolver:
    return PowerSolver(problem.grid, problem.iterations)


def draw_loads(nominal: Complexes, spread: float, stream: Sequence[int], indices: range) -> Complexes:
    """Demands [len(indices), bus]: P and Q of every load times independent U[1 - spread, 1 + spread].

    Draw ``i`` depends on the numbers of the stream (a seed, and what tells streams apart) and on ``i``, on
    nothing else.
    """
    loads = np.empty((len(indices), len(nominal)), dtype=np.complex128)
    for row, index in enumerate(indices):
        random = np.random.Generator(np.random.Philox(np.random.SeedSequence([*stream, index])))
        factors = 1 + spread * (2 * random.random((2, len(nominal))) - 1)
        loads[row] = nominal.real * factors[0] + 1j * nominal.imag * factors[1]
    return loads
