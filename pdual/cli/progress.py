"""What a run shows while it goes on, on stderr: a bar on a terminal, now and then a line elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, TextIO

from pdual.cli.output import wants_colour
from pdual.cli.say import say
from pdual.dsl.visible import visible, visible_lines
from pdual.runtime.data.context import Progress

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

    from pdual.runtime.storage.records import LogLine

#: Seconds between two lines where there is no terminal.
THROTTLE = 5.0


class LineProgress(Progress):
    """Plain lines, not more often than ``THROTTLE``; warnings and the end of a piece of work always."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._last = 0.0
        self._title, self._total, self._done = "", 0, 0
        self._iterates = False  # outer iterations tell more than steps, once there are some

    def start(self, title: str, total: int) -> None:
        """Say what begins, once it takes its time."""
        self._title, self._total, self._done = title, total, 0
        self._iterates = False
        self._last = time.monotonic()

    def advance(self, steps: int = 1, note: str = "") -> None:
        """Say how far it is."""
        self._done += steps
        if note.startswith("warning"):
            self._say(note)
        elif not self._iterates and time.monotonic() - self._last >= THROTTLE:
            self._say(f"{self._title}: {self._done} of {self._total}{f', {note}' if note else ''}")

    def finish(self, note: str = "") -> None:
        """Say how it ended, where there is something to say."""
        if note:
            self._say(f"{self._title}: {note}")

    def log(self, line: LogLine) -> None:
        """One outer iteration."""
        if time.monotonic() - self._last >= THROTTLE or not self._iterates:
            self._say(iteration(line))
        self._iterates = True

    def close(self) -> None:
        """Nothing to put back."""

    def _say(self, text: str) -> None:
        say(text, file=self._stream, flush=True)
        self._last = time.monotonic()


class BarProgress(LineProgress):
    """A bar with what the last outer iteration showed beside it."""

    def __init__(self, stream: TextIO) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        super().__init__(stream)
        self._bar: Bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}", markup=False),
            console=Console(file=stream),
            transient=True,
        )
        self._task: TaskID | None = None

    def start(self, title: str, total: int) -> None:
        """Draw a bar."""
        super().start(title, total)
        self._bar.start()
        self._task = self._bar.add_task(visible(title), total=total, note="")

    def advance(self, steps: int = 1, note: str = "") -> None:
        """Move it."""
        self._done += steps
        warns = note.startswith("warning")
        if self._task is not None:
            self._bar.update(self._task, advance=steps)
            if note and not warns:
                self._bar.update(self._task, note=visible(note))
        if warns:
            self._bar.console.print(visible_lines(note), markup=False, highlight=False)

    def finish(self, note: str = "") -> None:
        """Take it away."""
        if self._task is not None:
            self._bar.remove_task(self._task)
            self._task = None

    def log(self, line: LogLine) -> None:
        """Beside the bar."""
        if self._task is not None:
            self._bar.update(self._task, note=visible(iteration(line)))

    def close(self) -> None:
        """Give the terminal back."""
        self._bar.stop()


class Silence(LineProgress):
    """``-q``: warnings only."""

    def advance(self, steps: int = 1, note: str = "") -> None:
        """Say nothing else."""
        if note.startswith("warning"):
            self._say(note)

    def finish(self, note: str = "") -> None:
        """Say nothing."""

    def log(self, line: LogLine) -> None:
        """Say nothing."""


class Talkative(LineProgress):
    """``-v``: every outer iteration has its line."""

    def log(self, line: LogLine) -> None:
        """One line, at once."""
        self._say(iteration(line))


def progress(quiet: bool, verbose: bool, stream: TextIO | None = None) -> LineProgress:
    """The one that suits the stream and the options."""
    stream = stream or sys.stderr
    if quiet:
        return Silence(stream)
    if verbose:
        return Talkative(stream)
    return BarProgress(stream) if wants_colour(stream) else LineProgress(stream)


def iteration(line: LogLine) -> str:
    """An outer iteration in one line: objectives, violation in fractions of the range, shares of rows that are met and at the cap; averages."""
    objective = " ".join(f"{value:.5g}" for value in line.objective.values())
    # Where no pass over the train rows measures the objective, the steps' own mean is what there is.
    pieces = [f"objective {objective}" if objective else f"loss {line.loss:.5g}"]
    if not line.families and not line.averages:
        pass
    elif line.families.keys() - {name.split(".")[0] for name in line.averages} or not line.averages:
        pieces.append(f"violation {line.violation_mean:.2e} mean {line.violation_max:.2e} max")
        pieces += [f"{line.feasible_rows:.1%} of rows met", f"{line.rows_at_cap:.1%} at the cap"]
    for name, item in line.averages.items():
        means = " ".join(f"{value:.5g}" for value in item.means)
        pieces.append(f"{name} {means} off by {item.violation:.2e}")
    return f"outer {line.outer}: {', '.join(pieces)}, {line.seconds:.0f} s"
