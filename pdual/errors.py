"""What is raised and warned of from Python: one base, and beside it Python's own kinds of what an argument can be."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Sequence

from pdual.dsl.catalogue import errors_in
from pdual.dsl.diagnostics import Diagnostic, Refusal
from pdual.dsl.printer import render_all
from pdual.dsl.spans import Source


class Error(Exception):
    """Whatever pdual raises."""


class ProblemError(Error):
    """A mistake in a spec, its data or a run; the text is what the command line would print."""

    def __init__(self, diagnostics: tuple[Diagnostic, ...], source: Source | None) -> None:
        self.diagnostics = diagnostics
        self.source = source
        super().__init__("\n" + render_all(diagnostics, source))

    def __str__(self) -> str:
        return str(self.args[0])  # a KeyError would show it quoted

    def __reduce__(self) -> tuple[type[ProblemError], tuple[tuple[Diagnostic, ...], Source | None]]:
        return type(self), (self.diagnostics, self.source)


class ArgumentError(ProblemError, TypeError, ValueError):
    """An argument that a function cannot take."""


class UnknownNameError(ArgumentError, KeyError):
    """A name that is not there: of a model, a field, a split, a data set."""


class ProblemWarning(UserWarning):
    """What is odd about a spec or its data; the text is what the command line would print."""


_OF_NAMES = frozenset({"PD707", "PD710", "PD751", "PD753"})
_OF_ARGUMENTS = frozenset({"PD704", "PD705", "PD706", "PD750", "PD752"})


def told(refusal: Refusal, source: Source | None) -> ProblemError:
    """The exception of a refusal, by what its first error is about."""
    code = next((item.code for item in errors_in(refusal.diagnostics)), "")
    kind = UnknownNameError if code in _OF_NAMES else ArgumentError if code in _OF_ARGUMENTS else ProblemError
    return kind(refusal.diagnostics, refusal.source or source)


def warn(diagnostics: Sequence[Diagnostic], source: Source) -> None:
    """Warn of each, at the line of the caller outside pdual."""
    level, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "pdual":
        level, frame = level + 1, frame.f_back
    for item in diagnostics:
        warnings.warn("\n" + render_all((item,), source), ProblemWarning, stacklevel=level)
