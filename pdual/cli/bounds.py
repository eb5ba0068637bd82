"""``pdual bounds``: the constants of a spec, the paper's assumptions, the certificate."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from pdual.cli.options import DualOption, JsonOption, SetOption, SpecArgument, assignments, duals

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
    typer.Option("--run", metavar="DIR", help="Take rows and the last rho from this run.", show_default=False),
]


def bounds(
    spec: SpecArgument,
    sets: SetOption = [],  # noqa: B006 - typer reads it, nothing writes to it
    dual: DualOption = [],  # noqa: B006
    know: KnowOption = [],  # noqa: B006
    run: RunOption = None,
    json: JsonOption = False,
) -> int:
    """Say what the compiler derives: ranges, Lipschitz constants, curvature, caps, and what follows for the solution."""
    from pdual.bounding.report import as_json, lines, report
    from pdual.cli import failure, output
    from pdual.dsl.diagnostics import Refusal
    from pdual.finding import find
    from pdual.runtime.context import SourceContext
    from pdual.understanding import understand

    found = find(spec)
    context = SourceContext(folder=found.folder)
    understood = understand(found.source, assignments(sets, "--set"), duals(dual), True, context)
    try:
        understood.refuse()
        assert understood.graph is not None
        made = report(understood.graph, assignments(know, "--know", "NAME=NUMBER"), run)
    except Refusal as refusal:
        return failure.refused(refusal, ["bounds", "--json"] if json else ["bounds"], found.source)
    code = output.exit_code(understood.diagnostics)
    if json:
        output.document("bounds", code, understood.diagnostics, found.source, bounds=as_json(made))
        return code
    for line in lines(made):
        print(line)
    sys.stdout.flush()
    return code
