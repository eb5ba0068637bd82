"""``pdual verify``: attack what the compiler claims of a spec."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pdual.cli.asked import OptionalSpec, SpecOrRun, asked
from pdual.cli.options import (
    MOST,
    DualOption,
    JsonOption,
    MinimizeOption,
    SetOption,
    TrainedOnOption,
    assignments,
    duals,
    keeps_objective,
    trained_on,
)
from pdual.cli.say import say
from pdual.runtime.problem.options import MOST_SEED

if TYPE_CHECKING:
    from pdual.understanding import Understood
    from pdual.verifying.attack import Attack
    from pdual.verifying.claim import Claim

#: Cases a claim, unless told otherwise.
EXAMPLES = 50


def verify(
    spec: OptionalSpec = None,
    sets: SetOption = [],  # noqa: B006 - typer reads it, nothing writes to it
    dual: DualOption = [],  # noqa: B006
    minimize: MinimizeOption = None,
    claims: Annotated[
        str | None, typer.Option(metavar="NAME,...", help="Attack only these claims.", show_default=False)
    ] = None,
    examples: Annotated[int, typer.Option(metavar="N", help="Cases a claim.", min=1, max=10 * MOST)] = EXAMPLES,
    seed: Annotated[int, typer.Option(help="Of the cases.", min=0, max=MOST_SEED)] = 0,
    run: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="A run: its trained networks stand for models that are made up; counterexamples go to its folder.",
            show_default=False,
        ),
    ] = None,
    replay: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Check one counterexample again.", show_default=False)
    ] = None,
    trained: TrainedOnOption = [],  # noqa: B006
    json: JsonOption = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No progress.")] = False,
) -> int:
    """Look for rows and numbers that break what the compiler claims: ranges, rows, gradients, multipliers."""
    import gc

    from pdual.cli import failure
    from pdual.dsl.diagnostics import Refusal

    named = trained_on(trained)
    found = asked(spec, assignments(sets, "--set"), duals(dual), keeps_objective(minimize), run, named)
    try:
        found.understood.refuse()
        chosen = _chosen(claims, run)
        gc.enable()
        attacks = _attacks(found, chosen, examples, seed, replay, quiet)
        repeated = " ".join([*([spec] if spec is not None else []), *([f"--run {run}"] if run is not None else [])])
        return _report(attacks, found.understood, repeated, run, replay, json)
    except Refusal as refusal:
        return failure.refused(refusal, ["verify", "--json"] if json else ["verify"], found.source)


def _chosen(written: str | None, run: Path | None) -> Sequence[Claim]:
    """The claims that are named, or all; those about a run need one. Raises PD715 for one that is not there."""
    from pdual.cli.options import names
    from pdual.dsl.diagnostics import refuse
    from pdual.dsl.near import nearest
    from pdual.verifying.claims import CLAIMS

    if written is None:
        return [claim for claim in CLAIMS.values() if run is not None or not claim.of_run]
    for name in (asked := names(written, "--claims")):
        if name not in CLAIMS:
            known = ", ".join(f"`{item}`" for item in CLAIMS)
            raise refuse("PD715", name=name, names=known, near=nearest(name, CLAIMS))
        if CLAIMS[name].of_run and run is None:
            raise typer.BadParameter(f"claim `{name}` is about trained networks: `--run` has to name a run")
    return [CLAIMS[name] for name in asked]


def _attacks(
    opened: SpecOrRun, claims: Sequence[Claim], examples: int, seed: int, replay: Path | None, quiet: bool
) -> list[Attack]:
    import torch

    from pdual.cli.progress import progress
    from pdual.verifying.attack import Attack, attack, repeat
    from pdual.verifying.claims import CLAIMS
    from pdual.verifying.storing import load
    from pdual.verifying.subject import Subject

    assert opened.understood.graph is not None
    torch.set_num_threads(1)
    subject = Subject(opened.understood.graph if opened.run is None else opened.run.graph, opened.run)
    if replay is None:
        shown = progress(quiet, verbose=False)
        try:
            return attack(claims, subject, examples, seed, shown)
        finally:
            shown.close()
    name, about, case = load(replay)
    return [Attack(CLAIMS[name], 1, 0, 0.0, repeat(CLAIMS[name], subject, about, case))]


def _report(
    attacks: Sequence[Attack], understood: Understood, repeated: str, run: Path | None, replay: Path | None, json: bool
) -> int:
    from pdual.cli import output
    from pdual.dsl.diagnostics import diagnostic
    from pdual.runtime.storage.folder import RunFolder
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
    for line in lines(attacks, understood.graph, files, repeated):
        say(line)
    sys.stdout.flush()
    output.show(fallen, understood.source, sys.stderr)
    return code
