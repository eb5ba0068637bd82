"""How a run is asked for: nothing in it changes what the problem says. Imports no torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

Device: TypeAlias = Literal["auto", "cpu", "cuda"]
Precision: TypeAlias = Literal["float32", "float64"]

#: ``--quick``: rows of each split, outer iterations, and primal steps of the whole run, at most.
QUICK_ROWS = 1000
QUICK_OUTER = 10
QUICK_STEPS = 2000


@dataclass(frozen=True)
class RunOptions:
    """The options of ``pdual run``.

    ``out``: the run's folder, None for one named after the problem and the time. ``overrides`` (``--set``), ``dual``
    and ``minimize`` are in force in the graph already, and here for the record. ``data``: files by data set. ``budget``
    in seconds. ``limit``: rows of each split. ``initial``: the folder of a run whose weights to start from.
    ``command``: the command line, for the record.
    """

    out: Path | None = None
    overrides: Mapping[str, str] = field(default_factory=dict)
    dual: Mapping[str, str] = field(default_factory=dict)
    minimize: bool = True
    data: Mapping[str, Path] = field(default_factory=dict)
    device: Device = "auto"
    precision: Precision = "float32"
    compile: bool = False
    seed: int = 0
    resume: bool = False
    quick: bool = False
    budget: float | None = None
    limit: int | None = None
    initial: Path | None = None
    command: tuple[str, ...] = ()
