"""``pdual fmt``: specs in their one layout. A file is replaced at once or not at all."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pdual.cli.options import JsonOption
from pdual.cli.say import say, write
from pdual.dsl.record import record
from pdual.dsl.visible import visible_lines

if TYPE_CHECKING:
    from pdual.dsl.diagnostics import Diagnostic
    from pdual.dsl.spans import Source

STANDARD_INPUT = "-"


@record(frozen=True, slots=True)
class Layout:
    """A spec and its layout; ``text`` is None where there is none."""

    name: str
    path: Path | None = None
    source: Source | None = None
    text: str | None = None
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether the layout is another than the file's."""
        return self.source is not None and self.text is not None and self.text != self.source.text


def fmt(
    specs: Annotated[
        list[str],
        typer.Argument(
            metavar="SPEC...", help=".pdual files, folders of them, or - for standard input.", show_default=False
        ),
    ],
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit with 1 where a file would change.")
    ] = False,
    diff: Annotated[bool, typer.Option("--diff", help="Write nothing; print what would change.")] = False,
    json: JsonOption = False,
) -> int:
    """Lay specs out in the one canonical way; comments are kept, and what a spec says."""
    from pdual.cli import output

    if STANDARD_INPUT in specs and len(specs) > 1:
        raise typer.BadParameter("`-` stands for standard input and is given alone")
    # All layouts before the first file is written: a bug in one of them leaves every file as it is.
    layouts = _once(layout for argument in specs for layout in _layouts(argument))
    if not (check or diff):
        layouts = [_written(layout) for layout in layouts]
    found = [item for layout in layouts for item in layout.diagnostics]
    changed = [layout for layout in layouts if layout.changed]
    code = output.exit_code(found) or int(check and bool(changed))
    if json:
        output.document("fmt", code, (), None, specs=[_as_json(layout, diff) for layout in layouts])
        return code
    only = specs == [STANDARD_INPUT]
    # Standard output is the text or the diff alone, where there is one.
    said = sys.stderr if diff or only else sys.stdout
    for layout in layouts:
        output.show(layout.diagnostics, layout.source, said)
    if diff:
        for layout in changed:
            sys.stdout.write(visible_lines("".join(_diff(layout))))
    elif only and not check:
        write(layouts[0].text or "", sys.stdout)
        return code
    verb = "would format" if check or diff else "formatted"
    for layout in changed:
        say(f"{verb} {layout.name}", file=said)
    noun = "spec" if len(layouts) == 1 else "specs"
    mistakes = f": {output.summary(found)}" if found else ""
    say(f"{verb} {len(changed)} of {len(layouts)} {noun}{mistakes}", file=said)
    return code


def _layouts(argument: str) -> Iterator[Layout]:
    """The layouts of what an argument names."""
    from pdual.dsl.diagnostics import Refusal
    from pdual.finding import from_input, named_files, read

    if argument == STANDARD_INPUT:
        yield _layout(STANDARD_INPUT, None, from_input())
        return
    try:
        files = named_files(argument)
    except Refusal as refusal:
        yield Layout(argument, diagnostics=refusal.diagnostics)
        return
    for path in files:
        try:
            source = read(path, str(path))
        except Refusal as refusal:
            yield Layout(str(path), diagnostics=refusal.diagnostics)
            continue
        yield _layout(str(path), path, source)


def _once(layouts: Iterable[Layout]) -> list[Layout]:
    """Layouts without those of files that were named before."""
    found: dict[object, Layout] = {}
    for layout in layouts:
        found.setdefault(layout.name if layout.path is None else layout.path.resolve(), layout)
    return list(found.values())


def _layout(name: str, path: Path | None, source: Source) -> Layout:
    from pdual.dsl.formatting.layout import formatted

    text, found = formatted(source)
    return Layout(name, path, source, text, found)


def _written(layout: Layout) -> Layout:
    """The layout, after it was written where it is another."""
    from pdual.dsl.diagnostics import diagnostic

    if layout.path is None or layout.text is None or not layout.changed:
        return layout
    try:
        _replace(layout.path.resolve(), layout.text)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        found = diagnostic("PD713", file=layout.name, reason=reason)
        return Layout(layout.name, layout.path, diagnostics=(found,))
    return layout


def _replace(path: Path, text: str) -> None:
    """Write a file beside and rename it, with the mode of the one it replaces. Raises OSError."""
    if not os.access(path, os.W_OK):
        raise PermissionError(13, "permission denied")
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_bytes(text.encode("utf-8"))
        beside.chmod(stat.S_IMODE(path.stat().st_mode))
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def _diff(layout: Layout) -> Iterator[str]:
    """A unified diff; a last line without a line break is marked as one."""
    from difflib import unified_diff
    from io import StringIO

    assert layout.source is not None
    assert layout.text is not None
    before, after = (list(StringIO(text, newline="\n")) for text in (layout.source.text, layout.text))
    for line in unified_diff(before, after, layout.name, layout.name):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _as_json(layout: Layout, diff: bool) -> dict[str, Any]:
    from pdual.dsl.printer import as_json

    found = {
        "spec": layout.name,
        "changed": layout.changed,
        "diagnostics": [as_json(item, layout.source) for item in layout.diagnostics],
    }
    if diff:
        found["diff"] = "".join(_diff(layout)) if layout.changed else ""
    if layout.name == STANDARD_INPUT:
        found["text"] = layout.text
    return found
