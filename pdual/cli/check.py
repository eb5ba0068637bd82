"""``pdual check``: every diagnostic of some specs at once, and the long text of one kind of diagnostic."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pdual.cli.options import JsonOption, SetOption, assignments
from pdual.cli.say import say

if TYPE_CHECKING:
    from pdual.dsl.diagnostics import Diagnostic
    from pdual.dsl.explanations import LongText
    from pdual.dsl.spans import Source


def check(
    specs: Annotated[
        list[str],
        typer.Argument(
            metavar="SPEC...", help=".pdual files, names of shipped specs, or - for standard input.", show_default=False
        ),
    ] = [],  # noqa: B006 - typer reads it, nothing writes to it
    sets: SetOption = [],  # noqa: B006
    explain: Annotated[
        str | None,
        typer.Option("--explain", metavar="CODE", help="Print the long text of a code instead.", show_default=False),
    ] = None,
    json: JsonOption = False,
    sarif: Annotated[
        bool, typer.Option("--sarif", help="Print one SARIF 2.1.0 document on stdout, nothing else.")
    ] = False,
) -> int:
    """Report everything that is wrong with specs, without data and without running them."""
    from pdual.cli import output

    _refuse_contradictions(specs, explain, json, sarif)
    if explain is not None:
        return _explain(explain, json)
    overrides = assignments(sets, "--set")
    checked = [_check(spec, dict(overrides)) for spec in specs]
    found = [item for _, _, diagnostics in checked for item in diagnostics]
    code = output.exit_code(found)
    if sarif:
        from pdual.cli.sarif import log

        output.print_json(log(checked))
        return code
    if json:
        output.document("check", code, (), None, specs=[_as_json(*item) for item in checked])
        return code
    for _, source, diagnostics in checked:
        output.show(diagnostics, source, sys.stdout)
    noun = "spec" if len(specs) == 1 else "specs"
    say(f"checked {len(specs)} {noun}: {output.summary(found)}")
    return code


def _refuse_contradictions(specs: list[str], explain: str | None, json: bool, sarif: bool) -> None:
    """Raises PD791, and PD700 where there is nothing to check."""
    from pdual.dsl.diagnostics import refuse

    if sarif and json:
        raise refuse("PD791", option="--sarif", other="`--json`")
    if explain is not None and (sarif or specs):
        raise refuse("PD791", option="--explain", other="`--sarif`" if sarif else f"the spec `{specs[0]}`")
    if explain is None and not specs:
        raise refuse("PD700", message="missing argument `SPEC...`", command="pdual check")


def _check(argument: str, overrides: dict[str, str]) -> tuple[str, Source | None, tuple[Diagnostic, ...]]:
    from pdual.dsl.diagnostics import Refusal
    from pdual.finding import find
    from pdual.runtime.data.context import SourceContext
    from pdual.unconstrained import unconstrained
    from pdual.understanding import understand

    try:
        found = find(argument)
    except Refusal as refusal:
        return argument, None, refusal.diagnostics
    understood = understand(found.source, overrides, context=SourceContext(folder=found.folder))
    return argument, found.source, (*understood.diagnostics, *unconstrained(understood))


def _as_json(argument: str, source: Source | None, diagnostics: tuple[Diagnostic, ...]) -> dict[str, Any]:
    from pdual.dsl.printer import as_json

    return {"spec": argument, "diagnostics": [as_json(item, source) for item in diagnostics]}


# --- --explain ------------------------------------------------------------------------------------------------


def _explain(code: str, json: bool) -> int:
    from pdual.cli import output
    from pdual.dsl.explanations import explain, heading

    found = explain(code)
    if json:
        content = {name: getattr(found, name) for name in ("code", "reason", "failing", "repaired")}
        output.document("check", output.FINE, (), None, explanation={"title": heading(found.code), **content})
        return output.FINE
    say(f"{found.code}: {heading(found.code)}\n\n{found.reason}")
    for line in _shown(found):
        say(line)
    return output.FINE


def _shown(found: LongText) -> Iterator[str]:
    """The failing spec, what is said of it, and its repair."""
    from pdual.dsl.printer import render_all
    from pdual.dsl.spans import Source
    from pdual.understanding import understand

    if found.failing is None or found.repaired is None:
        return
    source = Source("failing.pdual", found.failing)
    said = render_all(understand(source).diagnostics, source)
    for title, text in (("A spec that fails", found.failing), ("What is said", said), ("Repaired", found.repaired)):
        yield from ("", f"{title}:", "", *(f"    {line}".rstrip() for line in text.splitlines()))
