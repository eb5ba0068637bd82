"""Endless streams of random demands, of which those with an optimum are kept in the order they were drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np

from pdual.dsl.diagnostics import refuse
from pdual.dsl.spans import Span
from pdual.packs.power.optima.cache import CHUNK, Solved
from pdual.packs.power.optima.chunks import ChunkSolver, draw_loads
from pdual.packs.power.optima.grid import Complexes, Reals

_JUDGED_AFTER = 200  # draws
_HOPELESS = 0.02  # share of draws that have an optimum


@dataclass(frozen=True)
class Stream:
    """Random demands of one split: the first rows are the same however many are asked for."""

    solver: ChunkSolver
    spread: float
    numbers: Sequence[int]  # seed, split, draw
    span: Span

    def first(self, wanted: int) -> Reals:
        """The records of the first ``wanted`` draws that have an optimum, [wanted, width].

        Raises PD515 when fewer than 2 % of at least 200 draws have one.
        """
        chunks: list[Solved] = []
        while (kept := sum(len(chunk.kept) for chunk in chunks)) < wanted:
            self._refuse_if_hopeless(kept, len(chunks) * CHUNK)
            more = _more(wanted - kept, kept, len(chunks))
            chunks += self.solver.chunks(range(len(chunks), len(chunks) + more), self._loads)
        return np.concatenate([chunk.rows for chunk in chunks])[:wanted]

    def _loads(self, index: int) -> Complexes:
        draws = range(index * CHUNK, (index + 1) * CHUNK)
        return draw_loads(self.solver.problem.grid.load, self.spread, self.numbers, draws)

    def _refuse_if_hopeless(self, kept: int, drawn: int) -> None:
        if drawn >= _JUDGED_AFTER and kept < _HOPELESS * drawn:
            raise refuse("PD515", self.span, kept=kept, drawn=drawn, spread=f"{self.spread:g}")


def _more(missing: int, kept: int, chunks: int) -> int:
    """How many chunks to solve next: enough by the share kept so far, but no leap before that is known."""
    share = kept / (chunks * CHUNK) if kept else 1.0
    return min(ceil(missing / (share * CHUNK)), max(4, 3 * chunks))
