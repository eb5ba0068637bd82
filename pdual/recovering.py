"""A run's multipliers against those of another run that saw the same rows: on rows that they were fitted on, and on rows that they were not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

    from pdual.runtime.storage.records import Recovery
    from pdual.runtime.training.run import Run
    from pdual.runtime.training.training_sets import TrainingSet


@dataclass(frozen=True)
class Against:
    """On some train rows: how they rank, and the mean |lam - lam of the reference| over live entries, scaled."""

    scores: Recovery
    distance: float


@dataclass(frozen=True)
class Capacity:
    """What multipliers of this form reach (method.md, "What is measured"): on I_fit, and on I_test, which they were not fitted on."""

    fitted: Against
    unseen: Against

    @property
    def approximation(self) -> float:
        """Mean |lam_phi - lam_pw| on I_fit."""
        return self.fitted.distance

    @property
    def generalisation(self) -> float:
        """By how much the distance on I_test is larger."""
        return self.unseen.distance - self.fitted.distance


def saw(reference: Run) -> dict[str, Tensor]:
    """By data set with multipliers, those that a run has of its train rows: [rows, columns]."""
    found = {}
    for training_set in reference.training_sets:
        if training_set.multipliers.active:
            multipliers = training_set.evaluate("train").multipliers
            assert multipliers is not None
            found[training_set.name] = multipliers
    return found


def unseen(run: Run, reference: Mapping[str, Tensor], families: Sequence[str] | None = None) -> dict[str, Against]:
    """By data set, on the train rows that no network was fitted on; nothing where there are none, or no multipliers."""
    found = {}
    for training_set, fitted in _fitted(run):
        if not bool(fitted.all()):
            found[training_set.name] = _against(training_set, reference[training_set.name], fitted, False, families)
    return found


def capacity(run: Run, reference: Mapping[str, Tensor]) -> dict[str, Capacity]:
    """By data set where the reference has multipliers, and the run some that were fitted on a part of the train rows (``fit`` below 1)."""
    found = {}
    for training_set, fitted in _fitted(run):
        if training_set.name in reference and training_set.multipliers.generalises and not bool(fitted.all()):
            known = reference[training_set.name]
            found[training_set.name] = Capacity(
                fitted=_against(training_set, known, fitted, True, None),
                unseen=_against(training_set, known, fitted, False, None),
            )
    return found


def _fitted(run: Run) -> list[tuple[TrainingSet, Tensor]]:
    """Every training set with multipliers, and which of its train rows, [rows], its networks were fitted on."""
    import torch

    from pdual.runtime.duals.build import fit_positions

    found = []
    for place, training_set in enumerate(run.training_sets):
        if training_set.multipliers.active:
            train = training_set.table.splits["train"]
            fitted = torch.zeros(len(train), dtype=torch.bool, device=train.device)
            fitted[fit_positions(train, run.problem.settings.fit, run.options.seed + place)] = True
            found.append((training_set, fitted))
    return found


def _against(
    training_set: TrainingSet, reference: Tensor, fitted: Tensor, seen: bool, families: Sequence[str] | None
) -> Against:
    """``reference``: its multipliers of the train rows. ``fitted``: [train rows] bool; its mean reference is the row ``constant``, and it
    is scored where ``seen``, the other rows where not.
    """
    from pdual.runtime.evaluation.evaluate import evaluate
    from pdual.runtime.evaluation.recovery import Reference, recovery

    rows = fitted if seen else ~fitted
    ids = training_set.table.splits["train"][rows]
    batch, groups, held = training_set.evaluation_batch, training_set.groups_of(ids), training_set.multipliers
    own = evaluate(training_set.program, training_set.table, ids, batch, held, held.reads, seen, groups)
    assert own.multipliers is not None
    rho = held.rho_by_column
    scores = recovery(
        training_set.program.layout, own, Reference("pointwise", reference[rows]), reference[fitted], families, rho
    )
    apart = (own.multipliers - reference[rows]).double().abs()
    return Against(scores, float((apart if own.mask is None else apart[own.mask]).mean()))
