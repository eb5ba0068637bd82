"""``pdual verify``: attack what the compiler claims of a spec."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pdual.cli.options import (
    DualOption,
    JsonOption,
    MinimizeOption,
    SetOption,
    SpecArgument,
    assignments,
    duals,
    keeps_objective,
)

if TYPE_CHECKING:
    from pdual.understanding import Understood
    from pdual.verifying.attack import Attack
    from pdual.verifying.claim import Claim

#: Cases a claim, unless told otherwise.
EXAMPLES = 50


def verify(
    spec: SpecArgument,
    sets: SetOption = [],  # noqa: B006 - typer reads it, nothing writes to it
    dual: DualOption = [],  # noqa: B006
    minimize: MinimizeOption = None,
    claims: Annotated[
        str | None, typer.Option(metavar="NAME,...", help="Attack only these claims.", show_default=False)
    ] = None,
    examples: Annotated[int, typer.Option(metavar="N", help="Cases a claim.", min=1)] = EXAMPLES,
    seed: Annotated[int, typer.Option(help="Of the cases.", min=0)] = 0,
    run: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The run whose folder counterexamples go to.", show_default=False)
    ] = None,
    replay: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Check one counterexample again.", show_default=False)
    ] = None,
    json: JsonOption = False,
) -> int:
    """Look for rows and numbers that break what the compiler claims: ranges, rows, gradients, multipliers."""
    import gc

    from pdual.cli import failure
    from pdual.dsl.diagnostics import Refusal
    from pdual.finding import find
    from pdual.runtime.context import SourceContext
    from pdual.understanding import understand

    found = find(spec)
    context = SourceContext(folder=found.folder)
    understood = understand(found.source, assignments(sets, "--set"), duals(dual), keeps_objective(minimize), context)
    try:
        understood.refuse()
        chosen = _chosen(claims)
        gc.enable()
        attacks = _attacks(understood, chosen, examples, seed, replay)
        return _report(attacks, understood, spec, run, replay, json)
    except Refusal as refusal:
        return failure.refused(refusal, ["verify", "--json"] if json else ["verify"], found.source)


def _chosen(written: str | None) -> Sequence[Claim]:
    """The claims that are named, or all. Raises PD715 for one that is not there."""
    from pdual.cli.options import names
    from pdual.dsl.diagnostics import refuse
    from pdual.dsl.near import nearest
    from pdual.verifying.claims import CLAIMS

    if written is None:
        return list(CLAIMS.values())
    for name in (asked := names(written, "--claims")):
        if name not in CLAIMS:
            known = ", ".join(f"`{item}`" for item in CLAIMS)
            raise refuse("PD715", name=name, names=known, near=nearest(name, CLAIMS))
    return [CLAIMS[name] for name in asked]


def _attacks(
    understood: Understood, claims: Sequence[Claim], examples: int, seed: int, replay: Path | None
) -> list[Attack]:
    import torch

    from pdual.verifying.attack import Attack, attack, repeat
    from pdual.verifying.claims import CLAIMS
    from pdual.verifying.storing import load
    from pdual.verifying.subject import Subject

    assert understood.graph is not None
    torch.set_num_threads(1)
    subject = Subject(understood.graph)
    if replay is None:
        return attack(claims, subject, examples, seed)
    name, about, case = load(replay)
    return [Attack(CLAIMS[name], 1, 0, 0.0, repeat(CLAIMS[name], subject, about, case))]


def _report(
    attacks: Sequence[Attack], understood: Understood, spec: str, run: Path | None, replay: Path | None, json: bool
) -> int:
    from pdual.cli import output
    from pdual.dsl.diagnostics import diagnostic
    from pdual.runtime.folder import RunFolder
    from pdual.verifying.showing import as_json, lines
    from pdual.verifying.storing import FOLDER, save

    assert understood.graph is not None
    folder = Path(FOLDER) if run is None else RunFolder.open(run).path / FOLDER
    files = {
        item.claim.name: replay or save(item.counterexample, understood.source.text, folder)
        for item in attacks
        if item.counterexample is not None
    }
    fallen = [diagnostic("PD660", claim=name, file=path) for name, path in files.items()]
    code = output.exit_code(fallen)
    if json:
        content = [as_json(item, files.get(item.claim.name)) for item in attacks]
        output.document("verify", code, fallen, understood.source, claims=content)
        return code
    for line in lines(attacks, understood.graph, files, spec):
        print(line)
    sys.stdout.flush()
    output.show(fallen, understood.source, sys.stderr)
    return code
