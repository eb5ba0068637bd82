"""Demands are solved a chunk at a time, on every core. No torch here: workers start with this module only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from pdual.runtime.sources.power_grid import Complexes, Grid, Integers, Reals
from pdual.runtime.sources.power_optimum import PowerSolver
from pdual.runtime.sources.power_record import record_of, record_width

CHUNK = 64  # half a second of work on case30: what an interruption can lose


@dataclass(frozen=True)
class GridProblem:
    """A grid to solve on, recognised by its fingerprint."""

    fingerprint: str
    iterations: int
    grid: Grid = field(compare=False)


@dataclass(frozen=True, slots=True)
class Job:
    """Some demands to solve: ``loads`` [count, bus]; ``key`` says whose they are."""

    key: str
    index: int
    loads: Complexes


@dataclass(frozen=True, slots=True)
class Solved:
    """What became of a job: ``kept`` are the positions that have an optimum, ``rows`` [kept, width] their records."""

    kept: Integers
    rows: Reals


def solve_jobs(problem: GridProblem, jobs: Sequence[Job], workers: int) -> Iterator[tuple[Job, Solved]]:
    """Each job with its result, in whatever order they end; what a job gives does not depend on ``workers``."""
    waiting = {(job.key, job.index): job for job in jobs}
    if workers > 1 and len(jobs) > 1:
        try:
            pool = Parallel(n_jobs=min(workers, len(jobs)), return_as="generator_unordered", batch_size=1)
            for job, solved in pool(delayed(_answer)(problem, job) for job in jobs):
                del waiting[job.key, job.index]
                yield job, solved
        except (OSError, ImportError, RuntimeError):
            pass  # some sandboxes allow no second process: what is left is solved here
    for job in list(waiting.values()):
        yield _answer(problem, job)


def _answer(problem: GridProblem, job: Job) -> tuple[Job, Solved]:
    return job, solve_chunk(problem, job.loads)


def solve_chunk(problem: GridProblem, loads: Complexes) -> Solved:
    """Solves [count, bus] demands in per unit, one after the other."""
    solver = _solver(problem)
    found = [(position, load, solver.solve(load)) for position, load in enumerate(loads)]
    kept = [(position, record_of(problem.grid, load, best)) for position, load, best in found if best is not None]
    rows = np.array([row for _, row in kept]).reshape(len(kept), record_width(problem.grid))
    return Solved(np.array([position for position, _ in kept], dtype=np.int64), rows)


@lru_cache(maxsize=2)
def _solver(problem: GridProblem) -> PowerSolver:
    return PowerSolver(problem.grid, problem.iterations)


def draw_loads(nominal: Complexes, spread: float, stream: Sequence[int], indices: NDArray[np.int64] | range) -> Complexes:
    """Demands [len(indices), bus]: P and Q of every load times independent U[1 - spread, 1 + spread].

    Draw ``i`` of a stream (seed and numbers that tell streams apart) depends on nothing but the stream and ``i``.
    """
    loads = np.empty((len(indices), len(nominal)), dtype=np.complex128)
    for row, index in enumerate(indices):
        random = np.random.Generator(np.random.Philox(np.random.SeedSequence([*stream, int(index)])))
        factors = 1 + spread * (2 * random.random((2, len(nominal))) - 1)
        loads[row] = nominal.real * factors[0] + 1j * nominal.imag * factors[1]
    return loads
