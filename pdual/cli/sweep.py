"""``pdual sweep``: the same problem with other values of parameters, side by side."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pdual.cli.options import (
    MOST,
    MOST_JOBS,
    DeviceChoice,
    JsonOption,
    SetOption,
    SpecArgument,
    assignments,
    data_files,
)
from pdual.cli.say import say

if TYPE_CHECKING:
    from pdual.compiler.graph import Graph
    from pdual.recovering import Capacity
    from pdual.sweeping import Ended, Trial


NO_REFERENCE: Mapping[Path, Mapping[str, Capacity]] = {}


def sweep(
    spec: SpecArgument,
    over: Annotated[
        list[str],
        typer.Option("--over", metavar="NAME=V1,V2,...", help="Values of a parameter. Repeatable.", show_default=False),
    ],
    seeds: Annotated[int, typer.Option(metavar="N", help="Runs of each, with seeds 0 to N-1.", min=1, max=MOST)] = 1,
    jobs: Annotated[
        int | None,
        typer.Option(metavar="N", help="Runs at a time. [default: cores]", min=1, max=MOST_JOBS, show_default=False),
    ] = None,
    sets: SetOption = [],  # noqa: B006 - typer reads it, nothing writes to it
    dual: Annotated[
        list[str], typer.Option("--dual", metavar="[FAMILY=]KIND", help="As of `pdual run`.", show_default=False)
    ] = [],  # noqa: B006
    data: Annotated[
        list[str], typer.Option("--data", metavar="NAME=FILE", help="As of `pdual run`.", show_default=False)
    ] = [],  # noqa: B006
    out: Annotated[
        Path | None, typer.Option(help="Folder of the runs. [default: runs/sweep-NAME]", show_default=False)
    ] = None,
    device: Annotated[DeviceChoice, typer.Option(help="Where to compute.")] = DeviceChoice.AUTO,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer rows and iterations: a first look.")] = False,
    limit: Annotated[
        int | None, typer.Option(metavar="N", help="At most N rows of each split.", min=1, show_default=False)
    ] = None,
    reference: Annotated[
        Path | None,
        typer.Option(
            metavar="RUN",
            help="A pointwise run of the problem: how near the multipliers come to its own.",
            show_default=False,
        ),
    ] = None,
    tensorboard: Annotated[bool, typer.Option("--tensorboard", help="Logs for TensorBoard, too.")] = False,
    json: JsonOption = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No progress.")] = False,
) -> int:
    """Solve a problem with every combination of values; a run that fails leaves the others alone."""
    from pdual.cli import output
    from pdual.cli.interrupt import Interrupt
    from pdual.runtime.problem.options import RunOptions
    from pdual.runtime.runs.execute import default_workers
    from pdual.sweeping import comparable, measured, trials
    from pdual.sweeping import sweep as swept

    values = {name: _values(name, written) for name, written in assignments(over, "--over", "NAME=V1,V2").items()}
    folder = out or Path("runs") / f"sweep-{Path(spec).stem}"
    planned = trials(values, seeds, folder)
    fixed = assignments(sets, "--set")
    apart = {tuple(trial.values.items()): {**fixed, **trial.values} for trial in planned}  # seeds make no other problem
    files = data_files(data)
    found_at, graphs = _check(spec, list(apart.values()), files)
    asked = RunOptions(data=files, limit=limit, quick=quick)
    whole = None if reference is None else comparable(reference, graphs, asked, found_at)
    arguments = ["--device", device.value, *(["--quick"] if quick else []), *(["--tensorboard"] if tensorboard else [])]
    arguments += ["--limit", str(limit)] if limit is not None else []
    for option, written in (("--set", sets), ("--dual", dual), ("--data", data)):
        arguments += [part for item in written for part in (option, item)]

    def began(trial: Trial) -> None:
        if not quiet:
            say(f"begun: {trial.folder}", file=sys.stderr, flush=True)

    def ended(item: Ended) -> None:
        if not quiet or item.metrics is None:
            words = "ended" if item.metrics is not None else f"failed with exit code {item.code}, {item.said}"
            say(f"{words}: {item.trial.folder}", file=sys.stderr, flush=True)

    with Interrupt() as interrupt:
        found = swept(spec, planned, arguments, jobs or default_workers(), began, ended, interrupt.asked)
    capacities = NO_REFERENCE if whole is None or interrupt.came else measured(found, whole)
    figure = _drawn(found, capacities, folder)
    failed = any(item.code not in (output.FINE, output.INTERRUPTED) for item in found)
    code = output.INTERRUPTED if interrupt.came else output.RUN_FAILED if failed else output.FINE
    if json:
        every = [_as_json(item, capacities.get(item.trial.folder, {})) for item in found]
        output.document("sweep", code, (), None, trials=every, figure=None if figure is None else str(figure))
    else:
        for line in lines(list(values), found, capacities):
            say(line)
        if figure is not None:
            say(f"figure: {figure}")
    return code


def _values(name: str, written: str) -> list[str]:
    from pdual.cli.options import names

    return list(dict.fromkeys(names(written, f"--over {name}")))


def _check(spec: str, every: Sequence[Mapping[str, str]], files: Mapping[str, Path]) -> tuple[Path, list[Graph]]:
    """The spec's folder and its graphs. Refuses before anything runs what no run would accept."""
    from pdual.finding import find
    from pdual.runtime.data.context import SourceContext
    from pdual.understanding import understand

    found = find(spec)
    graphs = []
    for overrides in every:
        understood = understand(found.source, overrides, context=SourceContext(folder=found.folder, files=files))
        understood.refuse()
        assert understood.graph is not None
        graphs.append(understood.graph)
    return found.folder, graphs


def _drawn(trials: Sequence[Ended], capacities: Mapping[Path, Mapping[str, Capacity]], folder: Path) -> Path | None:
    """The capacity figure among the runs, where multipliers were held by several numbers of parameters. Raises PD713."""
    from pdual.capacities import draw, points
    from pdual.cli import failure

    measured = points(trials, capacities)
    if len(measured) < 2:
        return None
    figure = folder / "capacity.svg"
    with failure.writing(figure):
        draw(measured, figure)
    return figure


def lines(
    names: Sequence[str], trials: Sequence[Ended], capacities: Mapping[Path, Mapping[str, Capacity]] = NO_REFERENCE
) -> Iterator[str]:
    """One table: a line for every combination of values, means and standard deviations over its seeds."""
    from pdual.cli.recoveries import NONE
    from pdual.explaining.render import table
    from pdual.runtime.problem.samples import sentences

    metrics = [item.metrics for item in trials if item.metrics is not None]
    yield from sentences({name: sample for item in metrics for name, sample in item.samples.items()})
    groups: dict[tuple[str, ...], list[Ended]] = {}
    for item in trials:
        groups.setdefault(tuple(item.trial.values.values()), []).append(item)
    columns = {key: {**_numbers(items), **_reached(items, capacities)} for key, items in groups.items()}
    heads = list(dict.fromkeys(head for column in columns.values() for head in column))
    rows = [[*key, *(column.get(head, NONE) for head in heads)] for key, column in columns.items()]
    yield from table([[*names, *heads], *rows])
    if capacities and not any(capacities.values()):
        yield (
            "nothing to hold against the reference: it has no multipliers, no networks hold those of the runs, "
            "or they were fitted on every row (`fit` below 1 in `solve`)"
        )
    for item in trials:
        if item.metrics is None:
            yield f"failed: {item.trial.folder} (exit code {item.code}): {item.said}"


def _numbers(items: Sequence[Ended]) -> dict[str, str]:
    """Of the test split, of train where there is none."""
    from pdual.cli.recoveries import spread

    every = [item.metrics for item in items if item.metrics is not None]
    found = {"runs": f"{len(every)} of {len(items)}"}
    if not every:
        return found
    split = "test" if all("test" in item.splits for item in every) else "train"
    own = [item.splits[split] for item in every]
    found["objective"] = spread([item.objective for item in own], ".6g")
    for name in dict.fromkeys(name for item in own for name in item.metrics):
        found[name] = spread([item.metrics[name].mean for item in own if name in item.metrics], ".4g")
    found["violation"] = spread([item.violation.mean.mean if item.violation else None for item in own], ".3g")
    found["largest of a row"] = spread([item.violation.max.mean if item.violation else None for item in own], ".3g")
    found["rows met"] = spread([item.violation.feasible_rows if item.violation else None for item in own], ".4g")
    found["dual parameters"] = spread([float(item.multipliers.parameters) for item in every], ".0f")
    for score in ("auc", "ndcg"):
        scores = [
            getattr(splits[split], score) for item in every for splits in item.recovery.values() if split in splits
        ]
        if scores:
            found[score.upper()] = spread(scores, ".3f")
    found["s"] = spread([item.timing.total_s for item in every], ".0f")
    return found


def _reached(items: Sequence[Ended], capacities: Mapping[Path, Mapping[str, Capacity]]) -> dict[str, str]:
    from pdual.cli.recoveries import spread

    own = [capacity for item in items for capacity in capacities.get(item.trial.folder, {}).values()]
    if not own:
        return {}
    found = {}
    for score in ("auc", "ndcg"):
        for rows in ("fitted", "unseen"):
            found[f"{score.upper()}, {rows}"] = spread(
                [getattr(getattr(item, rows).scores, score) for item in own], ".3f"
            )
    found["approximation"] = spread([item.approximation for item in own], ".3g")
    found["generalisation"] = spread([item.generalisation for item in own], ".3g")
    return found


def _as_json(item: Ended, capacities: Mapping[str, Capacity]) -> dict[str, object]:
    return {
        "values": dict(item.trial.values),
        "seed": item.trial.seed,
        "folder": str(item.trial.folder),
        "exit_code": item.code,
        "said": item.said,
        "capacity": {
            name: {
                "fitted": own.fitted.scores.model_dump(mode="json"),
                "unseen": own.unseen.scores.model_dump(mode="json"),
                "approximation": own.approximation,
                "generalisation": own.generalisation,
            }
            for name, own in capacities.items()
        },
        "metrics": None if item.metrics is None else item.metrics.model_dump(mode="json", by_alias=True),
    }
