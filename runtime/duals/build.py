"""From the plans of a program to the stores that hold its multipliers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import torch
from torch import Tensor, nn

from pdual.compiler.layout import Layout, Sense
from pdual.compiler.program import DualPlan
from pdual.dsl.declarations.references import ArchitectureUse
from pdual.dsl.declarations.signature import Signature
from pdual.dsl.diagnostics import refuse
from pdual.runtime.data.features import Features
from pdual.runtime.data.sampling import generator
from pdual.runtime.data.tables import Table
from pdual.runtime.duals.fixed import PenaltyStore
from pdual.runtime.duals.formula import FormulaStore
from pdual.runtime.duals.hybrid import HybridStore
from pdual.runtime.duals.learned import LearnedStore
from pdual.runtime.duals.multipliers import Multipliers
from pdual.runtime.duals.network import FlatNetwork, MemberNetwork
from pdual.runtime.duals.pointwise import PointwiseStore
from pdual.runtime.duals.regression import Fitting, RegressionStore
from pdual.runtime.duals.shared import SharedStore
from pdual.runtime.duals.store import Bounds, DualStore
from pdual.runtime.optimisation.lagrangian import Lagrangian
from pdual.runtime.optimisation.optimisers import trainable
from pdual.runtime.problem.problem import Block, Problem


def build_multipliers(
    problem: Problem, block: Block, features: Features, device: torch.device, dtype: torch.dtype, seed: int
) -> Multipliers:
    """The multipliers of one data set, all at 0.

    ``block.table`` and the features of any batch (``features``: only their shapes count) are on ``device``.
    The rows that networks are fitted on are the share ``fit`` of the train rows, drawn from ``seed``.
    """
    settings, layout = problem.settings, block.program.layout
    plans = [plan for plan in block.program.duals if plan.kind != "none" and plan.columns]
    active = sorted(column for plan in plans for column in plan.columns)
    lagrangian = Lagrangian.of(layout, active, settings.rho, settings.rho_equal, device, dtype)
    train = block.table.splits["train"]
    builder = _Builder(problem, block.table, features, fit_positions(train, settings.fit, seed), dtype, seed)
    stores = [builder.store(plan, layout, place) for place, plan in enumerate(plans)]
    join([store for store in stores if isinstance(store, RegressionStore)])
    return Multipliers(layout, plans, stores, lagrangian)


def join(stores: Sequence[RegressionStore]) -> None:
    """Join the stores whose weights are in part the same, as formulas over one model have them."""
    together: list[list[RegressionStore]] = []
    for store in stores:
        own = set(map(id, store.weights()))
        met = [group for group in together if any(own & set(map(id, other.weights())) for other in group)]
        together = [group for group in together if group not in met] + [
            [*(item for group in met for item in group), store]
        ]
    for first, *others in together:
        if others:
            first.join(others)


def fit_positions(train: Tensor, share: float, seed: int) -> Tensor:
    """I_fit: positions among the train rows, ascending, a seeded share of them (at least one)."""
    count = max(1, round(share * len(train)))
    chosen = torch.randperm(len(train), generator=generator(seed, 2))[:count]
    return chosen.sort().values.to(train.device)


class _Builder:
    def __init__(
        self, problem: Problem, table: Table, features: Features, fit: Tensor, dtype: torch.dtype, seed: int
    ) -> None:
        self._problem = problem
        self._table = table
        self._features = features
        self._fit = fit
        self._dtype = dtype
        self._seed = seed

    def store(self, plan: DualPlan, layout: Layout, place: int) -> DualStore:
        senses = [part.sense for part in layout.parts for _ in range(part.size)]
        equal = torch.tensor([senses[column] is Sense.EQUAL for column in plan.columns], device=self._fit.device)
        bounds = Bounds.of(equal, plan.cap, self._dtype)
        match plan.kind:
            case "pointwise":
                return PointwiseStore(bounds, self._table.splits["train"])
            case "hybrid":
                return HybridStore(bounds, self._table.splits["train"])
            case "shared":
                return SharedStore(bounds)
            case "penalty":
                return PenaltyStore(bounds)
            case "learned":
                return self._learned(plan, bounds, place)
            case "formula":
                return self._formula(plan, bounds, place)
        raise AssertionError(f"no such kind of dual: {plan.kind}")

    def _learned(self, plan: DualPlan, bounds: Bounds, place: int) -> LearnedStore:
        assert plan.architecture is not None
        network: FlatNetwork | MemberNetwork
        with torch.random.fork_rng():
            torch.manual_seed(generator(self._seed, 3, place).initial_seed())
            if plan.members:
                keys = tuple(dict.fromkeys(key for key, _, _ in plan.members))
                sizes = {key: self._shape(key)[0] for key in keys}
                widths = {key: self._shape(key)[1] for key in keys}
                network = MemberNetwork(plan.members, sizes, widths, plan.architecture, self._build)
            else:
                keys = tuple(dict.fromkeys(plan.features))
                flat = {key: prod(self._shape(key)) for key in keys}
                network = FlatNetwork(flat, len(plan.columns), plan.architecture, self._build)
        network.to(device=self._fit.device, dtype=self._dtype)
        return LearnedStore(network, keys, bounds, self._fitting(place))

    def _formula(self, plan: DualPlan, bounds: Bounds, place: int) -> FormulaStore:
        assert plan.formula is not None
        reads = tuple(dict.fromkeys(plan.features))
        if not trainable(plan.formula):
            raise refuse("PD417", family=plan.parts[0].partition(".")[0])
        return FormulaStore(plan.formula, self._table, reads, bounds, self._fitting(place))

    def _fitting(self, place: int) -> Fitting:
        settings = self._problem.settings
        random = generator(self._seed, 4, place)
        return Fitting(settings.ascent, settings.smoothing, self._fit, settings.outer, random, settings.rest_share)

    def _shape(self, key: str) -> tuple[int, ...]:
        value = self._features[key]
        assert isinstance(value, Tensor), f"{key} is ragged, which the checker refuses"
        return tuple(value.shape[1:])

    def _build(self, use: ArchitectureUse, signature: Signature) -> nn.Module:
        from pdual.runtime.models.build import build_model

        sizes: Mapping[str, int] = self._problem.sizes
        return build_model(use, signature, sizes, self._problem.knowns, len(self._table))
