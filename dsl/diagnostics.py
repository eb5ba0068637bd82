"""A mistake is a value: its code, its spans and its facts. The wording lives in ``catalogue``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum

from pdual.dsl.record import record
from pdual.dsl.spans import NOWHERE, Source, Span


class Severity(StrEnum):
    """How bad it is: an error stops the pipeline, a warning does not."""

    ERROR = "error"
    WARNING = "warning"


@record(frozen=True, slots=True)
class Label:
    """A second place that matters, with the role it plays (worded by the catalogue)."""

    span: Span
    role: str


@record(frozen=True, slots=True)
class Diagnostic:
    """One mistake, as facts.

    ``code`` names an entry of ``pdual.dsl.catalogue``; ``facts`` fill its templates. A fact that is absent
    leaves out the note or the help that needs it.
    """

    code: str
    span: Span = NOWHERE
    facts: tuple[tuple[str, str], ...] = ()
    labels: tuple[Label, ...] = ()

    @property
    def fact(self) -> Mapping[str, str]:
        """The facts by name."""
        return dict(self.facts)


def diagnostic(code: str, span: Span = NOWHERE, *labels: Label, **facts: object) -> Diagnostic:
    """A diagnostic from keyword facts; a fact that is None is left out."""
    given = tuple((name, str(value)) for name, value in facts.items() if value is not None)
    return Diagnostic(code, span, given, labels)


class Refusal(Exception):
    """Raised by a stage that cannot go on because of a user's mistake; carries every diagnostic found, and the text that their
    spans are of where the caller may not know it: that of an earlier run.
    """

    def __init__(self, diagnostics: Iterable[Diagnostic], source: Source | None = None) -> None:
        self.diagnostics = tuple(diagnostics)
        self.source = source
        super().__init__(", ".join(item.code for item in self.diagnostics))


def refuse(code: str, span: Span = NOWHERE, *labels: Label, **facts: object) -> Refusal:
    """The exception for a single mistake: ``raise refuse("PD501", span, file=path)``."""
    return Refusal([diagnostic(code, span, *labels, **facts)])


class Collector:
    """Gathers the diagnostics of one stage, dropping exact repeats."""

    def __init__(self) -> None:
        self._found: dict[Diagnostic, None] = {}

    def __iter__(self) -> Iterator[Diagnostic]:
        return iter(self._found)

    def add(self, code: str, span: Span = NOWHERE, *labels: Label, **facts: object) -> None:
        """Record one mistake."""
        self._found.setdefault(diagnostic(code, span, *labels, **facts))

    def extend(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Record the mistakes of another stage."""
        for item in diagnostics:
            self._found.setdefault(item)

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Everything found, in the order of the text."""
        return tuple(sorted(self._found, key=lambda item: (item.span.start, item.code)))
