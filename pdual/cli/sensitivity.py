"""``pdual sensitivity``: the change of the optimum when groups of unseen rows are constrained too, beside the estimate of their multipliers."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Annotated

import typer

from pdual.cli.options import MOST, MOST_JOBS, JsonOption, TrainedOnOption, trained_on
from pdual.cli.rows import RunArgument
from pdual.cli.say import say

if TYPE_CHECKING:
    from pdual.sensitivity import Sensitivity


def sensitivity(
    run: RunArgument,
    groups: Annotated[int, typer.Option(metavar="N", help="Groups by mean multiplier.", min=2, max=MOST)] = 10,
    random: Annotated[int, typer.Option(metavar="N", help="Random groups, the control.", min=0, max=MOST)] = 3,
    size: Annotated[
        int | None,
        typer.Option(metavar="N", help="Rows of a group. [default: a tenth of the split]", min=2, show_default=False),
    ] = None,
    seeds: Annotated[int, typer.Option(metavar="N", help="Re-solves of each group.", min=1, max=MOST)] = 2,
    outer: Annotated[int, typer.Option(metavar="N", help="Outer iterations of a re-solve.", min=1, max=MOST)] = 12,
    epochs: Annotated[
        float | None,
        typer.Option(
            metavar="N",
            help="Passes over the rows in an outer iteration's descent. [default: the spec's]",
            min=0.001,
            max=MOST,
            show_default=False,
        ),
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="Learning rate of a re-solve, as a share of the run's. [default: 0.1]",
            min=1e-6,
            max=1e6,
            show_default=False,
        ),
    ] = None,
    jobs: Annotated[
        int, typer.Option(metavar="N", help="Re-solves at a time, each in a process.", min=1, max=MOST_JOBS)
    ] = 1,
    only: Annotated[int | None, typer.Option(hidden=True, min=0)] = None,
    split: Annotated[
        str | None, typer.Option(help="Where rows are taken from. [default: the last one]", show_default=False)
    ] = None,
    trained: TrainedOnOption = [],  # noqa: B006 - typer reads it, nothing writes to it
    json: JsonOption = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No progress.")] = False,
) -> int:
    """Impose groups of unseen rows, solve again, and compare the cost with their multipliers."""
    import gc
    from dataclasses import asdict

    from pdual.cli import failure, output
    from pdual.cli.interrupt import Interrupt
    from pdual.increases import draw
    from pdual.resolving.plan import RATE, Plan
    from pdual.restoring import restored
    from pdual.runtime.storage.outputs import check_unsealed
    from pdual.sensitivity import resolve_one
    from pdual.sensitivity import sensitivity as measured

    def told(words: str) -> None:
        if not quiet:
            say(words, file=sys.stderr, flush=True)

    gc.enable()
    named = trained_on(trained)
    figure = run / "sensitivity.svg"
    check_unsealed(figure)
    with Interrupt() as interrupt:
        plan = Plan(groups, random, size, seeds, outer, epochs, RATE if rate is None else rate)
        if only is not None:
            resolve_one(restored(run, named=named), plan, only, split, interrupt.asked)
            return output.INTERRUPTED if interrupt.came else output.FINE
        found = measured(restored(run, named=named), plan, split, told, interrupt.asked, jobs, named)
    with failure.writing(figure):
        draw(found, figure)
    code = output.INTERRUPTED if interrupt.came else output.FINE
    if json:
        groups_ = [{**asdict(item), "increase": item.increase, "interval": item.interval} for item in found.groups]
        output.document("sensitivity", code, (), None, **{**asdict(found), "groups": groups_, "figure": str(figure)})
    else:
        for line in lines(found, figure):
            say(line)
    if interrupt.came:
        say("interrupted; what has ended is kept: the same command goes on from here", file=sys.stderr)
    return code


def lines(sensitivity: Sensitivity, figure: Path) -> Iterator[str]:
    """The table of groups, and what it comes to."""
    from pdual.explaining.render import table

    plan = sensitivity.plan
    iterations = "iteration" if plan.outer == 1 else "iterations"
    yield (
        f"{sensitivity.problem}: groups of {plan.size} {sensitivity.split} rows of {sensitivity.data}, re-solved in {plan.outer} outer {iterations}, "
        f"{plan.seeds} {'seed' if plan.seeds == 1 else 'seeds'}"
    )
    yield ""
    rows = [["group", "mean multiplier", "increase", "95 % interval", "first order", "violation", "left"]]
    for item in sensitivity.groups:
        interval = "-" if item.interval is None else f"± {item.interval:.3g}"
        numbers = [f"{item.multiplier:.4g}", f"{item.increase:.4g}", interval, f"{item.first_order:.3g}"]
        rows.append([item.kind, *numbers, f"{item.before:.3g}", f"{fmean(item.after):.3g}"])
    yield from table(rows)
    yield ""
    if sensitivity.noise is not None:
        yield f"noise of re-solving the train rows alone: {sensitivity.noise:.3g} (standard deviation over seeds)"
    if sensitivity.spearman is not None:
        yield f"rank correlation of increase and mean multiplier: {sensitivity.spearman:.3f}"
    if sensitivity.slope is not None and sensitivity.slope_first_order is not None:
        yield f"increase for one unit of mean multiplier: {sensitivity.slope:.3g}, to first order {sensitivity.slope_first_order:.3g}"
    yield f"figure: {figure}"
