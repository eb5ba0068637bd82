"""Ctrl-C, and the signals that ask a process to end: the first one asks the solver to stop and save, the second one ends the process."""

from __future__ import annotations

import signal
from types import FrameType, TracebackType
from typing import Any

#: Ctrl-C, ``kill``, and a terminal that was closed.
SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


class Interrupt:
    """Listens while it is entered. Until ``asked`` is first called nobody heeds a request: Ctrl-C then ends at once."""

    def __init__(self) -> None:
        self.came = False
        self._heeded = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interrupt:
        for number in SIGNALS:
            before = signal.getsignal(number)
            if number == signal.SIGINT or before is not signal.SIG_IGN:  # `nohup` has a closed terminal ignored
                signal.signal(number, self._handle)
                self._before[number] = before
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)

    def asked(self) -> bool:
        """Whether to stop; the solver asks before every step."""
        self._heeded = True
        return self.came

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.came or not self._heeded:
            raise KeyboardInterrupt
        self.came = True
