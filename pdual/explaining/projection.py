"""How long a run takes. The number of steps is known from the spec, their seconds from an earlier run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

from pdual.compiler.compile import used_data
from pdual.compiler.graph import Graph
from pdual.dsl import typed
from pdual.dsl.declarations.optimisers import OptimiserSettings
from pdual.dsl.declarations.registry import duals
from pdual.dsl.identity import spec_hash
from pdual.explaining.records import MeasuredFact, TimeFact

#: Run folders that are looked into, the newest first.
_MOST_LOOKED = 20


class Earlier(NamedTuple):
    """What an earlier run took: seconds an outer iteration and a primal step (fit and evaluation included), its primal steps an
    outer iteration; ``same``: it was of this spec with these parameters; ``whole``: on all rows.
    """

    folder: str
    device: str
    seconds_per_outer: float
    seconds_per_step: float
    steps: float
    outer: int
    same: bool
    whole: bool


def projection(
    spec: typed.TypedSpec,
    graph: Graph | None,
    rows: Mapping[str, Mapping[str, int] | None],
    earlier: Earlier | None = None,
) -> TimeFact:
    """The steps of a run, as the solver counts them; seconds where an earlier run is known."""
    solve = spec.solve
    descent, ascent = solve.descent.settings, solve.ascent.settings
    assert isinstance(descent, OptimiserSettings)
    assert isinstance(ascent, OptimiserSettings)
    train = {name: found.get("train") if found is not None else None for name, found in rows.items()}
    longest = _longest(spec, graph, train)
    steps = descent.steps or (None if longest is None else descent.steps_over(longest))
    epoch = None if longest is None else descent.epoch_over(longest)
    fits = _fitted(graph)
    fit_steps = None
    if fits:
        fitted = None if longest is None else max(1, round(solve.fit * longest))
        fit_steps = ascent.steps or (None if fitted is None else ascent.steps_over(fitted))
    return TimeFact(
        outer=solve.outer,
        steps=steps,
        passes=descent.epochs,
        batch=descent.batch if longest is None else min(descent.batch, longest),
        warmup_steps=None if epoch is None and solve.warmup else solve.warmup * (epoch or 0),
        networks=fits,
        fit_steps=fit_steps,
        fit_passes=ascent.epochs,
        rows=longest,
        shrinking=solve.shrinking is not None,
        measured=None if earlier is None else _measured(earlier, steps, solve.outer),
    )


def _longest(spec: typed.TypedSpec, graph: Graph | None, train: Mapping[str, int | None]) -> int | None:
    """Train rows of the longest data set that has multipliers or is averaged over by what has one, or of all where none
    is; None where one is not known.
    """
    used = ([] if graph is None else _in_force(graph)) or used_data(spec)
    counts = [train.get(name) for name in used]
    known = [count for count in counts if count is not None]
    return max(known) if known and len(known) == len(counts) else None


def _in_force(graph: Graph) -> list[str]:
    averages = graph.averages
    held = {data.of for data in graph.data if any(duals()[dual.kind].in_force for dual in data.duals)}
    columns = [column for dual in averages.duals if duals()[dual.kind].in_force for column in dual.columns]
    return sorted(held | {data for column in columns for data in averages.data_of(averages.parts[column])})


def _fitted(graph: Graph | None) -> int:
    """Networks of multipliers that are fitted in every outer iteration."""
    if graph is None:
        return 0
    return sum(duals()[choice.kind].fitted for data in graph.data for choice in data.duals)


def _measured(earlier: Earlier, steps: int | None, outer: int) -> MeasuredFact:
    per_outer: float | None = None
    if earlier.same and earlier.whole:
        per_outer = earlier.seconds_per_outer
    elif steps is not None:
        per_outer = earlier.seconds_per_step * steps
    return MeasuredFact(
        folder=earlier.folder,
        device=earlier.device,
        outer=earlier.outer,
        steps=earlier.steps,
        seconds_per_step=earlier.seconds_per_step,
        same=earlier.same,
        whole=earlier.whole,
        seconds_per_outer=per_outer,
        seconds=None if per_outer is None else per_outer * outer,
    )


def earlier_run(root: Path, spec: typed.TypedSpec) -> Earlier | None:
    """The newest run of this problem under a folder that ended an outer iteration; one of this very spec on all rows comes first."""
    found = list(_runs(root, spec))
    return max(found, key=lambda item: (item.same and item.whole, item.same), default=None)


def _runs(root: Path, spec: typed.TypedSpec) -> Iterator[Earlier]:
    if not root.is_dir():
        return
    records = sorted(root.glob("*/run.json"), key=_written, reverse=True)[:_MOST_LOOKED]
    for place in records:
        try:
            record = json.loads(place.read_text(encoding="utf-8"))
            lines = (place.parent / "log.jsonl").read_text(encoding="utf-8").splitlines()
            # The step of a stand-in says nothing of the model's own.
            stood_in = {model.name for model in spec.models} & set(record.get("samples") or ())
            if record["problem"] == spec.name and lines and not stood_in:
                yield _of_log(place.parent, record, json.loads(lines[0]), json.loads(lines[-1]), spec)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue  # a folder that is half written, or no run's


def _written(place: Path) -> float:
    try:
        return place.stat().st_mtime
    except OSError:
        return 0.0


def _of_log(folder: Path, record: Any, first: Any, last: Any, spec: typed.TypedSpec) -> Earlier:
    """Between the first and the last outer iteration: the first also waits for what is done once. Raises ValueError."""
    outer, steps, seconds = (float(last[key]) - float(first[key]) for key in ("outer", "step", "seconds"))
    if outer < 1:  # one line: from the start
        outer, steps, seconds = 1.0, float(last["step"]), float(last["seconds"])
    if not all(isfinite(value) and value > 0 for value in (outer, steps, seconds)):
        raise ValueError("no time was measured")
    asked = record.get("asked") or {}
    return Earlier(
        folder=str(folder),
        device=str(record["device"]),
        seconds_per_outer=seconds / outer,
        seconds_per_step=seconds / steps,
        steps=steps / outer,
        outer=int(last["outer"]),
        same=record["spec_hash"] == spec_hash(spec.source.text)
        and record["parameters"] == dict(spec.param_values)
        and not asked.get("dual"),
        whole=not asked.get("quick") and not asked.get("limit") and not record.get("samples"),
    )
