"""A process that another one started ends with it, however that one ends: by a signal, too, that nothing can be done about."""

from __future__ import annotations

import os
import threading
import time

#: Holds the number of the process that started this one.
VARIABLE = "PDUAL_PARENT"

#: Seconds between two looks.
PAUSE = 0.1

#: The exit code of a process whose parent went.
ORPHANED = 143


def end_with(parent: int) -> None:
    """End this process as soon as ``parent`` is not its parent any more; files that it was writing are whole or not there.

    The system gives a process whose parent ended another one. Windows does not, and nothing is watched there.
    """
    if os.name == "posix":
        threading.Thread(target=_watch, args=(parent,), name="pdual-parent", daemon=True).start()


def end_with_named() -> None:
    """``end_with`` the process that the environment names, where it names one."""
    named = os.environ.pop(VARIABLE, "")
    if named.isascii() and named.isdigit():
        end_with(int(named))


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(PAUSE)
    os._exit(ORPHANED)
