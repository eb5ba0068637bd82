"""``pdual bounds``: the constants of a spec, the paper's assumptions, the certificate."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from pdual.cli.asked import OptionalSpec, asked, references
from pdual.cli.options import DualOption, JsonOption, SetOption, assignments, duals

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
    json: JsonOption = False,
) -> int:
    """Say what the compiler derives: ranges, Lipschitz constants, curvature, caps, and what follows for the solution."""
    from pdual.bounding.report import as_json, lines, numbers, report
    from pdual.cli import failure, output
    from pdual.dsl.diagnostics import Refusal

    if reference and run is None:
        raise typer.BadParameter("`--reference` is read beside `--run`")
    found = asked(spec, assignments(sets, "--set"), duals(dual), True, run)
    try:
        found.understood.refuse()
        assert found.understood.graph is not None
        given = numbers(assignments(know, "--know", "NAME=NUMBER"))
        if found.run is None:
            made = report(found.understood.graph, given)
        else:
            from pdual.bounding.measuring import measuring

            made = report(found.understood.graph, given, measuring(found.run, references(reference, found.run), given))
    except Refusal as refusal:
        return failure.refused(refusal, ["bounds", "--json"] if json else ["bounds"], found.source)
    code = output.exit_code(found.understood.diagnostics)
    if json:
        output.document("bounds", code, found.understood.diagnostics, found.source, bounds=as_json(made))
        return code
    for line in lines(made):
        print(line)
    sys.stdout.flush()
    return code
