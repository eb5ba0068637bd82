"""``pdual check``: every diagnostic of some specs at once."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pdual.cli.options import JsonOption, SetOption, assignments

if TYPE_CHECKING:
    from pdual.dsl.diagnostics import Diagnostic
    from pdual.dsl.spans import Source


def check(
    specs: Annotated[
        list[str],
        typer.Argument(metavar="SPEC...", help=".pdual files, or names of shipped specs.", show_default=False),
    ],
    sets: SetOption = [],  # noqa: B006 - typer reads it, nothing writes to it
    json: JsonOption = False,
) -> int:
    """Report everything that is wrong with specs, without data and without running them."""
    from pdual.cli import output

    overrides = assignments(sets, "--set")
    checked = [_check(spec, dict(overrides)) for spec in specs]
    found = [item for _, _, diagnostics in checked for item in diagnostics]
    code = output.exit_code(found)
    if json:
        output.document("check", code, (), None, specs=[_as_json(*item) for item in checked])
        return code
    for _, source, diagnostics in checked:
        output.show(diagnostics, source, sys.stdout)
    noun = "spec" if len(specs) == 1 else "specs"
    print(f"checked {len(specs)} {noun}: {output.summary(found)}")
    return code


def _check(argument: str, overrides: dict[str, str]) -> tuple[str, Source | None, tuple[Diagnostic, ...]]:
    from pdual.dsl.diagnostics import Refusal
    from pdual.finding import find
    from pdual.runtime.context import SourceContext
    from pdual.understanding import understand

    try:
        found = find(argument)
    except Refusal as refusal:
        return argument, None, refusal.diagnostics
    understood = understand(found.source, overrides, context=SourceContext(folder=found.folder))
    return argument, found.source, understood.diagnostics


def _as_json(argument: str, source: Source | None, diagnostics: tuple[Diagnostic, ...]) -> dict[str, Any]:
    from pdual.dsl.printer import as_json

    return {"spec": argument, "diagnostics": [as_json(item, source) for item in diagnostics]}
