"""``pdual run``: compile, load, solve, evaluate, report."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pdual.cli.options import (
    DataOption,
    DeviceChoice,
    DualOption,
    JsonOption,
    MinimizeOption,
    PrecisionChoice,
    SetOption,
    SpecArgument,
    assignments,
    data_files,
    duals,
    keeps_objective,
    seconds,
)
from pdual.cli.say import say
from pdual.runtime.problem.options import MOST_SEED, MOST_THREADS

if TYPE_CHECKING:
    from pdual.finding import Found
    from pdual.runtime.problem.options import RunOptions
    from pdual.runtime.runs.execute import Outcome
    from pdual.runtime.storage.records import LogLine
    from pdual.understanding import Understood


def run(
    spec: SpecArgument,
    sets: SetOption = [],  # noqa: B006 - typer reads it, nothing writes to it
    dual: DualOption = [],  # noqa: B006
    minimize: MinimizeOption = None,
    data: DataOption = [],  # noqa: B006
    out: Annotated[
        Path | None, typer.Option(help="Folder of the run. [default: runs/NAME-TIME]", show_default=False)
    ] = None,
    device: Annotated[DeviceChoice, typer.Option(help="Where to compute.")] = DeviceChoice.AUTO,
    precision: Annotated[PrecisionChoice, typer.Option(help="Of models and rows.")] = PrecisionChoice.FLOAT32,
    compile: Annotated[bool, typer.Option("--compile", help="Let torch compile the programs.")] = False,  # noqa: A002
    seed: Annotated[int, typer.Option(help="Of weights and batches.", min=0, max=MOST_SEED)] = 0,
    threads: Annotated[int, typer.Option(metavar="N", help="Of the CPU.", min=1, max=MOST_THREADS)] = 1,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the run in --out, else with the last one of this problem.")
    ] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer rows and iterations: a first look.")] = False,
    budget: Annotated[
        str | None, typer.Option(metavar="TIME", help="End after this time: 90s, 5m, 2h.", show_default=False)
    ] = None,
    limit: Annotated[
        int | None, typer.Option(metavar="N", help="At most N rows of each split.", min=1, show_default=False)
    ] = None,
    init: Annotated[
        Path | None, typer.Option(metavar="RUN", help="Start from the weights of this run.", show_default=False)
    ] = None,
    tensorboard: Annotated[bool, typer.Option("--tensorboard", help="Logs for TensorBoard, too.")] = False,
    json: JsonOption = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No progress.")] = False,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="A line for every outer iteration.")] = False,
) -> int:
    """Solve a problem and leave a folder with what came out."""
    from dataclasses import replace

    from pdual.cli import failure
    from pdual.dsl.diagnostics import Refusal
    from pdual.finding import find
    from pdual.runtime.data.context import SourceContext
    from pdual.runtime.problem.options import RunOptions
    from pdual.understanding import check_data, understand

    options = RunOptions(
        out=out,
        overrides=assignments(sets, "--set"),
        dual=duals(dual),
        minimize=keeps_objective(minimize),
        data=data_files(data),
        device=device.value,
        precision=precision.value,
        compile=compile,
        seed=seed,
        threads=threads,
        resume=resume,
        quick=quick,
        budget=seconds(budget),
        limit=limit,
        initial=init,
        command=tuple(sys.argv),
    )
    found = find(spec)
    context = SourceContext(folder=found.folder, files=options.data)
    understood = understand(found.source, options.overrides, options.dual, options.minimize, context)
    arguments = ["run", "--json"] if json else ["run"]
    try:
        understood.refuse()
        assert understood.spec is not None
        check_data(options.data, understood.spec)
        options = replace(options, out=_folder(options, understood.spec.name))
        outcome, interrupted = _perform(found, understood, options, quiet, verbose, tensorboard)
    except Refusal as refusal:
        return failure.refused(refusal, arguments, found.source)
    except KeyboardInterrupt:
        code = failure.interrupted(arguments)
        say(_kept(options), file=sys.stderr)
        return code
    return _report(outcome, interrupted, understood, options, json)


def _perform(
    spec_file: Found, understood: Understood, options: RunOptions, quiet: bool, verbose: bool, tensorboard: bool
) -> tuple[Outcome, bool]:
    """The run, and whether Ctrl-C ended it."""
    import gc

    from pdual.cli.interrupt import Interrupt
    from pdual.cli.output import show
    from pdual.cli.progress import progress
    from pdual.cli.tensorboard import TensorBoardLog
    from pdual.runtime.data.context import SourceContext
    from pdual.runtime.runs.execute import default_workers, execute

    gc.enable()
    assert understood.graph is not None
    show(understood.diagnostics, spec_file.source, sys.stderr)
    shown = progress(quiet, verbose)
    context = SourceContext(folder=spec_file.folder, workers=default_workers(), progress=shown)
    assert options.out is not None
    board = TensorBoardLog(options.out) if tensorboard else None

    def log(line: LogLine) -> None:
        shown.log(line)
        if board is not None:
            board.log(line)

    try:
        with Interrupt() as interrupt:
            outcome = execute(
                understood.graph,
                spec_file.source.text,
                options,
                context,
                progress=shown,
                log=log,
                stop=interrupt.asked,
                warn=lambda warnings: show(warnings, spec_file.source, sys.stderr),
            )
    finally:
        shown.close()
        if board is not None:
            board.close()
    return outcome, interrupt.came


def _folder(options: RunOptions, problem: str) -> Path:
    """Where the run goes, or went before."""
    from pdual.runtime.runs.execute import default_folder

    if options.out is not None:
        return options.out
    return _last_run(problem) if options.resume else default_folder(problem)


def _last_run(problem: str) -> Path:
    """The folder under ``runs`` in which a run of the problem began last. Raises PD711."""
    from pdual.dsl.diagnostics import refuse

    root = Path("runs")
    places = [path.parent for path in root.glob(f"{problem}-*/run.json")]
    if not places:
        raise refuse("PD711", problem=problem, folder=root)
    return max(places, key=lambda place: place.name)


def _report(outcome: Outcome, interrupted: bool, understood: Understood, options: RunOptions, json: bool) -> int:
    from pdual.cli import output, results

    missed = results.missed(outcome, understood, options.quick)
    code = output.INTERRUPTED if interrupted else output.exit_code((*understood.diagnostics, *missed))
    if json:
        content = results.as_json(outcome)
        told = (*understood.diagnostics, *outcome.warnings, *missed)
        output.document("run", code, told, understood.source, **content)
    else:
        for line in results.lines(outcome):
            say(line)
        output.show(missed, understood.source, sys.stderr)
    if interrupted:
        say(f"interrupted; what was reached is saved: `{_again(options)}`", file=sys.stderr)
    return code


def _kept(options: RunOptions) -> str:
    """What is left after a Ctrl-C that did not wait."""
    from pdual.runtime.storage.folder import RunFolder

    assert options.out is not None
    if RunFolder(options.out).has_checkpoint:
        return f"the last saved state is kept: `{_again(options)}`"
    return "nothing had been saved yet"


def _again(options: RunOptions) -> str:
    """The command that goes on with a run: the one that began it, and where it lies."""
    import shlex

    kept: list[str] = []
    given = iter(options.command[1:])
    for argument in given:
        if argument == "--out":
            next(given, None)
        elif argument != "--resume" and not argument.startswith("--out="):
            kept.append(argument)
    return shlex.join(["pdual", *kept, "--resume", "--out", str(options.out)])
