"""The ways in which a command ends early."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pdual.cli import output
from pdual.cli.say import say
from pdual.dsl.diagnostics import Diagnostic, Refusal, diagnostic, refuse
from pdual.dsl.spans import Source

#: Characters of a path that a message quotes.
SHOWN = 200


@contextmanager
def writing(place: Path) -> Iterator[None]:
    """Where a file or a folder is written. Raises PD713 for what the file system says."""
    try:
        yield
    except OSError as error:
        raise refuse("PD713", file=place, reason=(error.strerror or str(error)).lower()) from None


def refused(refusal: Refusal, arguments: Sequence[str], source: Source | None = None) -> int:
    """A mistake outside any spec's text, or one that a command left to its caller."""
    return _report(refusal.diagnostics, arguments, source or refusal.source)


def misused(error: Any, arguments: Sequence[str]) -> int:
    """A mistake in the arguments, as the parser of arguments words it."""
    message = str(error.format_message()).strip().rstrip(".")
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "pdual"
    worded = (message[:1].lower() + message[1:]).replace("'", "`")
    return _report([diagnostic("PD700", message=worded, command=command)], arguments)


def of_system(error: OSError, arguments: Sequence[str]) -> int:
    """What the operating system would not do, where no command has said so in words of its own."""
    named = error.filename if error.filename is not None else "a file"
    file = os.fsdecode(named) if isinstance(named, str | bytes | os.PathLike) else str(named)
    short = file if len(file) <= SHOWN else f"{file[:SHOWN]}..."
    return _report([diagnostic("PD717", file=short, reason=(error.strerror or str(error)).lower())], arguments)


def interrupted(arguments: Sequence[str]) -> int:
    """Ctrl-C where nothing was there to be saved."""
    if _wants_json(arguments):
        output.document(_command(arguments), output.INTERRUPTED, (), None, interrupted=True)
    say("interrupted", file=sys.stderr)
    return output.INTERRUPTED


def unsaid(error: OSError, arguments: Sequence[str]) -> int:
    """Standard output takes no more: a full disk."""
    found = [diagnostic("PD713", file="standard output", reason=(error.strerror or str(error)).lower())]
    output.show(found, None, sys.stderr)
    return output.exit_code(found)


def broken(error: BaseException, arguments: Sequence[str]) -> int:
    """A bug in pdual: the traceback goes to a file that the message names."""
    stage = _stage(error)
    worded = f"{type(error).__name__}: {error}".splitlines()[0]
    found = diagnostic("PD999", stage=stage, error=worded, file=_saved(error, arguments))
    return _report([found], arguments)


def _report(diagnostics: Sequence[Diagnostic], arguments: Sequence[str], source: Source | None = None) -> int:
    code = output.exit_code(diagnostics)
    if _wants_json(arguments):
        output.document(_command(arguments), code, diagnostics, source)
    else:
        output.show(diagnostics, source, sys.stderr)
    return code


def _stage(error: BaseException) -> str:
    """The innermost module of ours that the error came through."""
    import traceback

    frames = [frame.f_globals.get("__name__", "") for frame, _ in traceback.walk_tb(error.__traceback__)]
    ours = [name for name in frames if str(name).split(".")[0] == "pdual"]
    return f"`{ours[-1]}`" if ours else "`pdual`"


def _saved(error: BaseException, arguments: Sequence[str]) -> str:
    import platform
    import tempfile
    import traceback

    from pdual import __version__

    handle, path = tempfile.mkstemp(prefix="pdual-bug-", suffix=".txt")
    with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(f"pdual {__version__}, Python {platform.python_version()}, {platform.platform()}\n")
        file.write(f"command: pdual {' '.join(arguments)}\n\n")
        file.writelines(traceback.format_exception(error))
    return path


def _wants_json(arguments: Sequence[str]) -> bool:
    return "--json" in arguments


def _command(arguments: Sequence[str]) -> str:
    return next((item for item in arguments if not item.startswith("-")), "")
