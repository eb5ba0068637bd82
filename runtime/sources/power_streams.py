"""Endless streams of random demands, of which those with an optimum are kept in the order they were drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np

from pdual.dsl.diagnostics import refuse
from pdual.dsl.spans import Span
from pdual.runtime.context import Progress
from pdual.runtime.sources.power_cache import ChunkStore
from pdual.runtime.sources.power_chunks import CHUNK, GridProblem, Job, Solved, draw_loads, solve_jobs
from pdual.runtime.sources.power_grid import Reals

_JUDGED_AFTER = 200  # draws
_HOPELESS = 0.02  # share that has an optimum


@dataclass(frozen=True)
class Stream:
    """Random demands of one split: the first rows are the same however many are asked for."""

    name: str
    problem: GridProblem
    spread: float
    numbers: Sequence[int]  # seed, split, draw
    store: ChunkStore
    workers: int
    progress: Progress
    span: Span

    def first(self, wanted: int) -> Reals:
        """The records of the first ``wanted`` draws that have an optimum, [wanted, width].

        Raises PD515 when fewer than 2 % of at least 200 draws have one.
        """
        chunks: list[Solved] = []
        while (kept := sum(len(chunk.kept) for chunk in chunks)) < wanted:
            self._refuse_if_hopeless(kept, len(chunks) * CHUNK)
            chunks += self._chunks(range(len(chunks), len(chunks) + self._more(wanted - kept, kept, len(chunks))))
        return np.concatenate([chunk.rows for chunk in chunks])[:wanted]

    def _more(self, missing: int, kept: int, chunks: int) -> int:
        """How many chunks to solve next: enough by the share seen so far, but no leap before it is known."""
        share = kept / (chunks * CHUNK) if kept else 1.0
        return min(ceil(missing / (share * CHUNK)), max(4, 3 * chunks))

    def _chunks(self, indices: range) -> list[Solved]:
        solved = {index: chunk for index in indices if (chunk := self.store.load(index)) is not None}
        for chunk in solved.values():
            self.progress.advance(len(chunk.kept))
        jobs = [Job(self.name, index, self._loads(index)) for index in indices if index not in solved]
        for job, chunk in solve_jobs(self.problem, jobs, self.workers):
            self.store.save(job.index, chunk)
            solved[job.index] = chunk
            self.progress.advance(len(chunk.kept))
        return [solved[index] for index in indices]

    def _loads(self, index: int) -> np.ndarray[tuple[int, ...], np.dtype[np.complex128]]:
        draws = range(index * CHUNK, (index + 1) * CHUNK)
        return draw_loads(self.problem.grid.load, self.spread, self.numbers, draws)

    def _refuse_if_hopeless(self, kept: int, drawn: int) -> None:
        if drawn < _JUDGED_AFTER or kept >= _HOPELESS * drawn:
            return
        fix = "a smaller spread keeps demands within what the grid can supply"
        raise refuse("PD515", self.span, kept=kept, drawn=drawn, spread=f"{self.spread:g}", fix=fix)
