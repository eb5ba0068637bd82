"""The problem of hand_margins.py in cooper (`pip install --no-deps cooper-optim==1.0.1`), as its documentation advises.

One indexed multiplier a row and wrong class under the augmented Lagrangian formulation, a dense penalty coefficient, plain gradient
ascent at the rate of rho (or a share of it) for the multipliers, and the alternating optimiser that evaluates the constraints once (its cheapest, with
the simultaneous one). The objective, c / 2 ||theta||^2, is the weight decay of Adam here too; cooper sums over a batch where
pdual takes the mean, so the decay is multiplied by the batch, and Adam does not see the difference.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from cooper.cmp import CMPState, ConstrainedMinimizationProblem
from cooper.constraints.constraint import Constraint
from cooper.constraints.constraint_state import ConstraintState
from cooper.formulations.formulations import AugmentedLagrangian
from cooper.multipliers.multipliers import IndexedMultiplier
from cooper.optim.constrained_optimizers.alternating_optimizer import AlternatingDualPrimalOptimizer
from cooper.penalty_coefficients.penalty_coefficients import DensePenaltyCoefficient
from cooper.utils.annotations import ConstraintType
from hand_margins import CLASSES, Classifier, Setting, batches, picked
from torch import Tensor

WRONG = CLASSES - 1


class Margins(ConstrainedMinimizationProblem):
    """epsilon - (z_y - z_j) <= 0 for every j but y: the multipliers of row n are n * 9 to n * 9 + 8."""

    def __init__(self, model: Classifier, inputs: Tensor, labels: Tensor, setting: Setting) -> None:
        super().__init__()
        self.model, self.inputs, self.labels = model, inputs, labels
        self.setting, self.epsilon = setting, setting.epsilon
        self.wrong = torch.tensor([[j for j in range(CLASSES) if j != y] for y in range(CLASSES)])
        self.places = torch.arange(WRONG)
        self.margin = Constraint(
            constraint_type=ConstraintType.INEQUALITY,
            formulation_type=AugmentedLagrangian,
            multiplier=IndexedMultiplier(num_constraints=len(inputs) * WRONG),
            penalty_coefficient=DensePenaltyCoefficient(init=torch.tensor(setting.rho)),
        )

    def compute_cmp_state(self, ids: Tensor) -> CMPState:
        labels = self.labels.index_select(0, ids)
        logits = self.model(picked(self.inputs, ids, self.setting))
        margins = logits.gather(1, labels[:, None]) - logits.gather(1, self.wrong.index_select(0, labels))
        places = torch.add(self.places, ids[:, None], alpha=WRONG)
        state = ConstraintState((self.epsilon - margins).flatten(), constraint_features=places.flatten())
        return CMPState(observed_constraints={self.margin: state})


class Rolling:
    """cooper's problem, its optimisers and a stream of batches."""

    def __init__(self, inputs: Tensor, labels: Tensor, train: Tensor, setting: Setting, seed: int = 0) -> None:
        model = Classifier(inputs.shape[1:], setting).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.problem = Margins(model, inputs, labels, setting)
        decay = setting.c * setting.batch
        self.optimiser = AlternatingDualPrimalOptimizer(
            self.problem,
            torch.optim.Adam(model.parameters(), lr=setting.lr, weight_decay=decay, fused=True),
            torch.optim.SGD(
                self.problem.dual_parameters(), lr=setting.share * setting.rho, maximize=True, foreach=False
            ),
        )
        self.batches: Iterator[Tensor] = batches(train, setting.batch, seed)

    def step(self) -> None:
        """One roll: multipliers, then weights."""
        self.optimiser.roll(compute_cmp_state_kwargs={"ids": next(self.batches)})
