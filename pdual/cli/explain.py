"""``pdual explain``: what was understood of a spec."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pdual.cli.options import (
    DataOption,
    DualOption,
    JsonOption,
    MinimizeOption,
    SetOption,
    SpecArgument,
    assignments,
    data_files,
    duals,
    keeps_objective,
)
from pdual.cli.say import say

if TYPE_CHECKING:
    from pdual.compiler.graph import Graph
    from pdual.dsl.spans import Source
    from pdual.explaining.render import Line
    from pdual.runtime.data.context import SourceContext
    from pdual.understanding import Understood


class Stage(StrEnum):
    """The forms that a spec takes on its way."""

    AST = "ast"
    TYPED = "typed"
    IR = "ir"
    CODE = "code"


def explain(
    spec: SpecArgument,
    sets: SetOption = [],  # noqa: B006 - typer reads it, nothing writes to it
    dual: DualOption = [],  # noqa: B006
    minimize: MinimizeOption = None,
    stage: Annotated[Stage | None, typer.Option(help="Print a form of the spec instead.", show_default=False)] = None,
    uses: Annotated[
        str | None, typer.Option(metavar="NAME", help="Print what reads a name instead.", show_default=False)
    ] = None,
    rows: Annotated[
        int | None,
        typer.Option(
            "--rows", metavar="N", min=1, help="Print N entries of every constraint on a real row.", show_default=False
        ),
    ] = None,
    data: DataOption = [],  # noqa: B006
    math: Annotated[bool, typer.Option("--math", help="Print the problem in LaTeX instead.")] = False,
    json: JsonOption = False,
) -> int:
    """Show what was understood: sets, models, objective, constraints, multipliers."""
    from pdual.cli import output
    from pdual.finding import find
    from pdual.runtime.data.context import SourceContext
    from pdual.understanding import understand

    found = find(spec)
    context = SourceContext(folder=found.folder, files=data_files(data))
    understood = understand(found.source, assignments(sets, "--set"), duals(dual), keeps_objective(minimize), context)
    if rows is not None and understood.graph is not None and not understood.errors:
        return _rows(understood.graph, rows, context, found.source, json)
    code = output.exit_code(understood.diagnostics)
    name, content, lines = _content(understood, stage, uses, math, keeps_objective(minimize))
    if json:
        output.document("explain", code, understood.diagnostics, found.source, **{name: content})
        return code
    if code == output.USAGE:  # what was asked for is not clear: half an answer would hide that
        lines = ()
    _print(lines)
    if understood.diagnostics:
        if lines:
            say()
        sys.stdout.flush()
        output.show(understood.diagnostics, found.source, sys.stderr if code else sys.stdout)
    return code


def _rows(graph: Graph, count: int, context: SourceContext, source: Source, json: bool) -> int:
    from pdual.cli import failure, output
    from pdual.dsl.diagnostics import Refusal
    from pdual.explaining.instances import instances, lines_of
    from pdual.understanding import check_data

    try:
        check_data(context.files, graph.spec)
        found = instances(graph, count, context)
    except Refusal as refusal:
        return failure.refused(refusal, ["explain", *(["--json"] if json else [])], source)
    if json:
        output.document("explain", output.FINE, (), source, rows=[item.as_json() for item in found])
    else:
        say("\n".join(lines_of(found)))
    return output.FINE


def _content(
    understood: Understood, stage: Stage | None, uses: str | None, math: bool, minimize: bool
) -> tuple[str, object, Sequence[Line]]:
    """The key of the JSON document, its value, and the same for people."""
    from pdual.explaining.render import Line, render

    if stage is not None:
        from pdual.explaining.stages import stage_of

        text = stage_of(understood, str(stage))
        return "stage", {"name": str(stage), "text": text}, [Line(line) for line in (text or "").splitlines()]
    if understood.spec is None:
        return "explanation", None, ()
    if uses is not None:
        from pdual.explaining.uses import uses_of

        places = uses_of(understood.source, uses)
        lines = [Line(f"{place.line}:{place.column}  {place.what}  {place.text}") for place in places]
        return "uses", [place.as_json() for place in places], lines or [Line(f"nothing reads {uses}")]
    if math:
        from pdual.explaining.mathematics import mathematics

        text = mathematics(understood.spec, understood.graph, minimize)
        return "math", text, [Line(line) for line in text.splitlines()]
    from pdual.explaining.collect import explanation
    from pdual.explaining.projection import earlier_run

    earlier = earlier_run(Path("runs"), understood.spec)
    found = explanation(understood.spec, understood.graph, minimize, earlier)
    return "explanation", found.as_json(), render(found)


def _print(lines: Sequence[Line]) -> None:
    from pdual.cli.output import wants_colour

    if not wants_colour(sys.stdout):
        for line in lines:
            say(line.text)
        return
    from rich.console import Console
    from rich.text import Text

    from pdual.dsl.visible import visible_lines

    console = Console(highlight=False, soft_wrap=True)
    for line in lines:
        console.print(Text(visible_lines(line.text), style="bold cyan" if line.heading else ""))
