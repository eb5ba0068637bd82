"""The registry of sources, architectures and evaluations. Packs and other packages add to it by entry points."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from typing import TYPE_CHECKING, Generic, TypeVar, cast

from pdual.dsl.declarations.architecture import Architecture
from pdual.dsl.declarations.dual import DualKind
from pdual.dsl.declarations.evaluation import EvaluationDeclaration
from pdual.dsl.declarations.references import ArchitectureUse
from pdual.dsl.declarations.shipped import ARCHITECTURES, DUALS, SOURCES
from pdual.dsl.declarations.signature import Signature
from pdual.dsl.declarations.source import SourceDeclaration
from pdual.dsl.extensions import added, named

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

#: The kind of dual that is a formula over models, which no spec names.
FORMULA = "formula"

D = TypeVar("D")


class Registry(Mapping[str, D], Generic[D]):
    """Declarations by their name in a spec. A declaration is imported when its name is looked up.

    ``shipped``: ``"module:attribute"`` by name. An entry point of ``group`` adds the name that it has itself. It cannot replace a shipped one.
    """

    def __init__(self, shipped: Mapping[str, str], group: str) -> None:
        self._shipped = shipped
        self._group = group
        self._loaded: dict[str, D] = {}

    def __getitem__(self, name: str) -> D:
        if name not in self._loaded:
            where = self._shipped.get(name)
            self._loaded[name] = cast(D, self._added[name].load() if where is None else named(where))
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        yield from sorted({*self._shipped, *self._added})

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @cached_property
    def _added(self) -> Mapping[str, EntryPoint]:
        return {point.name: point for point in added(self._group)}


@cache
def sources() -> Mapping[str, SourceDeclaration]:
    """Every source by its name in a spec (``power.case``)."""
    return Registry(SOURCES, "pdual.sources")


@cache
def architectures() -> Mapping[str, Architecture]:
    """Every architecture by its name in a spec (``power.completed``)."""
    return Registry(ARCHITECTURES, "pdual.architectures")


@cache
def duals() -> Mapping[str, DualKind]:
    """Every kind of dual by name."""
    return Registry(DUALS, "pdual.duals")


def held_kinds() -> list[str]:
    """The kinds that a spec names; a formula is written out."""
    return [*(name for name in DUALS if name != FORMULA), *(name for name in duals() if name not in DUALS)]


def answers_by_row(use: ArchitectureUse | None, signature: Signature) -> bool:
    """Whether a model's answer depends on which row is asked about; a module from Python sees its arguments alone."""
    return use is not None and architectures()[use.architecture].by_row(signature, use.settings)


@cache
def evaluations() -> Mapping[str, EvaluationDeclaration]:
    """Every evaluation by name."""
    return Registry({}, "pdual.evaluations")
