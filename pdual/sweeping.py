"""The same problem with other values of parameters: independent processes, of which some may fail."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from pdual.children import Children
from pdual.dsl.diagnostics import Refusal, refuse

if TYPE_CHECKING:
    from pdual.compiler.graph import Graph
    from pdual.recovering import Capacity
    from pdual.restoring import Restored
    from pdual.runtime.problem.options import RunOptions
    from pdual.runtime.storage.records import Metrics


@dataclass(frozen=True)
class Trial:
    """One run of a sweep: the values of its parameters, its seed, where it lies."""

    values: Mapping[str, str]
    seed: int
    folder: Path


@dataclass(frozen=True)
class Ended:
    """A trial that ended: its numbers, or None and what went wrong (the first line of what it said), with its exit code."""

    trial: Trial
    code: int
    metrics: Metrics | None
    said: str


def trials(over: Mapping[str, Sequence[str]], seeds: int, out: Path) -> list[Trial]:
    """Every combination of values with seeds 0 to ``seeds`` - 1."""
    found = []
    for values in product(*over.values()):
        named = dict(zip(over, values, strict=True))
        name = "-".join(f"{key}={value}" for key, value in named.items()).replace("/", "_")
        found += [Trial(named, seed, out / f"{name}-{seed}") for seed in range(seeds)]
    return found


def sweep(
    spec: str,
    planned: Sequence[Trial],
    arguments: Sequence[str],
    jobs: int,
    began: Callable[[Trial], None] = lambda trial: None,
    ended: Callable[[Ended], None] = lambda item: None,
    stop: Callable[[], bool] = lambda: False,
) -> list[Ended]:
    """Run the trials, ``jobs`` at a time, each in a process of its own; what is there already is gone on with.

    ``arguments`` are further ones of ``pdual run``. A trial that fails leaves the others alone. After ``stop`` none is begun.
    """

    def perform(trial: Trial) -> Ended | None:
        if stop():
            return None
        began(trial)
        found = _performed(children, spec, trial, arguments, stop)
        ended(found)
        return found

    with ThreadPoolExecutor(jobs) as pool, Children() as children:
        return [item for item in pool.map(perform, planned) if item is not None]


def _performed(
    children: Children, spec: str, trial: Trial, arguments: Sequence[str], stop: Callable[[], bool]
) -> Ended:
    sets = [part for name, value in trial.values.items() for part in ("--set", f"{name}={value}")]
    command = ["run", spec, *sets, "--seed", str(trial.seed), "--out", str(trial.folder), "-q", *arguments]
    if (trial.folder / "run.json").is_file():
        command.append("--resume")
    code, told = children.run(command, stop)
    lines = [line for line in told.splitlines() if line.strip()]
    said = next((line for line in lines if line.startswith("error")), lines[-1] if lines and code else "")
    return Ended(trial, code, _metrics(trial.folder), said)


def _metrics(folder: Path) -> Metrics | None:
    """The numbers of a run that got as far as measuring them."""
    from pdual.runtime.storage.folder import RunFolder

    try:
        found = RunFolder(folder)
        return found.metrics if found.record.status != "failed" else None
    except Refusal:
        return None


def comparable(reference: Path, graphs: Sequence[Graph], options: RunOptions, folder: Path) -> Restored:
    """The run whose multipliers others are held against. Raises PD740 where a graph is another problem, duals apart, or where the rows
    of the first, loaded with ``options`` from a spec's ``folder``, are others.
    """
    from pdual.compiler.sameness import differs
    from pdual.restoring import restored
    from pdual.runtime.data.context import SourceContext
    from pdual.runtime.problem.prepared import loaded

    whole = restored(reference, named=options.data)
    for graph in graphs:
        assert whole.understood.graph is not None  # as the spec has it, whatever stood in for its models
        subject = differs(graph, whole.understood.graph, objective=whole.options.minimize)
        if subject is not None:
            raise refuse("PD740", run=reference, subject=subject)
    # Where rows depend on what is swept, the others are told when they have ended (``measured``).
    tables = loaded(graphs[0], options, SourceContext(folder=folder, workers=whole.context.workers))
    if {name: table.fingerprint for name, table in tables.items()} != whole.record.data:
        raise refuse("PD740", run=reference, subject="the rows")
    return whole


def measured(trials: Sequence[Ended], reference: Restored) -> dict[Path, Mapping[str, Capacity]]:
    """How near the multipliers of every run that ended come to the reference's, by folder and data set. Raises PD740 where it saw other rows."""
    from pdual.recovering import capacity, saw
    from pdual.restoring import restored

    known = saw(reference.run)
    capacities: dict[Path, Mapping[str, Capacity]] = {}
    for item in trials:
        if item.metrics is not None:
            own = restored(item.trial.folder)
            if own.record.data != reference.record.data:
                raise refuse("PD740", run=reference.folder.path, subject="the rows")
            capacities[item.trial.folder] = capacity(own.run, known)
    return capacities
