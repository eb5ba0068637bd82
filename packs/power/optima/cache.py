"""Solved chunks on disk, by content: nobody waits twice, and an interrupted build goes on where it was."""

from __future__ import annotations

import hashlib
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pdual.packs.power.optima.grid import Integers, Reals
from pdual.runtime.data.cache import whole_file
from pdual.runtime.data.context import Progress

CHUNK = 64  # demands; half a second of work on case30: what an interruption can lose
_FORMAT = 2  # raised when a chunk of the same name would hold something else


@dataclass(frozen=True, slots=True)
class Solved:
    """A solved chunk: the positions that have an optimum, and their records, [kept, width]."""

    kept: Integers
    rows: Reals


class ChunkStore:
    """The chunks of one stream of demands; everything that decides their content goes into ``recipe``."""

    def __init__(self, root: Path, recipe: tuple[object, ...], width: int, progress: Progress) -> None:
        name = hashlib.sha256(repr((_FORMAT, CHUNK, *recipe)).encode()).hexdigest()[:24]
        self.folder = root / "power" / name
        self._width = width
        self._progress = progress
        self._writable = True

    def load(self, index: int) -> Solved | None:
        """A chunk that was solved before; one that is damaged is as good as none, which is said."""
        place = self._place(index)
        if not place.exists():
            return None
        solved = self._read(place)
        if solved is None:
            self._progress.advance(0, f"warning: {place} is damaged, its demands are solved again")
        return solved

    def save(self, index: int, solved: Solved) -> None:
        """Keeps a chunk, where the folder lets itself be written."""
        if not self._writable:
            return
        try:
            with whole_file(self._place(index)) as file:
                np.savez(file, kept=solved.kept, rows=solved.rows)
        except OSError as error:
            self._writable = False
            self._progress.advance(0, f"warning: nothing can be kept in {self.folder} ({error.strerror})")

    def _place(self, index: int) -> Path:
        return self.folder / f"{index:06d}.npz"

    def _read(self, place: Path) -> Solved | None:
        try:
            with place.open("rb") as file, np.load(file, allow_pickle=False) as stored:
                kept, rows = stored["kept"], stored["rows"]
        except (OSError, ValueError, KeyError, EOFError, TypeError, AttributeError, zipfile.BadZipFile):
            return None
        sound = kept.dtype == np.int64 and kept.ndim == 1 and rows.dtype == np.float64
        sound = sound and rows.shape == (len(kept), self._width) and bool(np.all(np.isfinite(rows)))
        sound = sound and bool(np.all(np.diff(kept) > 0) and np.all((kept >= 0) & (kept < CHUNK)))
        return Solved(kept, rows) if sound else None
