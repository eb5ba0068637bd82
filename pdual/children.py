"""Commands of pdual in processes of their own, none of which outlives the one that started it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import IO

from pdual.runtime.system.parent import VARIABLE

#: How pdual is started in a process of its own. Without ``-P``, Python would look for modules in the current folder first: whatever
#: `numpy.py` lies beside a spec would be run.
COMMAND = (sys.executable, "-P", "-m", "pdual.cli.start")

#: Seconds between two looks at a process.
PAUSE = 0.1

#: The exit code that stands for a command that was not begun.
NOT_BEGUN = 130

#: Seconds that a process which was asked to end has for saving what it reached.
GRACE = 10.0


def begin(arguments: Sequence[str], output: int | IO[bytes] = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
    """Start a command. It reads nothing, and Ctrl-C in a terminal reaches only the process that started it, which passes it on."""
    environment = {"OMP_NUM_THREADS": "1", **os.environ, "PYTHONSAFEPATH": "1", VARIABLE: str(os.getpid())}
    return subprocess.Popen(
        [*COMMAND, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=output,
        env=environment,
        process_group=0 if os.name == "posix" else None,
    )


def end(processes: Sequence[subprocess.Popen[bytes]], grace: float = GRACE) -> None:
    """Ask processes to save what they reached and to end; those that do not in time are ended."""
    for process in processes:
        _ask(process)
    for process in processes:
        try:
            process.wait(grace)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _ask(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGINT if os.name == "posix" else signal.SIGTERM)


class Children:
    """Processes that several threads start; on leaving, those that are still at work are ended."""

    def __init__(self) -> None:
        self._working: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._over = False

    def __enter__(self) -> Children:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._over = True
            working = list(self._working)
        end(working, 0.0 if kind is not None else GRACE)

    def run(self, arguments: Sequence[str], stop: Callable[[], bool]) -> tuple[int, str]:
        """The exit code of a command and what it said on stderr. After ``stop`` it is asked to end, and has a while for that."""
        with self._lock:
            if self._over:
                return NOT_BEGUN, ""
            process = begin(arguments, subprocess.PIPE)
            self._working.add(process)
        try:
            while True:
                try:
                    said = process.communicate(timeout=PAUSE)[1]
                    return process.returncode, said.decode("utf-8", errors="replace")
                except subprocess.TimeoutExpired:
                    if stop():
                        end([process])
        finally:
            with self._lock:
                self._working.discard(process)
