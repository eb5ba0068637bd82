"""Which train rows the evaluation pass of an outer iteration visits: all, or after ``shrinking`` those not at rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from pdual.dsl.declarations.solving import Shrinking
from pdual.runtime.evaluation.result import EvaluationResult, as_state, from_state, merged


class Visits:
    """The train rows of one data set, pass after pass.

    A row is at rest when no entry of it is an equality and lam + rho g <= -rho ``margin`` in all: its terms of the
    augmented Lagrangian have gradient 0, and go on having it while no g moves by ``margin``; its multipliers are 0 or
    on their way there. Between two passes over all rows, of which every ``every``-th is one, only rows that were not
    at rest are evaluated; the others keep what was last seen of them. Primal steps and fits still draw them, seldom,
    with weights that keep every mean unbiased (``RowStream.restrict``), so the optimum is that of visiting all rows.
    """

    def __init__(self, rows: Tensor, settings: Shrinking | None) -> None:
        self._rows = rows
        self._settings = settings
        self._last: EvaluationResult | None = None
        self._awake: Tensor | None = None
        self._taken = 0

    def next(self, evaluate: Callable[[Tensor], EvaluationResult]) -> EvaluationResult:
        """The next pass: of all rows, what was not evaluated as it was last seen."""
        if self._settings is None:
            return evaluate(self._rows)
        due = self._taken % self._settings.every == 0
        self._taken += 1
        if due or self._last is None or self._awake is None:
            found = evaluate(self._rows)
        elif len(places := self._awake.nonzero().squeeze(1)):
            found = merged(self._last, places, evaluate(self._rows[places]))
        else:
            found = replace(self._last, fresh=torch.zeros_like(self._awake))
        self._last = found
        return found

    def restrict(self, awake: Tensor) -> None:
        """Which rows are not at rest: [rows] bool."""
        self._awake = awake

    def state(self) -> dict[str, object]:
        """What was last seen, and which rows are at rest."""
        last = None if self._last is None else as_state(self._last)
        return {"taken": self._taken, "awake": self._awake, "last": last}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from a saved state."""
        self._taken = int(state["taken"])
        device = self._rows.device
        self._awake = None if state["awake"] is None else state["awake"].to(device)
        self._last = None if state["last"] is None else from_state(state["last"], self._rows)
