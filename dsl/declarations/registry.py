"""The closed registry of sources, architectures and evaluations; packages add to it by entry points."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.metadata import entry_points
from typing import Any

from pdual.dsl.declarations.architecture import Architecture
from pdual.dsl.declarations.evaluation import EvaluationDeclaration
from pdual.dsl.declarations.source import SourceDeclaration


@cache
def sources() -> Mapping[str, SourceDeclaration]:
    """Every source by its name in a spec (``power.case``)."""
    from pdual.dsl.declarations import shipped_sources

    return {item.name: item for item in (*shipped_sources.SOURCES, *_plugins("pdual.sources"))}


@cache
def architectures() -> Mapping[str, Architecture]:
    """Every architecture by its name in a spec (``power.completed``)."""
    from pdual.dsl.declarations import shipped_architectures

    return {item.name: item for item in (*shipped_architectures.ARCHITECTURES, *_plugins("pdual.architectures"))}


@cache
def evaluations() -> Mapping[str, EvaluationDeclaration]:
    """Every evaluation by name."""
    from pdual.dsl.declarations import shipped_evaluations

    return {item.name: item for item in (*shipped_evaluations.EVALUATIONS, *_plugins("pdual.evaluations"))}


def _plugins(group: str) -> tuple[Any, ...]:
    return tuple(point.load() for point in entry_points(group=group))
