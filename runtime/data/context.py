"""What builders of sources and architectures are handed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pdual.dsl.declarations.known import Known
from pdual.dsl.declarations.references import ArchitectureUse
from pdual.dsl.declarations.signature import Signature, Sizes
from pdual.dsl.spans import NOWHERE, Span
from pdual.dsl.typed import TypedField

if TYPE_CHECKING:
    from torch import nn


class Progress:
    """Where long work reports; this one says nothing. The command line hands in one that draws."""

    def start(self, title: str, total: int) -> None:
        """A piece of work of ``total`` steps begins."""

    def advance(self, steps: int = 1, note: str = "") -> None:
        """So many steps are done."""

    def finish(self, note: str = "") -> None:
        """The piece of work is over."""


@dataclass(frozen=True)
class SourceContext:
    """What a source may use: the files it may open, where it may cache, what is known, whom to tell.

    ``grouped_by``: the field whose rows stay together in one split, None where rows are drawn one by one.
    ``samples``: the data sets of which the sample is taken.
    ``current`` is the current folder where the command line named the file of a ``given``, by ``--set``.
    """

    name: str = ""
    span: Span = NOWHERE
    knowns: Mapping[str, Known] = field(default_factory=dict)
    fields: Mapping[str, TypedField] = field(default_factory=dict)
    sets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    grouped_by: str | None = None
    file: Path | None = None
    files: Mapping[str, Path] = field(default_factory=dict)
    folder: Path = field(default_factory=Path.cwd)
    current: Path | None = None
    cache: Path | None = None
    workers: int = 1
    seed: int = 0
    limit: int | None = None
    samples: Collection[str] = ()
    progress: Progress = field(default_factory=Progress)


@dataclass(frozen=True)
class ArchitectureContext:
    """What an architecture may use: sizes of sets, known structure, the number of rows, how to build another one, and where in
    the spec it stands.
    """

    sizes: Sizes
    knowns: Mapping[str, Known]
    rows: int
    build: Callable[[ArchitectureUse, Signature], nn.Module]
    span: Span = NOWHERE
