"""All multipliers of one data set: its plans' stores side by side, in the order of its columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from pdual.compiler.layout import Layout
from pdual.compiler.program import DualPlan
from pdual.dsl.declarations.registry import duals
from pdual.runtime.data.features import Features
from pdual.runtime.duals.regression import RegressionStore, fitted
from pdual.runtime.duals.store import DualStore, Reading
from pdual.runtime.evaluation.result import EvaluationResult
from pdual.runtime.optimisation.lagrangian import Lagrangian
from pdual.runtime.optimisation.multiplier_step import Ascent, MultiplierStep, ascended


@dataclass(frozen=True, slots=True)
class Update:
    """What an update did: live entries, their mean |lam| before it, the mean change it asked for, the mean
    error of each fit.
    """

    entries: int
    level: float
    moved: float
    errors: Mapping[str, float]


class Multipliers:
    """The multipliers of a residual matrix [batch, columns] and the Lagrangian they enter.

    Columns that no plan holds, or whose plan is ``none``, are dropped from the Lagrangian; they are still
    measured. ``active`` lists the others, ascending; matrices below are [batch, active] unless said.
    """

    def __init__(
        self,
        layout: Layout,
        plans: Sequence[DualPlan],
        stores: Sequence[DualStore],
        lagrangian: Lagrangian,
    ) -> None:
        self.plans = tuple(plans)
        self.stores = tuple(stores)
        self.kinds = tuple(duals()[plan.kind] for plan in plans)
        self.lagrangian = lagrangian
        #: The share of rho by which an update moves multipliers.
        self.step = 1.0
        #: What the ascent follows.
        self.follow: MultiplierStep = Ascent()
        self.columns = layout.columns
        device, dtype = lagrangian.rho.device, lagrangian.rho.dtype
        held = [column for plan in plans for column in plan.columns]
        self.active = tuple(sorted(held))
        place = {column: position for position, column in enumerate(self.active)}
        self._columns = torch.tensor(self.active, dtype=torch.long, device=device)
        self._places = [
            torch.tensor([place[column] for column in plan.columns], dtype=torch.long, device=device) for plan in plans
        ]
        self._order = None if list(self.active) == held else torch.tensor(_inverse(held), device=device)
        self._whole = len(self.active) == layout.columns
        self.caps = torch.full((layout.columns,), torch.inf, dtype=dtype, device=device)
        for plan in plans:
            self.caps[list(plan.columns)] = plan.cap

    @property
    def reads(self) -> tuple[str, ...]:
        """The features that reading the multipliers needs, each once."""
        return tuple(dict.fromkeys(key for store in self.stores for key in store.reads))

    @property
    def generalises(self) -> bool:
        """Whether rows that were not trained on have multipliers."""
        return all(kind.generalises for kind in self.kinds)

    @property
    def rests(self) -> bool:
        """Whether a row whose step ends at 0 loses nothing by not being visited."""
        return self.follow.rests and all(kind.rests for kind in self.kinds)

    @property
    def parameters(self) -> int:
        """How many numbers hold the multipliers; weights that several stores share count once."""
        return sum(store.parameters for store in self._tables) + sum(weight.numel() for weight in self.weights())

    @property
    def bytes(self) -> int:
        """Their size in memory."""
        return sum(store.bytes for store in self._tables) + sum(weight.nbytes for weight in self.weights())

    @property
    def _tables(self) -> list[DualStore]:
        """Those that hold multipliers in no weights."""
        return [store for store in self.stores if not store.weights()]

    @property
    def rho(self) -> float:
        """The largest rho of an inequality; 0 where there is none."""
        return _largest(self.lagrangian.rho[~self.lagrangian.equal])

    @property
    def rho_equal(self) -> float:
        """The largest rho of an equality; 0 where there is none."""
        return _largest(self.lagrangian.rho[self.lagrangian.equal])

    @property
    def rho_by_column(self) -> Tensor:
        """[columns]; 0 in what was dropped."""
        return self.spread(self.lagrangian.rho[None])[0]

    def read(self, ids: Tensor, features: Features, values: Mapping[str, object], seen: bool = True) -> Tensor:
        """The multipliers of some rows, without a gradient; not a number where they are undefined on rows
        that were not ``seen``.
        """
        found = [
            store.value(ids, features, values)
            if seen or kind.generalises
            else self.lagrangian.rho.new_full((len(ids), len(plan.columns)), torch.nan)
            for plan, store, kind in zip(self.plans, self.stores, self.kinds, strict=True)
        ]
        joined = found[0] if len(found) == 1 else torch.cat(found, 1)
        return joined if self._order is None else joined.index_select(1, self._order)

    def zeros(self, rows: int) -> Tensor:
        """The multipliers of the warm-up."""
        return self.lagrangian.rho.new_zeros(()).expand(rows, len(self.active))

    def psi(self, residuals: Tensor, multipliers: Tensor) -> Tensor:
        """The augmented Lagrangian's constraint terms of each row, [batch], from [batch, columns] residuals, in which
        masked entries are 0 without a gradient: psi(0, lam) is 0, so they add nothing.
        """
        return self.lagrangian.psi(self.select(residuals), multipliers)

    def total(self, residuals: Tensor, multipliers: Tensor, weights: Tensor | None) -> Tensor:
        """The sum over the batch of what ``psi`` gives, times the rows' weights, [batch], where there are some."""
        if weights is None:
            return self.lagrangian.total(self.select(residuals), multipliers)
        each = self.psi(residuals, multipliers)
        return torch.dot(each, weights.to(each))

    def select(self, matrix: Tensor) -> Tensor:
        """[batch, active] from [batch, columns]."""
        return matrix if self._whole else matrix.index_select(1, self._columns)

    def spread(self, matrix: Tensor) -> Tensor:
        """[batch, columns] from [batch, active]; 0 in what was dropped."""
        if self._whole:
            return matrix
        return matrix.new_zeros(matrix.shape[0], self.columns).index_copy_(1, self._columns, matrix)

    def awake(self, result: EvaluationResult, margin: float) -> Tensor:
        """Which rows are not at rest, [n] bool: a live entry is an equality, or its step does not end at 0 unless g
        falls by ``margin``.
        """
        assert result.multipliers is not None
        steps = self.lagrangian.rho * self.step
        asked = ascended(self.select(result.multipliers), steps, self.select(result.residuals) + margin)
        live = (asked > 0) | self.lagrangian.equal
        return (live if result.mask is None else live & self.select(result.mask)).any(1)

    def restrict(self, awake: Tensor) -> None:
        """Which train rows are not at rest: [rows] bool."""
        for store in self.stores:
            store.restrict(awake)

    def update(self, reading: EvaluationResult) -> Update:
        """Step 3 and 4 of Algorithm 1 for every store."""
        assert reading.multipliers is not None
        multipliers = self.select(reading.multipliers)
        residuals = self.follow(reading.ids, self.select(reading.residuals))
        mask = None if reading.mask is None else self.select(reading.mask)
        relaxed = self.lagrangian.relaxed(residuals, multipliers, mask)
        steps = self.lagrangian.rho * self.step
        readings = [
            Reading(
                reading.ids,
                residuals.index_select(1, places),
                None if mask is None else mask.index_select(1, places),
                multipliers.index_select(1, places),
                relaxed.index_select(1, places),
                steps.index_select(0, places),
                reading.features,
                reading.fresh,
            )
            for places in self._places
        ]
        errors = {
            ", ".join(plan.parts): error
            for plan, error in zip(self.plans, updated(self.stores, readings), strict=True)
            if error is not None
        }
        return Update(*self._change(residuals, mask, multipliers), errors)

    def weights(self) -> list[nn.Parameter]:
        """The weights that hold multipliers, phi, each once: the primal steps leave them alone."""
        return list({id(weight): weight for store in self.stores for weight in store.weights()}.values())

    def worst(self, result: EvaluationResult) -> float:
        """The largest violation of any live entry that is held, scaled."""
        residuals = self.select(result.residuals)
        violation = torch.where(self.lagrangian.equal, residuals.abs(), residuals)
        return float(violation.clamp(min=0).max()) if violation.numel() else 0.0

    def state(self) -> dict[str, object]:
        """Every store and rho, and what the step keeps."""
        kept = self.follow.state()
        own = {"step": kept} if kept else {}
        return {"rho": self.lagrangian.rho, "stores": [store.state() for store in self.stores], **own}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from a saved state."""
        self.lagrangian.load_rho(state["rho"])
        self.follow.load_state(state.get("step", {}))
        for store, saved in zip(self.stores, state["stores"], strict=True):
            store.load_state(saved)

    def adopt(self, state: Mapping[str, Any]) -> None:
        """Start from the multipliers of another run, store by store where the shapes agree."""
        for store, saved in zip(self.stores, state["stores"], strict=False):
            store.adopt(saved)

    def _change(self, residuals: Tensor, mask: Tensor | None, multipliers: Tensor) -> tuple[int, float, float]:
        caps = self.caps[self._columns]
        asked = ascended(multipliers, self.lagrangian.rho * self.step, residuals)
        asked = torch.clamp(asked, torch.where(self.lagrangian.equal, -caps, 0.0), caps)
        live = multipliers.numel() if mask is None else int(mask.sum())
        level = multipliers.abs() if mask is None else multipliers.abs() * mask
        # A masked entry has residual 0, so it asks for no change.
        return (
            live,
            float(level.sum()) / max(1, live),
            float((asked - multipliers).abs().sum()) / max(1, live),
        )


def updated(stores: Sequence[DualStore], readings: Sequence[Reading]) -> list[float | None]:
    """Update every store, those together that were joined; of each the mean error of its fit, None where there is none."""
    errors: list[float | None] = [None] * len(stores)
    joined: dict[int, list[int]] = {}
    for place, store in enumerate(stores):
        joined.setdefault(id(store.optimiser if isinstance(store, RegressionStore) else store), []).append(place)
    for places in joined.values():
        together = [store for place in places if isinstance(store := stores[place], RegressionStore)]
        if len(together) > 1:
            found: Sequence[float | None] = fitted(together, [readings[place] for place in places])
        else:
            found = [stores[place].update(readings[place]) for place in places]
        for place, error in zip(places, found, strict=True):
            errors[place] = error
    return errors


def _largest(rho: Tensor) -> float:
    return float(rho.max()) if len(rho) else 0.0


def _inverse(held: list[int]) -> list[int]:
    """Where each column, ascending, stands in ``held``."""
    return sorted(range(len(held)), key=held.__getitem__)
