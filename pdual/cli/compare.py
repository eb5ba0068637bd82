"""``pdual compare``: the same problem with several duals and seeds, side by side."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from pdual.cli.options import (
    MOST,
    DataOption,
    DeviceChoice,
    JsonOption,
    MinimizeOption,
    SetOption,
    SpecArgument,
    assignments,
    data_files,
    keeps_objective,
    names,
)
from pdual.cli.say import say
from pdual.runtime.problem.options import MOST_THREADS


def compare(
    spec: SpecArgument,
    duals: Annotated[
        str, typer.Option(metavar="KIND,...", help="Kinds of multipliers; `spec` is what the spec says.")
    ] = "learned,pointwise,shared,hybrid,penalty",
    seeds: Annotated[
        int, typer.Option(metavar="N", help="Runs of each kind, with seeds 0 to N-1.", min=1, max=MOST)
    ] = 1,
    over: Annotated[
        str | None,
        typer.Option(metavar="FAMILY,...", help="Rank the multipliers of these constraints only.", show_default=False),
    ] = None,
    sets: SetOption = [],  # noqa: B006 - typer reads it, nothing writes to it
    minimize: MinimizeOption = None,
    data: DataOption = [],  # noqa: B006
    out: Annotated[
        Path | None, typer.Option(help="Folder of the runs. [default: runs/compare-NAME]", show_default=False)
    ] = None,
    device: Annotated[DeviceChoice, typer.Option(help="Where to compute.")] = DeviceChoice.AUTO,
    threads: Annotated[int, typer.Option(metavar="N", help="Of the CPU.", min=1, max=MOST_THREADS)] = 1,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer rows and iterations: a first look.")] = False,
    limit: Annotated[
        int | None, typer.Option(metavar="N", help="At most N rows of each split.", min=1, show_default=False)
    ] = None,
    json: JsonOption = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No progress.")] = False,
) -> int:
    """Solve a problem with several kinds of multipliers and seeds; what was run already is not run again."""
    import gc

    from pdual.cli import failure, output
    from pdual.cli.comparison import as_json, lines
    from pdual.cli.interrupt import Interrupt
    from pdual.cli.progress import progress
    from pdual.comparing import Trial
    from pdual.comparing import compare as compared
    from pdual.dsl.diagnostics import Refusal
    from pdual.finding import find
    from pdual.runtime.data.context import SourceContext
    from pdual.runtime.problem.options import RunOptions
    from pdual.runtime.runs.execute import default_workers

    found = find(spec)
    shown = progress(quiet, False)
    options = RunOptions(
        overrides=assignments(sets, "--set"),
        minimize=keeps_objective(minimize),
        data=data_files(data),
        device=device.value,
        threads=threads,
        quick=quick,
        limit=limit,
        command=tuple(sys.argv),
    )
    context = SourceContext(folder=found.folder, files=options.data, workers=default_workers(), progress=shown)

    def began(trial: Trial) -> None:
        if not quiet:
            say(f"{trial.dual}, seed {trial.seed}: {trial.folder}", file=sys.stderr, flush=True)

    gc.enable()
    try:
        with Interrupt() as interrupt:
            result = compared(
                found.source,
                context,
                options,
                names(duals, "--duals"),
                seeds,
                out or Path("runs") / f"compare-{Path(spec).stem}",
                names(over, "--over") if over is not None else None,
                stop=interrupt.asked,
                began=began,
            )
    except Refusal as refusal:
        return failure.refused(refusal, ["compare", "--json"] if json else ["compare"], found.source)
    finally:
        shown.close()
    code = output.INTERRUPTED if interrupt.came else output.FINE
    if json:
        output.document("compare", code, (), found.source, **as_json(result))
    else:
        for line in lines(result):
            say(line)
    return code
