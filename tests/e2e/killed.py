"""Runs that are killed at random moments and gone on with: ``python killed.py FOLDER KILLS SEED``, one JSON document.

Every run is a fork of this process, which has run once: what is killed is the run and not the imports. State is saved after every
outer iteration, onto a slow disk, so that many kills fall into a save.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import signal
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

from pdual.cli.main import perform
from pdual.runtime.problem import prepared
from pdual.runtime.runs import execute
from pdual.runtime.storage import checkpoint
from pdual.runtime.storage.checkpoint import FRESH, OLD
from pdual.runtime.storage.folder import CHECKPOINT, RunFolder

COMMAND = ("run", "digits", "--limit", "120", "--quick", "-q", "--out")


def begin(*arguments: str) -> int:
    """A run in a process of its own; its number."""
    number = os.fork()
    if number:
        return number
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    code = 99
    try:
        code = perform([*COMMAND, *arguments])
    finally:
        os._exit(code)


def ended(number: int) -> int:
    """Wait for it; its exit code, negative where a signal ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])


def killed(folder: Path, wait: float) -> dict[str, Any]:
    """Go on with the run in the folder, or begin it, and kill it; what is left."""
    number = begin(str(folder), *(["--resume"] if folder.exists() else []))
    time.sleep(wait)
    os.kill(number, signal.SIGKILL)
    code = ended(number)
    left = RunFolder(folder)
    state = left.load() if left.has_checkpoint else {}
    remains = [suffix for suffix in (FRESH, OLD) if (folder / (CHECKPOINT + suffix)).exists()]
    return {"wait": wait, "code": code, "iteration": state.get("iteration"), "remains": remains}


def main(root: Path, kills: int, seed: int) -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        perform([*COMMAND, str(root / "warm"), "--budget", "0.01s"])
    prepared.QUICK_OUTER, prepared.QUICK_STEPS = 12, 240
    execute.Options = partial(execute.Options, save_every=0.0)  # type: ignore[assignment, misc]
    flush = checkpoint._flush

    def slow(path: Path) -> None:
        time.sleep(0.02)
        flush(path)

    checkpoint._flush = slow
    chance = random.Random(seed)
    began = time.monotonic()
    codes = {"whole": ended(begin(str(root / "whole")))}
    spent = time.monotonic() - began
    found, pieces = [], 0
    while len(found) < kills:
        pieces += 1
        folder = root / f"pieces-{pieces}"
        while len(found) < kills:
            last = killed(folder, chance.uniform(0, 0.5 * spent))
            if last["code"] == 0:  # it was through before it was killed
                break
            found.append(last)
        codes[folder.name] = ended(begin(str(folder), *(["--resume"] if folder.exists() else [])))
    print(json.dumps({"kills": found, "codes": codes, "spent": spent}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
