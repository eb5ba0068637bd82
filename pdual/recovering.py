"""A run's multipliers against those of another run that saw the same rows: on rows that they were fitted on, and on rows that they were not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

    from pdual.runtime.storage.records import Recovery
    from pdual.runtime.training.run import Run
    from pdual.runtime.training.training_sets import Lane


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
    for lane in reference.lanes:
        if lane.multipliers.active:
            multipliers = lane.evaluate("train").multipliers
            assert multipliers is not None
            found[lane.name] = multipliers
    return found


def unseen(run: Run, reference: Mapping[str, Tensor], families: Sequence[str] | None = None) -> dict[str, Against]:
    """By data set, on the train rows that no network was fitted on; nothing where there are none, or no multipliers."""
    found = {}
    for lane, fitted in _fitted(run):
        if not bool(fitted.all()):
            found[lane.name] = _against(lane, reference[lane.name], fitted, False, families)
    return found


def capacity(run: Run, reference: Mapping[str, Tensor]) -> dict[str, Capacity]:
    """By data set where the reference has multipliers, and the run some that were fitted on a part of the train rows (``fit`` below 1)."""
    found = {}
    for lane, fitted in _fitted(run):
        if lane.name in reference and lane.multipliers.generalises and not bool(fitted.all()):
            known = reference[lane.name]
            found[lane.name] = Capacity(
                fitted=_against(lane, known, fitted, True, None), unseen=_against(lane, known, fitted, False, None)
            )
    return found


def _fitted(run: Run) -> list[tuple[Lane, Tensor]]:
    """Every lane with multipliers, and which of its train rows, [rows], its networks were fitted on."""
    import torch

    from pdual.runtime.duals.build import fit_positions

    found = []
    for place, lane in enumerate(run.lanes):
        if lane.multipliers.active:
            train = lane.table.splits["train"]
            fitted = torch.zeros(len(train), dtype=torch.bool, device=train.device)
            fitted[fit_positions(train, run.problem.settings.fit, run.options.seed + place)] = True
            found.append((lane, fitted))
    return found


def _against(lane: Lane, reference: Tensor, fitted: Tensor, seen: bool, families: Sequence[str] | None) -> Against:
    """``reference``: its multipliers of the train rows. ``fitted``: [train rows] bool; its mean reference is the row ``constant``, and it
    is scored where ``seen``, the other rows where not.
    """
    from pdual.runtime.evaluation.evaluate import evaluate
    from pdual.runtime.evaluation.recovery import Reference, recovery

    rows = fitted if seen else ~fitted
    ids = lane.table.splits["train"][rows]
    batch, groups, held = lane.evaluation_batch, lane.groups_of(ids), lane.multipliers
    own = evaluate(lane.program, lane.table, ids, batch, held, held.reads, seen, groups)
    assert own.multipliers is not None
    rho = held.rho_by_column
    scores = recovery(
        lane.program.layout, own, Reference("pointwise", reference[rows]), reference[fitted], families, rho
    )
    apart = (own.multipliers - reference[rows]).double().abs()
    return Against(scores, float((apart if own.mask is None else apart[own.mask]).mean()))
