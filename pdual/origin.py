"""What a run folder may say itself: where its files lie, if it was made here; nothing of the kind, if it was sent."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pdual.dsl.declarations.beside import is_beside
from pdual.dsl.declarations.registry import FORMULA
from pdual.dsl.diagnostics import refuse
from pdual.runtime.problem.options import RunOptions
from pdual.understanding import ALL

if TYPE_CHECKING:
    from pdual.dsl.typed import TypedSpec
    from pdual.runtime.storage.folder import RunFolder
    from pdual.runtime.storage.records import RunRecord


def asked_of(folder: RunFolder, record: RunRecord, named: Mapping[str, Path]) -> tuple[RunOptions, Path]:
    """The options that a run was begun with, and the folder that its spec's own files are relative to.

    A run that was made here says both itself. One from elsewhere is read as a spec from elsewhere is: its files lie in its folder, or the
    command line names them (``named``: by data set, or by the parameter that holds the name). Raises PD628, PD629, PD704, PD708.
    """
    options = options_of(record)
    _check_named(named, {*record.data, *options.data, *options.overrides})
    overrides = {name: str(named.get(name, value)) for name, value in options.overrides.items()}
    files = {**options.data, **{name: file for name, file in named.items() if name not in overrides}}
    found = replace(options, overrides=overrides, data=files)
    if folder.is_own:
        place = record.asked.folder if record.asked is not None else ""
        return found, Path(place) if place else Path.cwd()
    for name, value in overrides.items():
        if name not in named and not is_beside(value.strip("\"' ")):
            raise refuse("PD629", name=name, file=value)
    inside = folder.path.resolve()
    for name, file in files.items():
        if name not in named and not file.resolve().is_relative_to(inside):
            raise refuse("PD629", name=name, file=file)
    for item in sorted(folder.path.rglob("*")):
        if item.is_symlink() and not item.resolve().is_relative_to(inside):
            raise refuse("PD628", file=item)
    return found, folder.path


def check_sent(spec: TypedSpec, place: Path, named: Mapping[str, Path]) -> None:
    """Refuse a data set of a run from elsewhere whose file was not sent with it. Raises PD629."""
    for file in spec.files:
        data = next((data for data in spec.data if data.span.start <= file.span.start < data.span.end), None)
        missing = file.marker.replaced and not (place / file.value).exists()
        if data is not None and missing and data.name not in named:
            raise refuse("PD629", name=data.name, file=file.value)


def _check_named(named: Mapping[str, Path], known: Set[str]) -> None:
    for name, file in named.items():
        if name not in known:
            expected = "the name of a data set, or of a parameter that holds a file: " + ", ".join(
                f"`{item}`" for item in sorted(known)
            )
            raise refuse("PD704", option="--trained-on", expected=expected, found=name)
        if not file.exists():
            raise refuse("PD708", file=file, name=name)


def options_of(record: RunRecord) -> RunOptions:
    """The options that a record holds. Of one that does not hold them, the kind of its multipliers is taken."""
    asked = record.asked
    shared = {
        "overrides": {name: str(value) for name, value in record.overrides.items()},
        "precision": record.precision,
        "seed": record.seed,
        "threads": record.threads,
        "samples": tuple(record.samples),
    }
    if asked is None:
        dual = {} if "+" in record.dual or record.dual == FORMULA else {ALL: record.dual}
        return RunOptions(dual=dual, **shared)  # type: ignore[arg-type]
    return RunOptions(
        dual=dict(asked.dual),
        minimize=asked.minimize,
        data={name: Path(file) for name, file in asked.data.items()},
        limit=asked.limit,
        quick=asked.quick,
        **shared,  # type: ignore[arg-type]
    )
