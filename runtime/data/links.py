"""Links that a spec names: a spec reads what lies in its folder, wherever the links in it lead. Imports no torch."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from pdual.dsl import typed
from pdual.dsl.declarations.beside import Start, elsewhere
from pdual.dsl.diagnostics import Refusal, diagnostic
from pdual.runtime.data.context import SourceContext


def check_links(spec: typed.TypedSpec, context: SourceContext) -> None:
    """Refuse every file and folder that the spec itself names and that leads out of its folder by a link.

    What ``--data`` names is the user's, and so is what ``--set`` hands in: that is not among the files of a spec. Of a folder, what
    lies in it is looked at too. Raises a Refusal with PD260.
    """
    found = []
    bound = [data.span for data in spec.data if data.name in context.files]
    for file in spec.files:
        if file.marker.replaced and any(span.start <= file.span.start < span.end for span in bound):
            continue
        target = next(
            (target for place in _places(file, context.folder) if (target := _out(place, context.folder))), None
        )
        if target is not None:
            reason = elsewhere(file.value, file.marker.way, target)
            found.append(diagnostic("PD260", file.span, name=file.name, owner=file.owner, reason=reason))
    if found:
        raise Refusal(found)


def _places(file: typed.NamedFile, folder: Path) -> Iterator[Path]:
    """Where a file would be opened."""
    if file.marker.start is Start.SPEC:
        yield from (folder / f"{file.value}{ending}" for ending in file.marker.endings)
    elif file.marker.start is Start.CURRENT and Path(file.value).is_dir():
        yield Path(file.value)


def _out(place: Path, folder: Path) -> Path | None:
    """Where a place leads to outside the folder; None where it stays inside, or is not there."""
    inside = [place]
    for parent, folders, files in os.walk(place):  # links are not followed: each is looked at by itself
        inside += [Path(parent, name) for name in (*folders, *files)]
    for item in inside:
        try:
            target = item.resolve(strict=True)
        except (OSError, RuntimeError):  # it is not there, or leads in a circle: nothing can be read
            continue
        if not target.is_relative_to(folder.resolve()):
            return target
    return None
