"""``learned(ARCHITECTURE, on = features(...), cap = G)``: a network on the features of the primal's own
model.

The class of multipliers Λ_Φ of Boero, Nixon and Ribeiro, "Learning Samples Importance: Parameterizing Dual Variables in
Everywhere Learning".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from pdual.runtime.data.features import Features
from pdual.runtime.duals.context import DualContext
from pdual.runtime.duals.network import FlatNetwork, MemberNetwork
from pdual.runtime.duals.regression import Fitting, RegressionStore
from pdual.runtime.duals.store import Bounds, Reading


class LearnedStore(RegressionStore):
    """lam_phi(z) = clip(network(features of z)) into [0, G], or [-G, G] for an equality.

    Before the first fit the inputs of the network are centred and divided by their common scale, once and for
    all: until then lam_phi is 0 whatever they are, and the features have left their random start.
    """

    def __init__(
        self,
        phi: FlatNetwork | MemberNetwork,
        reads: tuple[str, ...],
        bounds: Bounds,
        fitting: Fitting,
    ) -> None:
        super().__init__(phi, bounds, fitting)
        self.reads = reads
        self._network = phi
        self._standardised = False

    def predict(self, ids: Tensor, features: Features, values: Mapping[str, object]) -> Tensor:
        """The network's output."""
        found: Tensor = self._network(features)
        return found

    def head(self, raw: Tensor) -> Tensor:
        """Clip into the bounds."""
        return self._bounds.clip(raw)

    def values(self, ids: Tensor) -> Mapping[str, object]:
        """None are read."""
        return {}

    def recentre(self, shift: Tensor) -> None:
        """Move the bias of every column."""
        with torch.no_grad():
            self._network.bias.add_(shift)

    def update(self, reading: Reading) -> float:
        """Fit the network."""
        if not self._standardised:
            self._network.standardise(reading.features, self._fit)
            self._standardised = True
        return super().update(reading)

    def state(self) -> dict[str, object]:
        """Adds whether the inputs were standardised."""
        return {**super().state(), "standardised": self._standardised}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from a saved state."""
        super().load_state(state)
        self._standardised = bool(state["standardised"])

    def adopt(self, state: Mapping[str, Any]) -> bool:
        """The scale of the inputs comes along with phi."""
        adopted = super().adopt(state)
        self._standardised = self._standardised or (adopted and bool(state["standardised"]))
        return adopted


def build(context: DualContext) -> LearnedStore:
    """The builder of ``learned``: one network on all features, or one for each index set where features are per member."""
    plan, fit = context.plan, context.fit
    assert plan.architecture is not None
    assert fit is not None
    network: FlatNetwork | MemberNetwork
    with torch.random.fork_rng():
        torch.manual_seed(fit.seed)
        if plan.members:
            keys = tuple(dict.fromkeys(key for key, _, _ in plan.members))
            sizes = {key: fit.shape(key)[0] for key in keys}
            widths = {key: fit.shape(key)[1] for key in keys}
            network = MemberNetwork(plan.members, sizes, widths, plan.architecture, fit.network)
        else:
            keys = tuple(dict.fromkeys(plan.features))
            network = FlatNetwork(
                {key: fit.width(key) for key in keys}, len(plan.columns), plan.architecture, fit.network
            )
    network.to(device=context.bounds.high.device, dtype=context.bounds.high.dtype)
    return LearnedStore(network, keys, context.bounds, fit.fitting)
