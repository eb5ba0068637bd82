"""Refuses allocations that do not fit into memory. A system that runs out of memory ends processes without a message."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from pdual.dsl.diagnostics import Diagnostic, Refusal, refuse
from pdual.dsl.spans import NOWHERE, Span

#: Where Linux says what a container may take and has taken: of version 2 and of version 1.
_LIMITS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)
_ASKED = re.compile(r"allocate (\d+) bytes|allocate ([\d.]+ [KMGTP]i?B)")
_UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB", "EB")


def available() -> int:
    """Bytes that this process may still take."""
    found = int(psutil.virtual_memory().available)
    for limit, taken in _LIMITS:
        with suppress(OSError, ValueError):
            found = min(found, max(0, int(Path(limit).read_text()) - int(Path(taken).read_text())))
    return found


def check_room(what: str, count: int, size: int, span: Span = NOWHERE) -> None:
    """Refuse ``count`` numbers of ``size`` bytes each where they would take more than there is. Raises PD662."""
    there = available()
    if count * size > there:
        raise refuse("PD662", span, what=what, asked=amount(count * size), there=amount(there), count=f"{count:,}")


@contextmanager
def told_room() -> Iterator[None]:
    """What the system had no memory for is told as such. Raises PD662."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        found = out_of_memory(error)
        if found is None:
            raise
        raise Refusal([found]) from None


def out_of_memory(error: BaseException) -> Diagnostic | None:
    """A diagnostic where an error says that there was no memory."""
    text = str(error)
    if not isinstance(error, MemoryError) and not re.search(
        r"can't allocate memory|out of memory|Unable to allocate", text
    ):
        return None
    found = _ASKED.search(text)
    asked = "more memory" if found is None else amount(int(found[1])) if found[1] else found[2]
    return refuse("PD662", what="a step of the run", asked=asked, there=amount(available())).diagnostics[0]


def amount(count: int) -> str:
    """Bytes in words."""
    value, unit = float(count), 0
    while value >= 1000 and unit < len(_UNITS) - 1:
        value, unit = value / 1000, unit + 1
    return f"{value:.3g} {_UNITS[unit]}" if unit else f"{count} bytes"
