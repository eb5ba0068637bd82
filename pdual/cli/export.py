"""``pdual export``: the predictor and the multipliers of a run as programs that run without pdual."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from pdual.cli.options import JsonOption, TrainedOnOption, trained_on
from pdual.cli.rows import RunArgument
from pdual.cli.say import say


def export(
    run: RunArgument,
    out: Annotated[
        Path | None, typer.Option(help="A folder. [default: export in the run's]", show_default=False)
    ] = None,
    trained: TrainedOnOption = [],  # noqa: B006 - typer reads it, nothing writes to it
    json: JsonOption = False,
) -> int:
    """Write models and multipliers for use elsewhere: torch.export (.pt2) and ONNX."""
    from dataclasses import asdict

    from pdual.cli import failure, output
    from pdual.dsl.diagnostics import diagnostic
    from pdual.restoring import restored
    from pdual.runtime.runs.exporting import export as exported

    found = restored(run, named=trained_on(trained))
    folder = out or run / "export"
    with failure.writing(folder):
        programs = exported(found.run, found.graph, folder)
    formats = {"both": "torch.export or ONNX", "onnx": "ONNX"}
    told = [
        diagnostic("PD736", program=item.name, format=formats[kind], reason=reason)
        for item in programs
        for kind, reason in item.failed.items()
    ]
    if json:
        output.document(
            "export", output.FINE, told, None, folder=str(folder), programs=[asdict(item) for item in programs]
        )
        return output.FINE
    output.show(told, None, sys.stderr)
    for item in programs:
        for file in item.files.values():
            say(folder / file)
    say(folder / "export.json")
    return output.FINE
