"""Re-solves side by side, each in a process of its own that leaves its answer in the run's folder."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import sleep
from types import TracebackType

from pdual.children import GRACE, begin, end
from pdual.resolving.plan import Plan

#: Seconds between two looks at the processes.
PAUSE = 0.1


def command(run: Path, plan: Plan, split: str, number: int, named: Mapping[str, Path]) -> list[str]:
    """The arguments of a process that makes re-solve ``number`` of a plan."""
    options = {
        "groups": plan.groups,
        "random": plan.random,
        "size": plan.size,
        "seeds": plan.seeds,
        "outer": plan.outer,
        "epochs": plan.epochs,
        "rate": plan.rate,
        "split": split,
        "only": number,
    }
    given = [part for name, value in options.items() if value is not None for part in (f"--{name}", str(value))]
    given += [part for name, file in named.items() for part in ("--trained-on", f"{name}={file}")]
    return ["sensitivity", str(run), *given, "-q"]


class Processes:
    """The commands of ``planned`` by number, ``jobs`` of them at a time, in order. On leaving, those at work are ended."""

    def __init__(self, planned: Sequence[tuple[int, Sequence[str]]], jobs: int) -> None:
        self._waiting = list(planned)
        self._jobs = jobs
        self._working: dict[int, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Processes:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._waiting.clear()
        end(list(self._working.values()), 0.0 if kind is not None else GRACE)

    def wait(self, number: int, stop: Callable[[], bool]) -> None:
        """Until command ``number`` has ended, whatever came of it, or ``stop``."""
        while not stop():
            self._advance()
            if number not in self._working and all(waiting != number for waiting, _ in self._waiting):
                return
            sleep(PAUSE)

    def _advance(self) -> None:
        for number, process in list(self._working.items()):
            if process.poll() is not None:
                del self._working[number]
        while self._waiting and len(self._working) < self._jobs:
            number, command = self._waiting.pop(0)
            self._working[number] = begin(command)
