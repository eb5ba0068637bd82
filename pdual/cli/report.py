"""``pdual report``: runs as one page that can be looked at in a browser, several side by side."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from pdual.cli.options import JsonOption, TrainedOnOption, trained_on
from pdual.cli.say import say


def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of runs.", show_default=False)],
    out: Annotated[
        Path | None, typer.Option(help="The page. [default: report.html in the first run's folder]", show_default=False)
    ] = None,
    trained: TrainedOnOption = [],  # noqa: B006 - typer reads it, nothing writes to it
    json: JsonOption = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No progress.")] = False,
) -> int:
    """Write what runs came to as a self-contained HTML page."""
    from pdual.cli import failure, output
    from pdual.cli.progress import progress
    from pdual.reporting.collect import collect
    from pdual.reporting.page import page
    from pdual.runtime.storage.outputs import check_unsealed, write_sealed

    shown = progress(quiet, False)
    place = out or runs[0] / "report.html"
    named = trained_on(trained)
    check_unsealed(place)
    try:
        text = page([collect(run, shown, named) for run in runs])
    finally:
        shown.close()
    with failure.writing(place):
        place.parent.mkdir(parents=True, exist_ok=True)
        write_sealed(place, text)
    if json:
        output.document("report", output.FINE, (), None, file=str(place), runs=[str(run) for run in runs])
    else:
        say(place)
        if not quiet:
            say(f"open it in a browser: {place.resolve().as_uri()}", file=sys.stderr)
    return output.FINE
