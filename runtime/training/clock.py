"""How long a run takes, phase by phase, and what memory it took."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch

from pdual.runtime.storage.records import Timing


class Clock:
    """Wall-clock seconds by phase, resumable: a run that goes on adds to what it has taken already."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._phases = dict.fromkeys(("primal", "dual", "evaluation"), 0.0)
        self._wall = time.perf_counter()
        self._cpu = time.process_time()

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Count what happens inside to a phase; on an accelerator, once it has really happened."""
        start = time.perf_counter()
        try:
            yield
        finally:
            if self._device.type == "cuda":
                torch.cuda.synchronize(self._device)
            self._phases[name] += time.perf_counter() - start

    @property
    def total(self) -> float:
        """Seconds since the run began."""
        return time.perf_counter() - self._wall

    def timing(self, rows: int, steps: int, outer: int) -> Timing:
        """The record so far, for ``rows`` rows drawn in ``steps`` primal steps."""
        total = self.total
        return Timing(
            total_s=total,
            primal_s=self._phases["primal"],
            dual_s=self._phases["dual"],
            evaluation_s=self._phases["evaluation"],
            cpu_s=time.process_time() - self._cpu,
            rows_per_s=rows / total if total > 0 else 0.0,
            peak_memory_mb=_peak(self._device) / 2**20,
            steps=steps,
            outer=outer,
        )

    def state(self) -> dict[str, object]:
        """What was taken so far."""
        return {"phases": dict(self._phases), "wall": self.total, "cpu": time.process_time() - self._cpu}

    def load_state(self, state: Mapping[str, object]) -> None:
        """Add what an earlier process took."""
        self._phases.update(state["phases"])  # type: ignore[call-overload]
        self._wall = time.perf_counter() - float(state["wall"])  # type: ignore[arg-type]
        self._cpu = time.process_time() - float(state["cpu"])  # type: ignore[arg-type]


def _peak(device: torch.device) -> float:
    """Bytes: of the accelerator where there is one, else the largest resident set of this process."""
    if device.type == "cuda":
        return float(torch.cuda.max_memory_allocated(device))
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return float(resident if sys.platform == "darwin" else resident * 1024)
