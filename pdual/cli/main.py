"""``pdual``: the command line. Every way out of it goes through ``main``: an exit code, and nothing else, comes back.

Nothing here, and nothing that the modules of the commands import at their top, is heavy: ``pdual --help`` answers at
once.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from pdual.cli import bounds, check, compare, explain, export, fmt, lsp, report, rows, run, sensitivity, sweep, verify
from pdual.cli.say import say

#: A mistake on the command line; typer exports only this subclass of it.
USAGE_ERROR = typer.BadParameter.__mro__[1]

app = typer.Typer(
    name="pdual",
    help="Learning with requirements that hold on every sample.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command("check")(check.check)
app.command("fmt")(fmt.fmt)
app.command("explain")(explain.explain)
app.command("run")(run.run)
app.command("compare")(compare.compare)
app.command("report")(report.report)
app.command("predict")(rows.predict)
app.command("score")(rows.score)
app.command("export")(export.export)
app.command("sensitivity")(sensitivity.sensitivity)
app.command("bounds")(bounds.bounds)
app.command("verify")(verify.verify)
app.command("sweep")(sweep.sweep)
app.command("lsp")(lsp.lsp)


def _show_version(asked: bool) -> None:
    if asked:
        from pdual import __version__

        say(f"pdual {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_show_version),
    ] = False,
) -> None:
    pass


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and leave the process with its exit code."""
    from pdual.cli import failure, streams

    given = list(sys.argv[1:] if arguments is None else arguments)
    with streams.prepared():
        try:
            code = perform(given)
            sys.stdout.flush()
        except BrokenPipeError:
            # Whoever read our output has gone (`pdual explain x | head`): nothing more can be said.
            streams.give_up()
            code = streams.READER_GONE
        except OSError as error:
            if not streams.of_output(error):
                raise
            streams.give_up()
            code = failure.unsaid(error, given)
    sys.exit(code)


def perform(arguments: Sequence[str]) -> int:
    """Run a command; mistakes become diagnostics, anything unforeseen a bug report. Returns the exit code."""
    from pdual.cli import failure, output, streams
    from pdual.dsl.diagnostics import Refusal

    try:
        command = typer.main.get_command(app)
        with command.make_context("pdual", list(arguments) or ["--help"]) as context:
            returned = command.invoke(context)
        return returned if isinstance(returned, int) else output.FINE
    except typer.Exit as end:
        return end.exit_code
    except Refusal as refusal:
        return failure.refused(refusal, arguments)
    except (KeyboardInterrupt, typer.Abort):
        return failure.interrupted(arguments)
    except Exception as error:
        if isinstance(error, BrokenPipeError) or (isinstance(error, OSError) and streams.of_output(error)):
            raise
        if isinstance(
            error, OSError
        ):  # of a path that was given, a disk, a limit of the system: never of pdual's own making
            return failure.of_system(error, arguments)
        if isinstance(error, USAGE_ERROR):
            return failure.misused(error, arguments)
        return failure.broken(error, arguments)
