"""From the plans of a program to the stores that hold its multipliers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import torch
from torch import Tensor

from pdual.compiler.layout import Layout, Sense
from pdual.compiler.program import DualPlan, Program
from pdual.dsl.declarations.known import Known
from pdual.dsl.declarations.registry import duals
from pdual.dsl.declarations.signature import Sizes
from pdual.dsl.declarations.solving import SolveSettings
from pdual.dsl.extensions import named
from pdual.runtime.data.features import Features
from pdual.runtime.data.sampling import generator
from pdual.runtime.data.tables import Table
from pdual.runtime.duals.context import DualContext, FitContext
from pdual.runtime.duals.multipliers import Multipliers
from pdual.runtime.duals.regression import Fitting, RegressionStore
from pdual.runtime.duals.store import Bounds, DualStore
from pdual.runtime.optimisation.lagrangian import Lagrangian
from pdual.runtime.optimisation.placement import Placement


def build_multipliers(
    program: Program,
    table: Table,
    settings: SolveSettings,
    sizes: Sizes,
    knowns: Mapping[str, Known],
    features: Features,
    placement: Placement,
    seed: int,
) -> Multipliers:
    """The multipliers of one data set, all at 0.

    ``table`` and the features of any batch (``features``: only their shapes count) are on the device.
    The rows that networks are fitted on are the share ``fit`` of the train rows, drawn from ``seed``.
    """
    layout = program.layout
    plans = in_force(program.duals)
    lagrangian = Lagrangian.of(
        layout, active_columns(plans), settings.rho, settings.rho_equal, placement.device, placement.dtype
    )
    train = table.splits["train"]
    fit = fit_positions(train, settings.fit, seed)
    stores = []
    for place, plan in enumerate(plans):
        fitting = Fitting(
            settings.ascent, settings.smoothing, fit, settings.outer, generator(seed, 4, place), settings.rest_share
        )
        start = generator(seed, 3, place).initial_seed()
        context = FitContext(table, features, fitting, start, sizes, knowns)
        stores.append(build_store(plan, layout, train, placement.dtype, context))
    join([store for store in stores if isinstance(store, RegressionStore)])
    return Multipliers(layout, plans, stores, lagrangian)


def in_force(plans: Iterable[DualPlan]) -> list[DualPlan]:
    """The plans whose columns enter the Lagrangian."""
    return [plan for plan in plans if duals()[plan.kind].in_force and plan.columns]


def active_columns(plans: Iterable[DualPlan]) -> list[int]:
    """The columns of some plans, ascending."""
    return sorted(column for plan in plans for column in plan.columns)


def build_store(
    plan: DualPlan, layout: Layout, rows: Tensor, dtype: torch.dtype, fit: FitContext | None = None
) -> DualStore:
    """What holds the multipliers of a plan on the train rows ``rows`` [n], by the builder of its kind."""
    senses = [part.sense for part in layout.parts for _ in range(part.size)]
    equal = torch.tensor([senses[column] is Sense.EQUAL for column in plan.columns], device=rows.device)
    return store_of(DualContext(plan, Bounds.of(equal, plan.cap, dtype), rows, fit))


def store_of(context: DualContext) -> DualStore:
    """The store that the builder of a plan's kind makes."""
    builder = duals()[context.plan.kind].builder
    assert builder is not None
    store: DualStore = named(builder)(context)
    return store


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
