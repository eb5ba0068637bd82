"""A dual written as a formula over models: ``cap * sigmoid(h(d.image)[j])``."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor, nn

from pdual.dsl.diagnostics import refuse
from pdual.runtime.data.features import Features
from pdual.runtime.data.tables import Table
from pdual.runtime.duals.context import DualContext
from pdual.runtime.duals.regression import Fitting, RegressionStore
from pdual.runtime.duals.store import Bounds
from pdual.runtime.optimisation.optimisers import trainable


class FormulaStore(RegressionStore):
    """lam_phi(z) as the spec writes it; phi are the weights of the models it names. ``recenter`` has nothing
    to move here.

    ``formula`` is called as ``formula(values, ids, features)`` and gives [batch, c]. The fields of a batch
    are read again from the table; no model of the primal runs.
    """

    def __init__(
        self,
        formula: nn.Module,
        table: Table,
        reads: tuple[str, ...],
        bounds: Bounds,
        fitting: Fitting,
    ) -> None:
        super().__init__(formula, bounds, fitting)
        self.reads = reads
        self._formula = formula
        self._table = table

    def predict(self, ids: Tensor, features: Features, values: Mapping[str, object]) -> Tensor:
        """The formula."""
        found: Tensor = self._formula(values, ids, features)
        return found

    def head(self, raw: Tensor) -> Tensor:
        """Nothing to clip: the formula's own range is its cap."""
        return raw

    def values(self, ids: Tensor) -> Mapping[str, object]:
        """The fields of these rows."""
        return self._table.batch(ids).values


def build(context: DualContext) -> FormulaStore:
    """The builder of a formula over models. Raises PD417 where none of them trains."""
    plan, fit = context.plan, context.fit
    assert plan.formula is not None
    assert fit is not None
    if not trainable(plan.formula):
        raise refuse("PD417", family=plan.parts[0].partition(".")[0])
    return FormulaStore(plan.formula, fit.table, tuple(dict.fromkeys(plan.features)), context.bounds, fit.fitting)
