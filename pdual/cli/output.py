"""What commands print: diagnostics for people, one JSON document for tools; and the exit code that goes with them."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TextIO

from pdual.cli.say import say
from pdual.dsl.catalogue import CATALOGUE
from pdual.dsl.diagnostics import Diagnostic, Severity
from pdual.dsl.printer import as_json, render
from pdual.dsl.spans import Source
from pdual.dsl.visible import escaped_json

#: Raised whenever a name in a command's JSON document changes its meaning or goes away.
SCHEMA = 1

#: Diagnostics that are printed for people; with ``--json`` all of them are.
MOST_SHOWN = 100

FINE = 0
SPEC_IS_WRONG = 1
USAGE = 2
DATA_IS_WRONG = 3
RUN_FAILED = 4
BUG = 70
INTERRUPTED = 130

#: Found while a spec is checked or a run's folder opened, about what the command line says.
_ABOUT_USAGE = frozenset({"PD116", "PD240", "PD241", "PD620", "PD622", "PD623", "PD625"})


def exit_code(diagnostics: Iterable[Diagnostic]) -> int:
    """The code of the first thing to put right: a bug, the usage, the spec, the data, the run; 0 without errors."""
    found = {_fault(item.code) for item in diagnostics if CATALOGUE[item.code].severity is Severity.ERROR}
    return next((code for code in (BUG, USAGE, SPEC_IS_WRONG, DATA_IS_WRONG, RUN_FAILED) if code in found), FINE)


def _fault(code: str) -> int:
    if code == "PD999":
        return BUG
    if code in _ABOUT_USAGE or code.startswith("PD7"):
        return USAGE
    return {"PD5": DATA_IS_WRONG, "PD6": RUN_FAILED}.get(code[:3], SPEC_IS_WRONG)


def show(diagnostics: Sequence[Diagnostic], source: Source | None, stream: TextIO) -> None:
    """Print diagnostics for people, each followed by an empty line, the first ones of very many; in colour on a terminal."""
    for item in diagnostics[:MOST_SHOWN]:
        text = render(item, source) + "\n"
        if wants_colour(stream):
            _show_in_colour(item, text, stream)
        else:
            say(text, file=stream)
    if len(diagnostics) > MOST_SHOWN:
        say(f"... and {len(diagnostics) - MOST_SHOWN:,} more\n", file=stream)


def wants_colour(stream: TextIO) -> bool:
    """Whether the stream is a terminal that may be painted on."""
    import os

    return stream.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def _show_in_colour(item: Diagnostic, text: str, stream: TextIO) -> None:
    from rich.console import Console
    from rich.text import Text

    head, _, rest = text.partition("\n")
    severity, _, statement = head.partition(": ")
    style = "bold red" if CATALOGUE[item.code].severity is Severity.ERROR else "bold yellow"
    console = Console(file=stream, soft_wrap=True, highlight=False)
    console.print(Text.assemble((severity, style), (f": {statement}", "bold")))
    console.print(Text(rest))


def summary(diagnostics: Sequence[Diagnostic]) -> str:
    """``2 errors, 1 warning``, or ``no mistakes``."""
    errors = sum(CATALOGUE[item.code].severity is Severity.ERROR for item in diagnostics)
    counts = ((errors, "error"), (len(diagnostics) - errors, "warning"))
    return ", ".join(f"{count} {noun}{'s' * (count != 1)}" for count, noun in counts if count) or "no mistakes"


def document(command: str, code: int, diagnostics: Sequence[Diagnostic], source: Source | None, **content: Any) -> None:
    """Print the one JSON document of a command to stdout."""
    head = {"schema": SCHEMA, "command": command, "exit_code": code}
    found = [as_json(item, source) for item in diagnostics]
    print_json({**head, **content, "diagnostics": found})


def print_json(content: Mapping[str, Any]) -> None:
    """JSON to stdout; what JSON has no number for is written as text (``"inf"``, ``"nan"``)."""
    escaped = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("-", "") != "utf8"
    text = json.dumps(_plain(content), indent=2, ensure_ascii=escaped, allow_nan=False)
    sys.stdout.write(escaped_json(text) + "\n")


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
