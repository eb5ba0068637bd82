"""Ctrl-C: the first one asks the solver to stop and save, the second one ends the process."""

from __future__ import annotations

import signal
from types import FrameType, TracebackType
from typing import Any


class Interrupt:
    """Listens while it is entered. Until ``asked`` is first called nobody heeds a request: Ctrl-C then ends at once."""

    def __init__(self) -> None:
        self.came = False
        self._heeded = False
        self._before: Any = None

    def __enter__(self) -> Interrupt:
        self._before = signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        signal.signal(signal.SIGINT, self._before)

    def asked(self) -> bool:
        """Whether to stop; the solver asks before every step."""
        self._heeded = True
        return self.came

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.came or not self._heeded:
            raise KeyboardInterrupt
        self.came = True
