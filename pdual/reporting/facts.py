"""The facts of a report on one run, as plain values. Nothing here imports torch or makes figures or HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pdual.runtime.storage.records import LogLine, Metrics, RunRecord


@dataclass(frozen=True)
class Tail:
    """Over the rows of a split, a row's largest violation of a family (of all of them: family ``all``), in ``unit``.

    ``cvar``: the mean over the worst ``CVAR`` of the rows. ``worst``: entries by address with their violations, largest first.
    """

    split: str
    family: str
    unit: str
    mean: float
    p95: float
    p99: float
    largest: float
    cvar: float
    violated: float
    worst: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Curve:
    """The distribution of left - right over the live entries of a family on a split: values at evenly spaced shares of entries.
    Absolute where the family is ``equal``ities; ``met``: the share of entries that are.
    """

    split: str
    family: str
    unit: str
    values: tuple[float, ...]
    met: float
    equal: bool = False


@dataclass(frozen=True)
class AtCap:
    """A row with a multiplier at its cap: how many of its multipliers are, the most violated of those entries, by how much."""

    split: str
    row: str
    entries: int
    address: str
    violation: float
    unit: str


@dataclass(frozen=True)
class Scores:
    """One line of the table of recovery, pooled over rows and constraints."""

    data: str
    split: str
    against: str
    name: str
    auc: float | None
    ndcg: float | None
    spearman: float | None


@dataclass(frozen=True)
class Sketch:
    """A drawing of a data source: ``figure`` (of matplotlib), or ``rows`` that are quoted."""

    title: str
    words: str
    figure: Any = None
    rows: Sequence[tuple[str, float | None, Mapping[str, str]]] = ()


@dataclass(frozen=True)
class RunFacts:
    """One run. ``feasible_rows`` by split; ``at_cap`` lists the first of ``at_cap_rows`` rows; ``samples`` says what stood in for
    what was not on the machine.
    """

    name: str
    title: str
    spec: str
    record: RunRecord
    metrics: Metrics
    history: tuple[LogLine, ...]
    feasible: bool
    verdict: tuple[str, ...]
    feasible_rows: Mapping[str, float]
    tails: tuple[Tail, ...]
    curves: tuple[Curve, ...]
    at_cap: tuple[AtCap, ...]
    at_cap_rows: int
    recovery: tuple[Scores, ...]
    active_rate: float | None
    sketches: tuple[Sketch, ...]
    samples: tuple[str, ...] = ()
