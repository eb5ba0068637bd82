"""A run folder as a run again: its spec understood as it was, its rows loaded, its weights and multipliers put back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pdual.compiler.graph import Graph
from pdual.dsl.diagnostics import Refusal
from pdual.dsl.spans import Source
from pdual.origin import asked_of, check_sent
from pdual.runtime.data.context import Progress, SourceContext
from pdual.runtime.problem.options import RunOptions
from pdual.understanding import Understood, understand

if TYPE_CHECKING:
    from torch import nn

    from pdual.runtime.data.tables import Table
    from pdual.runtime.storage.folder import RunFolder
    from pdual.runtime.storage.records import RunRecord
    from pdual.runtime.training.run import Run, Status


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


def restored(
    path: Path,
    progress: Progress | None = None,
    given: Mapping[str, nn.Module] | None = None,
    named: Mapping[str, Path] | None = None,
) -> Restored:
    """The run in a folder as of its last checkpoint; ``given`` are the models that came from Python, ``named`` files of its data sets
    and parameters where they are to be read from elsewhere than the run says.

    Raises a Refusal with PD604 (the data are others now), PD62x (the folder), PD5xx (the data), PD610 (a model from Python).
    """
    from pdual.runtime.storage.folder import RunFolder
    from pdual.runtime.system.memory import told_room

    folder = RunFolder.open(path)
    record = folder.record
    state = folder.load()
    with told_in(_source(folder)), told_room():
        return _restored(folder, record, state, progress, given or {}, named or {})


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
    named: Mapping[str, Path],
) -> Restored:
    from pdual.runtime.problem.prepared import prepared
    from pdual.runtime.runs.execute import default_workers, pick_device, solver_options
    from pdual.runtime.training.solver import restore

    options, place = asked_of(folder, record, named)
    context = SourceContext(
        folder=place, files=options.data, workers=default_workers(), progress=progress or Progress()
    )
    understood = understand(_source(folder), options.overrides, options.dual, options.minimize, context)
    if understood.spec is not None and not folder.is_own:
        check_sent(understood.spec, place, named)
    understood.refuse()
    assert understood.graph is not None
    ready = prepared(understood.graph, options, context, given)
    settings = solver_options(options, record, pick_device("cpu"))
    ended: Mapping[str, Status] = {"finished": "finished", "budget": "budget"}
    status = ended.get(record.status, "stopped")
    run = restore(ready.problem, settings, state, status)
    return Restored(folder, record, options, context, understood, run, ready.tables, ready.graph)


def _source(folder: RunFolder) -> Source:
    return Source(str(folder.path / "spec.pdual"), folder.spec)
