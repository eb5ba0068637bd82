"""Reads a run folder and collects the facts of its report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import torch

from pdual.reporting.facts import RunFacts, Scores, Sketch
from pdual.reporting.tails import at_cap, curves, tails
from pdual.restoring import Restored, restored
from pdual.runtime.data.context import Progress
from pdual.runtime.drawings.draw import drawings
from pdual.runtime.drawings.drawing import Picture
from pdual.runtime.evaluation.metrics import Measured
from pdual.runtime.problem.samples import sentences
from pdual.runtime.runs import verdict as verdicts
from pdual.runtime.runs.execute import dual_name, recovered
from pdual.runtime.storage.folder import METRICS
from pdual.runtime.storage.records import Metrics, Recovery

#: Rows at the cap that are listed.
LISTED = 60

AllMeasured = Mapping[str, Mapping[str, Measured]]


def collect(path: Path, progress: Progress | None = None, named: Mapping[str, Path] | None = None) -> RunFacts:
    """One pass over every split of a run, and what it shows. Raises what ``restored`` raises."""
    found = restored(path, progress, named=named)
    measured: AllMeasured = {split: found.run.measure(split) for split in found.run.splits}
    metrics = _metrics(found, measured)
    verdict = verdicts.verdict(found.run, measured, found.graph.switched_off)
    tables = {training_set.name: training_set.table for training_set in found.run.training_sets}
    capped = [
        row
        for split, items in measured.items()
        for data, item in items.items()
        for row in at_cap(split, item, tables[data])
    ]
    spec = found.graph.spec
    return RunFacts(
        name=str(path),
        title=spec.title,
        spec=found.folder.spec,
        record=found.record,
        metrics=metrics,
        history=found.run.history,
        feasible=verdict.feasible,
        verdict=tuple(verdicts.lines(verdict)),
        samples=sentences(found.record.samples),
        feasible_rows=verdict.feasible_rows,
        tails=tuple(
            tail
            for split, items in measured.items()
            for data, item in items.items()
            for tail in tails(split, item, tables[data])
        ),
        curves=tuple(
            curve for split, items in measured.items() for item in items.values() for curve in curves(split, item)
        ),
        at_cap=tuple(sorted(capped, key=lambda row: -row.violation)[:LISTED]),
        at_cap_rows=len(capped),
        recovery=tuple(_recovery(metrics)),
        active_rate=next((item.active_rate for _, _, item in _recoveries(metrics)), None),
        sketches=tuple(_sketches(found, measured)),
    )


def _metrics(restored: Restored, measured: AllMeasured) -> Metrics:
    """``metrics.json``; what it would hold where the run is still under way, but for evaluations."""
    if (restored.folder.path / METRICS).is_file():
        return restored.folder.metrics
    splits = {split: restored.run.split(items) for split, items in measured.items()}
    return restored.run.metrics(
        dual_name(restored.graph, restored.options), splits, recovered(restored.run, measured), restored.record.samples
    )


def _recoveries(metrics: Metrics) -> Iterator[tuple[str, str, Recovery]]:
    for data, splits in metrics.recovery.items():
        for split, item in splits.items():
            yield data, split, item


def _recovery(metrics: Metrics) -> Iterator[Scores]:
    """The multipliers of the run, and beside them what needs no learning."""
    for data, split, item in _recoveries(metrics):
        for name, ranking in {"multipliers": item, "margin": item.margin, "constant": item.constant}.items():
            if ranking is not None:
                scores = (ranking.auc, ranking.ndcg, ranking.spearman)
                yield Scores(data, split, item.against, name, *scores)


def _sketches(restored: Restored, measured: AllMeasured) -> Iterator[Sketch]:
    """What sources draw, of the last split whose rows have multipliers: unseen rows where these have some, else train rows. Where
    none has, of the last split.
    """
    for training_set in restored.run.training_sets:
        if training_set.program.groups_by is not None:
            continue
        with_multipliers = [
            split
            for split, items in measured.items()
            if training_set.name in items and items[training_set.name].violations.has_multipliers
        ]
        there = with_multipliers or [split for split, items in measured.items() if training_set.name in items]
        if not there:
            continue
        split = there[-1]
        item = measured[split][training_set.name]
        multipliers = item.result.multipliers if with_multipliers else None
        live = None if multipliers is None else torch.where(item.violations.live, multipliers, 0.0)
        models = restored.run.problem.models
        for drawing in drawings(
            restored.graph,
            training_set.name,
            training_set.table,
            training_set.program.layout,
            split,
            item.result.ids,
            live,
            models,
        ):
            if isinstance(drawing, Picture):
                yield Sketch(drawing.title, drawing.words, figure=drawing.figure)
            else:
                yield Sketch(drawing.title, drawing.words, rows=drawing.rows)
