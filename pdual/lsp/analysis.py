"""What is known of an open document: its names, and as much of its meaning as it has. Never raises on a text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pdual.compiler.graph import Graph
from pdual.dsl import syntax, typed
from pdual.dsl.diagnostics import Diagnostic, diagnostic
from pdual.dsl.parser import parse
from pdual.dsl.spans import Source
from pdual.explaining.collect import explanation
from pdual.explaining.records import Explanation
from pdual.lsp.positions import Positions
from pdual.lsp.resolving import resolve
from pdual.lsp.symbols import Index
from pdual.runtime.data.context import SourceContext
from pdual.understanding import understand


@dataclass(frozen=True)
class Meaning:
    """A checked spec, its graph where it could be lowered, and what ``explain`` says of it."""

    spec: typed.TypedSpec
    graph: Graph | None
    facts: Explanation


class Analysis:
    """One version of a document. ``before``: the version that it came from, whose meaning stands in while this one has none."""

    def __init__(
        self, source: Source, folder: Path, units: Callable[[str], int], before: Analysis | None = None
    ) -> None:
        self.source = source
        self.positions = Positions(source.text, units)
        self._folder = folder
        # Its meaning alone: a chain of versions would keep every text.
        self._meant_before = None if before is None else before.meaning_so_far

    @cached_property
    def spec(self) -> syntax.Spec:
        """The statements that can be read."""
        return parse(self.source)[0] or syntax.Spec(())

    @cached_property
    def index(self) -> Index:
        """Its names."""
        return resolve(self.spec)

    @cached_property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Everything that is wrong with it."""
        return self._understood[1]

    @cached_property
    def meaning(self) -> Meaning | None:
        """What it says; what it said before while it is wrong."""
        return self._understood[0] or self._meant_before

    @property
    def is_understood(self) -> bool:
        """Whether the meaning is this version's own."""
        return self._understood[0] is not None

    @property
    def meaning_so_far(self) -> Meaning | None:
        """The meaning as far as somebody asked: while one types, most versions are never checked."""
        return self.meaning if "_understood" in self.__dict__ else self._meant_before

    @cached_property
    def _understood(self) -> tuple[Meaning | None, tuple[Diagnostic, ...]]:
        try:
            found = understand(self.source, context=SourceContext(folder=self._folder))
            meaning = None
            if found.spec is not None:
                meaning = Meaning(found.spec, found.graph, explanation(found.spec, found.graph))
        except Exception as error:  # a bug of ours is told like a mistake: an editor must not lose its server
            told = diagnostic("PD999", stage="the language server", error=f"{type(error).__name__}: {error}")
            return None, (told,)
        return meaning, found.diagnostics
