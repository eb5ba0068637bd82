"""Rows of the user's own file: what a run predicts for them, and what their constraints would cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pdual.dsl.diagnostics import refuse
from pdual.dsl.near import nearest

if TYPE_CHECKING:
    from torch import Tensor

    from pdual.restoring import Restored
    from pdual.runtime.data.tables import Ragged
    from pdual.runtime.runs.unseen import Unseen
    from pdual.runtime.training.training_sets import TrainingSet


@dataclass(frozen=True)
class Scored:
    """One row: the sum of the multipliers of its inequalities (of all its constraints where it has none), scaled; the largest
    multiplier and its entry; how many are at their cap; the row's largest violation, None where the file lacks a field for it.
    """

    row: str
    multiplier: float
    largest: float
    entry: str
    at_cap: int
    violation: float | None


def predict(restored: Restored, file: Path, data: str | None = None) -> tuple[list[str], Mapping[str, Tensor | Ragged]]:
    """The rows' names, and what every model gives for them, by model and part: [rows, *axes], ragged where lengths differ.

    Raises PD53x, PD647, PD648, PD731, PD732.
    """
    from pdual.restoring import told_in

    with told_in(restored.understood.source):
        unseen = _looked(restored, file, data, multipliers=False)[1]
    return [unseen.table.address(int(row)) for row in unseen.ids], unseen.outputs


def score(restored: Restored, file: Path, data: str | None = None) -> list[Scored]:
    """The rows of a file, the most costly first. Raises PD53x, PD647, PD648, PD730, PD731, PD732."""
    import torch

    from pdual.restoring import told_in
    from pdual.runtime.data.features import FeatureCache
    from pdual.runtime.drawings.draw import priced
    from pdual.runtime.evaluation.result import EvaluationResult
    from pdual.runtime.evaluation.violations import Violations, address

    with told_in(restored.understood.source):
        training_set, unseen = _looked(restored, file, data, multipliers=True)
    multipliers = unseen.multipliers
    assert multipliers is not None
    layout = training_set.program.layout
    residuals = torch.zeros_like(multipliers) if unseen.residuals is None else unseen.residuals
    passed = EvaluationResult(unseen.ids, None, residuals, None, multipliers, {}, FeatureCache())
    violations = Violations.of(passed, layout, training_set.multipliers.caps)
    assert violations.at_cap is not None
    price, sizes = priced(layout, multipliers), multipliers.abs()
    violation = violations.largest()
    scored = []
    for place in torch.argsort(price, descending=True, stable=True).tolist():
        column = int(sizes[place].argmax())
        name = unseen.table.address(int(unseen.ids[place]))
        scored.append(
            Scored(
                row=name,
                multiplier=float(price[place]),
                largest=float(multipliers[place, column]),
                entry=address(layout, column, name),
                at_cap=int(violations.at_cap[place].sum()),
                violation=None if unseen.residuals is None else float(violation[place]),
            )
        )
    return scored


def _looked(restored: Restored, file: Path, data: str | None, multipliers: bool) -> tuple[TrainingSet, Unseen]:
    from pdual.runtime.problem.prepare import read_rows
    from pdual.runtime.runs.unseen import (
        look,
        multiplier_fields,
        prediction_fields,
        read_unseen,
        standards_of,
        text_fields,
    )

    name = _data_set(restored, data)
    training_set = next(item for item in restored.run.training_sets if item.name == name)
    if multipliers and not training_set.multipliers.active:
        raise refuse("PD730", parts=f"`{name}`", kind="none")
    graph = restored.graph.over(name)
    needed = multiplier_fields(graph) if multipliers else prediction_fields(graph)
    own = restored.graph.spec.data_set(name)
    needed |= text_fields(graph, own)
    table = read_unseen(restored.graph, own, file, needed, restored.context, standards_of(training_set.table))
    read_rows(restored.graph, {name: table}, restored.run.problem.models)
    return training_set, look(restored.run, restored.graph, training_set, table, multipliers)


def _data_set(restored: Restored, name: str | None) -> str:
    names: Sequence[str] = [
        training_set.name for training_set in restored.run.training_sets if training_set.program.groups_by is None
    ]
    if not names:
        raise refuse("PD293", data=restored.run.training_sets[0].program.of)
    shown = ", ".join(f"`{item}`" for item in names)
    if name is None:
        if len(names) > 1:
            raise refuse("PD731", names=shown)
        return names[0]
    if name not in names:
        raise refuse("PD707", name=name, names=shown, near=nearest(name, names))
    return name
