"""The Slater margin on the data of a run: by how much a trained predictor meets every constraint on every row.

The margin is s of Assumption 6 (strict Slater condition) of Boero, Nixon and Ribeiro.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite

import torch

from pdual.bounding.estimate import Estimate
from pdual.bounding.parts import Constants
from pdual.restoring import Restored
from pdual.runtime.evaluation.violations import address
from pdual.runtime.training.training_sets import TrainingSet


@dataclass(frozen=True)
class Margin:
    """The smallest of -g - L nuH over live entries and rows of a split, scaled, and the entry that has it."""

    value: float
    entry: str
    rows: int


def slater(runs: Mapping[str, Restored], parts: Sequence[Constants], hull: float) -> Estimate:
    """s: the largest margin that the predictor of any of some runs of a problem has on its train rows.

    ``runs`` by name, the run itself first. ``hull`` is nuH: the paper asks for g + L nuH <= -s. Not positive: no Slater point was shown.
    """
    equalities = [part.name for part in parts if part.equality]
    if equalities:
        return Estimate("s", None, "estimate", f"{', '.join(equalities)} is an equality, which has no interior")
    allowed = {part.name: part.lipschitz * hull if hull else 0.0 for part in parts}
    found = {name: least(run, "train", allowed) for name, run in runs.items()}
    kept = {name: margin for name, margin in found.items() if margin is not None}
    if not kept:
        return Estimate("s", None, "estimate", "no constraint on rows, so no margin")
    best = max(kept, key=lambda name: kept[name].value)
    margin = kept[best]
    whose = "the trained predictor" if best == next(iter(runs)) else f"the predictor of `{best}`"
    less = f", less L nuH for nuH = {hull:g}" if hull else ""
    others = {
        f"on {split} rows": other.value
        for split in runs[best].run.splits
        if split != "train" and (other := least(runs[best], split, allowed)) is not None
    }
    others |= {f"of `{name}` on its train rows": item.value for name, item in kept.items() if name != best}
    where = f"{whose} on {margin.rows} train rows, where {margin.entry} has the smallest margin, scaled{less}"
    if margin.value > 0:
        return Estimate("s", margin.value, "estimate", where, True, others)
    return Estimate("s", margin.value, "estimate", f"no Slater point was shown: {where}", False, others)


def least(restored: Restored, split: str, allowed: Mapping[str, float]) -> Margin | None:
    """The margin on a split, less ``allowed`` by part; None where no entry is live there."""
    margins = [
        margin
        for training_set in restored.run.training_sets
        if training_set.program.layout.columns and len(training_set.table.splits.get(split, ()))
        if (margin := _of_training_set(training_set, split, allowed)) is not None
    ]
    if not margins:
        return None
    worst = min(margins, key=lambda margin: margin.value)
    return Margin(worst.value, worst.entry, sum(margin.rows for margin in margins))


def _of_training_set(training_set: TrainingSet, split: str, allowed: Mapping[str, float]) -> Margin | None:
    passed, layout = training_set.evaluate(split), training_set.program.layout
    more = [allowed.get(part.name, 0.0) for part in layout.parts for _ in range(part.size)]
    values = passed.residuals.double() + torch.tensor(more, dtype=torch.float64, device=passed.residuals.device)
    values = torch.nan_to_num(values, nan=inf, posinf=inf)
    if passed.mask is not None:
        values = torch.where(passed.mask, values, -inf)
    place = int(values.argmax())
    row, column = divmod(place, layout.columns)
    worst = float(values[row, column])
    if not isfinite(worst) and worst < 0:
        return None
    return Margin(-worst, address(layout, column, training_set.table.address(int(passed.ids[row]))), len(passed.ids))
