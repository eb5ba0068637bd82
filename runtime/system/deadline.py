"""A time after which what comes before training is given up: rows that take long to prepare, ranges, a program that is compiled.

The solver looks at the clock itself, step by step; until it does, the system's timer interrupts, as Ctrl-C would.
"""

from __future__ import annotations

import signal
import threading
import time
from types import FrameType, TracebackType
from typing import Any

from pdual.dsl.diagnostics import refuse

#: Seconds that preparations may take at least: a budget of a second still gives a run that is measured.
AT_LEAST = 30.0

#: Seconds that a timer can hold everywhere; three years.
LONGEST = 1e8


class Deadline:
    """``seconds`` from now, and ``AT_LEAST``; None: never. It interrupts while it is entered and until ``heeded``. Raises PD661.

    Only the main thread can be interrupted, where there are such timers; elsewhere the solver's own looks have to do.
    """

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds
        self._began = time.perf_counter()
        self._over = False
        self._before: tuple[Any, float] | None = None

    @property
    def left(self) -> float | None:
        """Seconds that are left of the budget."""
        return None if self._seconds is None else self._seconds - (time.perf_counter() - self._began)

    def __enter__(self) -> Deadline:
        left = None if self._seconds is None else max(self._seconds, AT_LEAST)
        if (
            left is None
            or not hasattr(signal, "setitimer")
            or threading.current_thread() is not threading.main_thread()
        ):
            return self
        other = signal.getitimer(signal.ITIMER_REAL)[0]
        if not 0 < other <= left:  # somebody else's that comes first is left alone
            self._before = signal.signal(signal.SIGALRM, self._rings), other
            signal.setitimer(signal.ITIMER_REAL, min(left, LONGEST))
        return self

    def heeded(self) -> None:
        """From now on somebody looks at the clock."""
        if self._before is not None:
            handler, other = self._before
            self._before = None
            spent = time.perf_counter() - self._began
            signal.setitimer(signal.ITIMER_REAL, max(other - spent, 1e-3) if other else 0.0)
            signal.signal(signal.SIGALRM, handler)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.heeded()
        if self._over and isinstance(error, KeyboardInterrupt):
            raise refuse("PD661", budget=f"{self._seconds:g} s") from None

    def _rings(self, number: int, frame: FrameType | None) -> None:
        self._over = True
        raise KeyboardInterrupt
