"""nuPhi against a pointwise run: how far learned multipliers are from those that a table found for the same rows.

nuPhi is the distance of Assumption 2 of Boero, Nixon and Ribeiro.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from pdual.bounding.estimate import Estimate
from pdual.comparing import REFERENCE
from pdual.dsl.declarations.dual import DualKind
from pdual.restoring import Restored
from pdual.runtime.evaluation.violations import Violations, families
from pdual.runtime.training.training_sets import TrainingSet


@dataclass(frozen=True)
class Distance:
    """|lam_phi - lam| of one family, scaled: the mean over rows and entries, the largest mean of an entry over rows, the largest of all."""

    family: str
    mean: float
    entry: float
    largest: float


def distance(restored: Restored, references: Sequence[tuple[str, Restored]]) -> Estimate:
    """nuPhi: the paper's L1 distance of the dual class from the optimal multiplier, of the entry where it is largest.

    lam_phi is one element of the class, and the table of the first pointwise reference stands for the optimal multiplier: where that is exact the
    number is no smaller than the infimum over the class on these rows.
    """
    learned = {part for training_set in restored.run.training_sets for part in _held(training_set, _is_fitted)}
    if not learned:
        return Estimate("nuPhi", None, "estimate", "no multipliers are learned")
    named = next(
        (
            (name, run)
            for name, run in references
            if any(_held(training_set, _is_reference) for training_set in run.run.training_sets)
        ),
        None,
    )
    if named is None:
        return Estimate(
            "nuPhi", None, "estimate", "no reference: --reference RUN of the same problem, --dual pointwise"
        )
    name, reference = named
    others = {training_set.name: training_set for training_set in reference.run.training_sets}
    rows, distances = 0, list[Distance]()
    for training_set in restored.run.training_sets:
        count, of_training_set = _of_training_set(training_set, others[training_set.name])
        rows += count
        distances += of_training_set
    capped = sorted(
        {
            part
            for training_set in restored.run.training_sets
            for part in _at_cap(others[training_set.name], _held(training_set, _is_fitted))
        }
    )
    left = learned - {
        part for training_set in reference.run.training_sets for part in _held(training_set, _is_reference)
    }
    if left or not distances:
        what = ", ".join(sorted(left)) or "no row is in both runs"
        return Estimate("nuPhi", None, "estimate", f"`{name}` has no multiplier of every row for {what}")
    worst = max(distances, key=lambda item: item.entry)
    method = (
        f"mean |lam_phi - lam| over the {rows} train rows that `{name}` ({REFERENCE}) has too, of the entry of {worst.family} where it is largest,"
        " scaled"
    )
    parts = {
        f"{item.family}: {what}": number
        for item in distances
        for what, number in (("mean over rows and entries", item.mean), ("largest", item.largest))
    }
    if capped:
        why = f"no reference: `{name}` is at its cap in {', '.join(capped)}, so its table need not be the optimal multiplier; {method}"
        return Estimate("nuPhi", worst.entry, "estimate", why, False, parts)
    return Estimate("nuPhi", worst.entry, "estimate", method, True, parts)


def _at_cap(training_set: TrainingSet, learned: set[str]) -> set[str]:
    """The parts of a reference that some train row has at its cap: the optimal multiplier may be larger there."""
    parts = [
        part for part in training_set.program.layout.parts if part.name in learned & _held(training_set, _is_reference)
    ]
    if not parts:
        return set()
    layout = training_set.program.layout
    capped = Violations.of(training_set.evaluate("train"), layout, training_set.multipliers.caps).at_cap
    assert capped is not None
    return {part.name for part in parts if bool(capped[:, layout.columns_in([part])].any())}


def _is_fitted(kind: DualKind) -> bool:
    return kind.fitted


def _is_reference(kind: DualKind) -> bool:
    return kind.name == REFERENCE


def _held(training_set: TrainingSet, chosen: Callable[[DualKind], bool]) -> set[str]:
    """The parts of a data set whose multipliers are held in such a way."""
    pairs = zip(training_set.multipliers.plans, training_set.multipliers.kinds, strict=True)
    return {part for plan, kind in pairs if chosen(kind) for part in plan.parts}


def _of_training_set(training_set: TrainingSet, other: TrainingSet) -> tuple[int, list[Distance]]:
    """The number of common train rows, and the distances of the families that one learns and the other has a table of."""
    learned, table = _held(training_set, _is_fitted), _held(other, _is_reference)
    layout = training_set.program.layout
    if not learned & table:
        return 0, []
    mine, theirs = training_set.evaluate("train"), other.evaluate("train")
    places = {row: place for place, row in enumerate(theirs.ids.tolist())}
    pairs = [(place, places[row]) for place, row in enumerate(mine.ids.tolist()) if row in places]
    if not pairs:
        return 0, []
    first, second = (torch.tensor(side) for side in zip(*pairs, strict=True))
    assert mine.multipliers is not None
    assert theirs.multipliers is not None
    apart = (mine.multipliers[first].double() - theirs.multipliers[second].double()).abs()
    live = torch.ones_like(apart, dtype=torch.bool) if mine.mask is None else mine.mask[first]
    found = []
    for family, parts in families(layout).items():
        columns = layout.columns_in(part for part in parts if part.name in learned & table)
        if columns:
            found.append(_distance(family, apart[:, columns], live[:, columns]))
    return len(pairs), found


def _distance(family: str, apart: Tensor, live: Tensor) -> Distance:
    # An entry that a row masks has no constraint there: both multipliers count as 0.
    held = torch.where(live, apart, 0.0)
    mean = float(held.sum() / live.sum().clamp(min=1))
    return Distance(family, mean, float(held.mean(0).max()), float(held.max()))
