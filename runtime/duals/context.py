"""What the builder of a dual kind is handed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from torch import Tensor, nn

from pdual.compiler.program import DualPlan
from pdual.dsl.declarations.known import Known
from pdual.dsl.declarations.references import ArchitectureUse
from pdual.dsl.declarations.signature import Signature, Sizes
from pdual.runtime.data.features import Features
from pdual.runtime.data.tables import Table
from pdual.runtime.duals.regression import Fitting
from pdual.runtime.duals.store import Bounds
from pdual.runtime.models.build import build_model


@dataclass(frozen=True, slots=True)
class FitContext:
    """What a kind needs whose weights are fitted.

    ``table``: the rows. ``features``: those of one batch, of which the shapes count. ``fitting``: the settings of the fit. ``seed``: of the
    start of networks.
    """

    table: Table
    features: Features
    fitting: Fitting
    seed: int
    sizes: Sizes
    knowns: Mapping[str, Known]

    def shape(self, key: str) -> list[int]:
        """The shape of a feature of one row."""
        feature = self.features[key]
        assert isinstance(feature, Tensor)  # what has another length on every row is refused
        return list(feature.shape[1:])

    def width(self, key: str) -> int:
        """How many numbers a feature of one row has."""
        return prod(self.shape(key))

    def network(self, use: ArchitectureUse, signature: Signature) -> nn.Module:
        """A network on features."""
        return build_model(use, signature, self.sizes, self.knowns, len(self.table))


@dataclass(frozen=True, slots=True)
class DualContext:
    """One plan: ``bounds`` of its columns, the ids ``rows`` [n] of the train rows, and for kinds that are fitted ``fit``."""

    plan: DualPlan
    bounds: Bounds
    rows: Tensor
    fit: FitContext | None = None
