"""The one way that a command's words reach a terminal: nothing of a spec, of data, or of a file's name is obeyed by it."""

from __future__ import annotations

import sys
from typing import TextIO

from pdual.dsl.visible import visible_lines


def say(text: object = "", file: TextIO | None = None, flush: bool = False) -> None:
    """A line, or several, on stdout or another stream."""
    print(visible_lines(str(text)), file=file or sys.stdout, flush=flush)


def write(text: str, file: TextIO) -> None:
    """A text as it is where it goes on to a file or another program; on a terminal, visible."""
    file.write(visible_lines(text) if file.isatty() else text)
