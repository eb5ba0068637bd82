"""What is solved: programs over tables, the models they share, and how it is run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from pdual.compiler.program import AveragePlan, Program, Term
from pdual.dsl.declarations.known import Known
from pdual.dsl.declarations.solving import SolveSettings
from pdual.runtime.data.context import Progress
from pdual.runtime.data.tables import Table
from pdual.runtime.optimisation.placement import Placement
from pdual.runtime.storage.records import LogLine


@dataclass(frozen=True)
class Block:
    """One data set: its program and its rows. ``groups`` [len(table)] int64 makes steps draw whole groups."""

    program: Program
    table: Table
    groups: Tensor | None = None


@dataclass(frozen=True)
class Problem:
    """A problem that is ready to be solved. ``models`` holds every model by name, also those of formulas over
    multipliers.
    """

    name: str
    blocks: tuple[Block, ...]
    models: nn.ModuleDict
    settings: SolveSettings
    terms: tuple[Term, ...] = ()
    sizes: Mapping[str, int] = field(default_factory=dict)
    knowns: Mapping[str, Known] = field(default_factory=dict)
    averages: AveragePlan | None = None

    @torch.no_grad()
    def free_objective(self) -> float:
        """The sum of the objective's terms that need no data, in its own units."""
        return sum(float(term.evaluate(self.models)) * term.scale for term in self.terms)


@dataclass(frozen=True)
class Options:
    """How a problem is run; none of it is part of the problem.

    ``placement``: the device and the precision. ``feasibility`` drops the objective
    (``--minimize none``). ``budget`` in seconds ends the run with the step that exceeds it.
    ``stop`` is asked before every step. ``save`` is handed the solver's state at the end, after the first outer iteration
    and after every one that ends ``save_every`` seconds or more after the last time. ``identity``: what else has to
    be the same, beside what the solver itself knows, for a saved state to be one of this run.
    """

    seed: int = 0
    placement: Placement = field(default_factory=Placement)
    compile: bool = False
    feasibility: bool = False
    evaluation_batch: int | None = None
    budget: float | None = None
    stop: Callable[[], bool] = lambda: False
    save: Callable[[Mapping[str, Any]], None] | None = None
    save_every: float = 30.0
    log: Callable[[LogLine], None] = lambda line: None
    progress: Progress = field(default_factory=Progress)
    identity: Mapping[str, Any] = field(default_factory=dict)
