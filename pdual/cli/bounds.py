"""``pdual bounds``: the constants of a spec, the paper's assumptions, the certificate."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from pdual.cli.asked import OptionalSpec, asked, references
from pdual.cli.options import (
    DataOption,
    DualOption,
    JsonOption,
    SetOption,
    TrainedOnOption,
    assignments,
    data_files,
    duals,
    trained_on,
)
from pdual.cli.say import say

if TYPE_CHECKING:
    from pdual.cli.asked import SpecOrRun
    from pdual.runtime.data.row_facts import PartOnRows

KnowOption: TypeAlias = Annotated[
    list[str],
    typer.Option(
        "--know",
        metavar="NAME=NUMBER",
        help="A constant that is not derived, such as s, nuH, nuPhi, zeta, N, delta. Repeatable.",
        show_default=False,
    ),
]
RunOption: TypeAlias = Annotated[
    Path | None,
    typer.Option("--run", metavar="DIR", help="Measure what is not derived on this run.", show_default=False),
]
ReferenceOption: TypeAlias = Annotated[
    list[Path],
    typer.Option(
        "--reference",
        metavar="DIR",
        help="Another run of the problem: with --dual pointwise for nuPhi, any for the Slater margin. Repeatable.",
        show_default=False,
    ),
]


def bounds(
    spec: OptionalSpec = None,
    sets: SetOption = [],  # noqa: B006 - typer reads it, nothing writes to it
    dual: DualOption = [],  # noqa: B006
    know: KnowOption = [],  # noqa: B006
    run: RunOption = None,
    reference: ReferenceOption = [],  # noqa: B006
    rows: Annotated[
        bool, typer.Option("--rows", help="Say what the declared ranges mean for the rows that there are.")
    ] = False,
    data: DataOption = [],  # noqa: B006
    trained: TrainedOnOption = [],  # noqa: B006
    json: JsonOption = False,
) -> int:
    """Say what the compiler derives: ranges, Lipschitz constants, curvature, caps, and what follows for the solution."""
    from pdual.bounding.report import as_json, lines, numbers, report
    from pdual.cli import failure, output
    from pdual.dsl.diagnostics import Refusal

    if reference and run is None:
        raise typer.BadParameter("`--reference` is read beside `--run`")
    if data and (not rows or run is not None):
        raise typer.BadParameter("`--data` is read beside `--rows`, of a spec: a run has its own rows")
    named = trained_on(trained)
    found = asked(spec, assignments(sets, "--set"), duals(dual), True, run, named)
    try:
        found.understood.refuse()
        assert found.understood.graph is not None
        given = numbers(assignments(know, "--know", "NAME=NUMBER"))
        if found.run is None:
            made = report(found.understood.graph, given)
        else:
            from pdual.bounding.measuring import measuring

            others = references(reference, found.run, named)
            made = report(found.understood.graph, given, measuring(found.run, others, given))
        known = _on_rows(found, data_files(data)) if rows else ()
    except Refusal as refusal:
        return failure.refused(refusal, ["bounds", "--json"] if json else ["bounds"], found.source)
    code = output.exit_code(found.understood.diagnostics)
    if json:
        content = as_json(made) | ({"rows": [item._asdict() for item in known]} if rows else {})
        output.document("bounds", code, found.understood.diagnostics, found.source, bounds=content)
        return code
    for line in (*lines(made), *(lines_of_rows(known) if rows else ())):
        say(line)
    sys.stdout.flush()
    return code


def _on_rows(opened: SpecOrRun, files: Mapping[str, Path]) -> tuple[PartOnRows, ...]:
    """What is known of the rows of a run, or of those that a run of the spec would load."""
    from pdual.cli.progress import progress
    from pdual.runtime.data.context import SourceContext
    from pdual.runtime.data.row_facts import facts_of_rows
    from pdual.runtime.problem.prepare import load_tables
    from pdual.runtime.runs.execute import default_workers
    from pdual.understanding import check_data

    graph = opened.understood.graph
    assert graph is not None
    if opened.run is not None:
        return facts_of_rows(graph, opened.run.tables)
    check_data(files, graph.spec)
    shown = progress(quiet=False, verbose=False)
    context = SourceContext(folder=opened.folder, files=files, workers=default_workers(), progress=shown)
    try:
        return facts_of_rows(graph, load_tables(graph.spec, graph.knowns, context))
    finally:
        shown.close()


def lines_of_rows(parts: Sequence[PartOnRows]) -> Iterator[str]:
    """A line a part: of its entries on all rows, how many can never hold, and how many cannot be violated."""
    from pdual.explaining.render import table

    yield "rows, at their own fields"
    head = ("part", "rows", "entries", "never hold", "always hold", "the first that can never hold")
    lines = [
        (
            item.part,
            f"{item.total:,}",
            f"{item.live:,}",
            f"{item.never:,}",
            f"{item.always:,}",
            ", ".join(item.rows[:3]),
        )
        for item in parts
    ]
    yield from (f"  {line}" for line in table([head, *lines]))
