"""A run folder as a run again: its spec understood as it was, its rows loaded, its weights and multipliers put back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pdual.compiler.graph import Graph
from pdual.dsl.diagnostics import Refusal
from pdual.dsl.spans import Source
from pdual.runtime.context import Progress, SourceContext
from pdual.runtime.options import RunOptions
from pdual.understanding import ALL, Understood, understand

if TYPE_CHECKING:
    from torch import nn

    from pdual.runtime.data import Table
    from pdual.runtime.folder import RunFolder
    from pdual.runtime.records import RunRecord
    from pdual.runtime.run import Run, Status


@dataclass(frozen=True)
class Restored:
    """A run from its folder. ``tables`` are the rows by data set, as they were loaded, ``graph`` is the lowered spec, with what stood in for
    models.
    """

    folder: RunFolder
    record: RunRecord
    options: RunOptions
    context: SourceContext
    understood: Understood
    run: Run
    tables: Mapping[str, Table]
    graph: Graph


def restored(path: Path, progress: Progress | None = None, given: Mapping[str, nn.Module] | None = None) -> Restored:
    """The run in a folder as of its last checkpoint; ``given`` are the models that came from Python.

    Raises a Refusal with PD604 (the data are others now), PD62x (the folder), PD5xx (the data), PD610 (a model from Python).
    """
    from pdual.runtime.folder import RunFolder

    folder = RunFolder.open(path)
    record = folder.record
    state = folder.load()
    with told_in(_source(folder)):
        return _restored(folder, record, state, progress, given or {})


@contextmanager
def told_in(source: Source) -> Iterator[None]:
    """A Refusal from inside points into this text."""
    try:
        yield
    except Refusal as refusal:
        raise Refusal(refusal.diagnostics, refusal.source or source) from None


def _restored(
    folder: RunFolder,
    record: RunRecord,
    state: Mapping[str, Any],
    progress: Progress | None,
    given: Mapping[str, nn.Module],
) -> Restored:
    from pdual.runtime.execute import default_workers, pick_device, prepared, solver_options
    from pdual.runtime.solver import restore

    understood = understood_as(folder, record)
    assert understood.graph is not None
    options = options_of(record)
    context = _context(record, progress)
    context = replace(context, workers=default_workers())
    ready = prepared(understood.graph, options, context, given)
    settings = solver_options(options, record, pick_device("cpu"))
    ended: Mapping[str, Status] = {"finished": "finished", "budget": "budget"}
    status = ended.get(record.status, "stopped")
    run = restore(ready.problem, settings, state, status)
    return Restored(folder, record, options, context, understood, run, ready.tables, ready.graph)


def understood_as(folder: RunFolder, record: RunRecord) -> Understood:
    """The spec of a run as it was understood then. Raises a Refusal where it no longer can be."""
    asked = options_of(record)
    found = understand(_source(folder), asked.overrides, asked.dual, asked.minimize, _context(record, None))
    found.refuse()
    return found


def _source(folder: RunFolder) -> Source:
    return Source(str(folder.path / "spec.pdual"), folder.spec)


def options_of(record: RunRecord) -> RunOptions:
    """The options that a run was begun with. Of a record that does not hold them, the kind of its multipliers is taken."""
    asked = record.asked
    shared = {
        "overrides": {name: str(value) for name, value in record.overrides.items()},
        "precision": record.precision,
        "seed": record.seed,
        "threads": record.threads,
        "samples": tuple(record.samples),
    }
    if asked is None:
        dual = {} if "+" in record.dual or record.dual == "formula" else {ALL: record.dual}
        return RunOptions(dual=dual, **shared)  # type: ignore[arg-type]
    return RunOptions(
        dual=dict(asked.dual),
        minimize=asked.minimize,
        data={name: Path(file) for name, file in asked.data.items()},
        limit=asked.limit,
        quick=asked.quick,
        **shared,  # type: ignore[arg-type]
    )


def _context(record: RunRecord, progress: Progress | None) -> SourceContext:
    folder = Path(record.asked.folder) if record.asked is not None and record.asked.folder else Path.cwd()
    files = options_of(record).data
    return SourceContext(folder=folder, files=files, progress=progress or Progress())
