"""One run from IR to its folder: load rows, build models, solve, measure, write. ``execute`` is the pipeline."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from itertools import count
from pathlib import Path
from typing import Any

import torch
from torch import nn

from pdual.compiler.assemble import refuse_unsolved
from pdual.compiler.graph import Graph
from pdual.dsl.declarations.references import OptimiserUse
from pdual.dsl.declarations.registry import evaluations
from pdual.dsl.declarations.solving import SolveSettings
from pdual.dsl.diagnostics import Diagnostic, Refusal, refuse
from pdual.dsl.identity import spec_hash
from pdual.runtime.data.context import Progress, SourceContext
from pdual.runtime.data.row_facts import impossible_rows
from pdual.runtime.data.split_groups import split_warnings
from pdual.runtime.data.tables import Table
from pdual.runtime.evaluation.context import EvaluationContext, Teller, evaluated
from pdual.runtime.evaluation.expectations import Expectation, check_expectation
from pdual.runtime.evaluation.metrics import Measured
from pdual.runtime.evaluation.nonfinite import located
from pdual.runtime.evaluation.recovery import solver_recovery
from pdual.runtime.optimisation.placement import Placement
from pdual.runtime.problem.odd_modules import odd_modules
from pdual.runtime.problem.options import RunOptions, check_counts
from pdual.runtime.problem.prepared import Prepared, prepared
from pdual.runtime.problem.problem import Options, Problem
from pdual.runtime.problem.samples import sentences, warnings_of
from pdual.runtime.runs.unminimised import objectives
from pdual.runtime.runs.unseen import standards_of
from pdual.runtime.runs.verdict import Verdict, verdict
from pdual.runtime.storage.folder import RUN, SPEC, RunFolder
from pdual.runtime.storage.records import (
    LogLine,
    Metrics,
    Recovery,
    RequestedOptions,
    RunRecord,
    SplitMetrics,
    StandardRecord,
)
from pdual.runtime.system.deadline import Deadline
from pdual.runtime.system.denormals import flushed
from pdual.runtime.system.memory import told_room
from pdual.runtime.training.run import Run
from pdual.runtime.training.solver import solve

_RECORDED = ("pdual", "torch", "torch-geometric", "numpy", "casadi", "lark", "pydantic")


@dataclass(frozen=True)
class Outcome:
    """What a run leaves: the lowered spec, the folder, the numbers, the verdict, and the statements that were expected."""

    graph: Graph
    run: Run
    folder: RunFolder
    metrics: Metrics
    verdict: Verdict
    expectations: tuple[Expectation, ...]
    warnings: tuple[Diagnostic, ...] = ()


def execute(
    graph: Graph,
    text: str,
    options: RunOptions,
    context: SourceContext,
    given: Mapping[str, nn.Module] | None = None,
    progress: Progress | None = None,
    log: Callable[[LogLine], None] = lambda line: None,
    stop: Callable[[], bool] = lambda: False,
    warn: Callable[[Sequence[Diagnostic]], None] = lambda found: None,
) -> Outcome:
    """Run a lowered spec. ``text`` is the spec as written, ``given`` are models from Python. ``warn`` is told, before anything is
    trained, what is odd about the rows that were loaded; the outcome has it too.

    Raises a Refusal with PD5xx for the data, PD6xx for the run.
    """
    check_counts(options.seed, options.threads)
    refuse_unsolved(graph)
    with told_room(), Deadline(options.budget) as deadline:
        return _execute(graph, text, options, context, given or {}, progress or Progress(), log, stop, warn, deadline)


def _execute(
    graph: Graph,
    text: str,
    options: RunOptions,
    context: SourceContext,
    given: Mapping[str, nn.Module],
    told: Progress,
    log: Callable[[LogLine], None],
    stop: Callable[[], bool],
    warn: Callable[[Sequence[Diagnostic]], None],
    deadline: Deadline,
) -> Outcome:
    started = _now()
    device = pick_device(options.device)
    torch.set_num_threads(options.threads)
    path = options.out or default_folder(graph.spec.name)
    if options.resume and not path.is_dir():
        raise refuse("PD620", path=path, file=RUN)
    RunFolder(path).check_free(replace=True)  # before rows are loaded, which may take long
    options = _as_before(options, path)
    ready = prepared(graph, options, context, given or {}, warn)
    graph, problem, tables = ready.graph, ready.problem, ready.tables
    with RunFolder(path).locked():
        record = _record(text, options, ready, device, started, context.folder)
        folder = open_folder(path, text, options, record, told)
        dtype = torch.float64 if options.precision == "float64" else torch.float32
        warnings = (
            *split_warnings(graph.spec, tables),
            *impossible_rows(graph, tables),
            *odd_modules(problem, graph.spec, dtype),
        )
        warn(warnings)
        warnings = (*warnings_of(graph.spec, ready.samples), *warnings)
        try:
            run = _solve(problem, options, device, folder, told, log, stop, deadline)
        except Refusal as refusal:
            raise located(refusal, graph.spec) from None
        with flushed():
            return replace(_conclude(graph, options, run, folder, told), warnings=warnings)


def _as_before(options: RunOptions, path: Path) -> RunOptions:
    """A run that is gone on with keeps to the samples that it began with, and takes none that it had not."""
    if not options.resume or not all((path / name).is_file() for name in (RUN, SPEC)):
        return options  # one that died before anything was saved begins anew
    return replace(options, samples=tuple(RunFolder.open(path).record.samples))


def solver_options(options: RunOptions, record: RunRecord, device: torch.device) -> Options:
    """The options of the solver, without the callbacks that report progress and save states."""
    return Options(
        seed=options.seed,
        placement=Placement(device, options.precision),  # type: ignore[arg-type]
        compile=options.compile,
        feasibility=not options.minimize,
        budget=options.budget,
        identity={"spec": record.spec_hash, "parameters": dict(record.parameters), "precision": record.precision},
    )


def default_folder(problem: str) -> Path:
    """Where a run goes that was given no folder: one that is not there yet."""
    first = Path("runs") / f"{problem}-{time.strftime('%Y%m%d-%H%M%S')}"
    return next(place for number in count(1) if not (place := _numbered(first, number)).exists())


def _numbered(folder: Path, number: int) -> Path:
    return folder if number == 1 else folder.with_name(f"{folder.name}-{number}")


def pick_device(name: str) -> torch.device:
    """``auto`` takes CUDA where it is there; PD630 when a device is asked for that is not."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if name.startswith("cuda") and not torch.cuda.is_available():
        raise refuse("PD630", device=name)
    return torch.device(name)


def open_folder(path: Path, text: str, options: RunOptions, record: RunRecord, progress: Progress) -> RunFolder:
    """A new folder for a run, or the one that ``--resume`` goes on in. Raises PD604 where that is of another run."""
    if not options.resume:
        return RunFolder.create(path, text, record)
    folder = RunFolder(path)
    if not (path / RUN).is_file():
        folder = RunFolder.create(path, text, record)
    else:
        before = folder.record
        for subject, same in _same(before, record).items():
            if not same:
                raise refuse("PD604", subject=subject)
        if not (path / SPEC).is_file():  # of a run that was killed as it began
            folder.write_spec(text)
        folder = RunFolder.open(path)
        folder.write_record(record.model_copy(update={"started": before.started}))
    if not folder.has_checkpoint:
        progress.advance(0, f"warning: `{path}` has no checkpoint to go on from yet: the run begins anew")
        folder.rewrite_log(())
    return folder


def _same(before: RunRecord, now: RunRecord) -> Mapping[str, bool]:
    """What a state itself does not tell, and whether it is the same."""
    return {
        "spec": before.spec_hash == now.spec_hash,
        "parameters": before.parameters == now.parameters,
        "precision": before.precision == now.precision,
        "data": set(before.samples) == set(now.samples),
    }


def _record(
    text: str, options: RunOptions, ready: Prepared, device: torch.device, started: str, folder: Path
) -> RunRecord:
    graph, tables = ready.graph, ready.tables
    return RunRecord(
        problem=graph.spec.name,
        spec_hash=spec_hash(text),
        status="running",
        parameters=dict(graph.spec.param_values),
        overrides=dict(options.overrides),
        settings=_plain(ready.problem.settings),
        dual=dual_name(graph, options),
        seed=options.seed,
        device=str(device),
        precision=options.precision,
        threads=torch.get_num_threads(),
        versions=versions(),
        data={name: table.fingerprint for name, table in tables.items()},
        standardised=_standards(tables),
        samples=dict(ready.samples),
        asked=RequestedOptions(
            dual=dict(options.dual),
            minimize=options.minimize,
            data={name: str(file.resolve()) for name, file in options.data.items()},
            limit=options.limit,
            quick=options.quick,
            folder=str(folder.resolve()),
        ),
        command=options.command,
        started=started,
    )


def _standards(tables: Mapping[str, Table]) -> dict[str, dict[str, StandardRecord]]:
    found = {}
    for data, table in tables.items():
        found[data] = {
            name: StandardRecord(mean=item.mean.flatten().tolist(), deviation=item.deviation.flatten().tolist())
            for name, item in standards_of(table).items()
        }
    return {data: items for data, items in found.items() if items}


def dual_name(graph: Graph, options: RunOptions) -> str:
    """How the multipliers were held: one kind, or kinds joined by ``+`` where families differ."""
    of_rows = {choice.kind for data in graph.data for choice in data.duals}
    kinds = sorted(of_rows or {choice.kind for choice in graph.averages.duals})
    return "+".join(kinds) if kinds else "none"


def _solve(
    problem: Problem,
    options: RunOptions,
    device: torch.device,
    folder: RunFolder,
    progress: Progress,
    log: Callable[[LogLine], None],
    stop: Callable[[], bool],
    deadline: Deadline,
) -> Run:
    def asked() -> bool:
        deadline.heeded()
        return stop()

    def written(line: LogLine) -> None:
        folder.append_log(line)
        log(line)

    record = folder.record
    initial = RunFolder.open(options.initial).load() if options.initial is not None else None
    resumed = folder.load() if options.resume and folder.has_checkpoint else None
    if resumed is not None:
        folder.rewrite_log(tuple(LogLine.model_validate(line) for line in resumed["history"]))
    settings = replace(
        solver_options(options, record, device),
        budget=deadline.left,
        stop=asked,
        save=folder.save,
        log=written,
        progress=progress,
    )
    try:
        return solve(problem, settings, resume=resumed, initial=initial)
    except BaseException as error:
        status = "stopped" if isinstance(error, KeyboardInterrupt) else "failed"
        with suppress(Refusal):  # a full disk takes no record either, and is what is to be told
            folder.write_record(record.model_copy(update={"status": status, "finished": _now()}))
        raise


def _conclude(graph: Graph, options: RunOptions, run: Run, folder: RunFolder, progress: Progress) -> Outcome:
    progress.start(f"measuring {graph.spec.name}", len(run.splits))
    measured: dict[str, dict[str, Measured]] = {split: run.measure(split) for split in run.splits}
    samples = folder.record.samples
    splits = {
        split: _with_evaluations(graph, run, split, found, samples, progress) for split, found in measured.items()
    }
    if not options.minimize:
        for split, value in objectives(graph, run).items():
            splits[split] = splits[split].model_copy(update={"objective": value})
    progress.finish()
    metrics = run.metrics(dual_name(graph, options), splits, recovered(run, measured), samples)
    expectations = tuple(
        check_expectation(expect, measured[expect.split], graph.spec.param_values, run.averaged(measured[expect.split]))
        for expect in graph.spec.expects
        if any(item.program.of == expect.data for item in measured.get(expect.split, {}).values())
    )
    folder.write_metrics(metrics)
    folder.write_record(folder.record.model_copy(update={"status": run.status, "finished": _now()}))
    found = verdict(run, measured, graph.switched_off, sentences(samples))
    return Outcome(graph, run, folder, metrics, found, expectations)


def _with_evaluations(
    graph: Graph,
    run: Run,
    split: str,
    measured: Mapping[str, Measured],
    samples: Collection[str],
    progress: Progress,
) -> SplitMetrics:
    """The numbers of a split with what its data sets' sources evaluate besides."""
    found: dict[str, Any] = {}
    for training_set in run.training_sets:
        if training_set.name in measured and training_set.program.groups_by is None:
            trained = split == "train" and any(
                len(ids) for name, ids in training_set.table.splits.items() if name != "train"
            )
            violations, ids = measured[training_set.name].violations, training_set.table.splits[split]
            told = _teller(progress, f"{split} rows of {training_set.name}")
            sampled = training_set.name in samples
            context = EvaluationContext(
                graph, run.problem, training_set.name, training_set.table, ids, violations, told, sampled
            )
            for name, scores in evaluated(context, trained).items():
                # What any data set may bring along is told of each.
                known = {**found.get(name, {}), training_set.name: scores}
                found[name] = scores if evaluations()[name].sources else known
    progress.advance(1)
    return run.split(measured).model_copy(update={"evaluations": found})


def _teller(progress: Progress, rows: str) -> Teller:
    return lambda text: progress.advance(0, f"{rows}, {text}")


def recovered(run: Run, measured: Mapping[str, Mapping[str, Measured]]) -> dict[str, dict[str, Recovery]]:
    """By data set and split: the multipliers against those that the data set brings along from a solver of its own."""
    found = {}
    for training_set in run.training_sets:
        if training_set.table.multipliers and training_set.multipliers.active:
            passes = {
                split: items[training_set.name].result
                for split, items in measured.items()
                if training_set.name in items
            }
            found[training_set.name] = solver_recovery(
                training_set.program, training_set.table, passes, rho=training_set.multipliers.rho_by_column
            )
    return {name: scores for name, scores in found.items() if scores}


def _plain(settings: SolveSettings) -> dict[str, Any]:
    """Settings as JSON values."""
    plain: dict[str, Any] = {}
    for name in type(settings).model_fields:
        value = getattr(settings, name)
        if isinstance(value, OptimiserUse):
            plain[name] = {"optimiser": value.optimiser, **value.settings.model_dump(mode="json")}
        else:
            plain[name] = value.model_dump(mode="json") if hasattr(value, "model_dump") else value
    return plain


def versions() -> dict[str, str]:
    """Of the packages that numbers depend on, as they are installed."""
    found = {}
    for name in _RECORDED:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S%z")


def default_workers() -> int:
    """Processes that sources may use: the cores this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
