"""What a command is about: a spec, or a run and the spec that it ran."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from pdual.dsl.record import record

if TYPE_CHECKING:
    from pdual.dsl.spans import Source
    from pdual.restoring import Restored
    from pdual.understanding import Understood

NONE: Mapping[str, Path] = {}

OptionalSpec: TypeAlias = Annotated[
    str | None,
    typer.Argument(
        metavar="[SPEC]", help="A .pdual file, or the name of a shipped spec; of a run its own.", show_default=False
    ),
]


@record(frozen=True, slots=True)
class SpecOrRun:
    """``run`` is None without one, and where the spec is wrong: ``understood`` then says so. ``folder``: that of the spec."""

    source: Source
    understood: Understood
    run: Restored | None
    folder: Path


def asked(
    spec: str | None,
    sets: Mapping[str, str],
    dual: Mapping[str, str],
    minimize: bool,
    run: Path | None,
    named: Mapping[str, Path] = NONE,
) -> SpecOrRun:
    """The spec as it is asked about; with a run as it was run, and a spec that is named has to be that one.

    Raises PD739 where it is another problem, PD70x where there is no spec, what ``restored`` raises, and a usage error without either.
    """
    from pdual.finding import find
    from pdual.runtime.data.context import SourceContext
    from pdual.understanding import understand

    if run is None:
        if spec is None:
            raise typer.BadParameter("missing argument `SPEC`")
        found = find(spec)
        understood = understand(found.source, sets, dual, minimize, SourceContext(folder=found.folder))
        return SpecOrRun(found.source, understood, None, found.folder)
    from pdual.restoring import restored

    source = None if spec is None else find(spec).source
    whole = restored(run, named=named)
    if source is None and not (sets or dual) and minimize:
        return SpecOrRun(whole.understood.source, whole.understood, whole, whole.context.folder)
    return _checked(spec or str(run), source or whole.understood.source, sets, dual, minimize, whole)


def _checked(
    name: str, source: Source, sets: Mapping[str, str], dual: Mapping[str, str], minimize: bool, whole: Restored
) -> SpecOrRun:
    """What is asked about beside what was run; values that are not given are those of the run."""
    from pdual.compiler.sameness import differs
    from pdual.dsl.diagnostics import refuse
    from pdual.understanding import understand

    before = whole.options
    own = understand(
        source,
        {**before.overrides, **sets},
        {**before.dual, **dual},
        minimize and before.minimize,
        whole.context,
    )
    if own.graph is None or own.errors:
        return SpecOrRun(source, own, None, whole.context.folder)
    subject = differs(own.graph, whole.graph, duals=True)
    if subject is not None:
        raise refuse("PD739", other=name, run=whole.folder.path, subject=subject)
    return SpecOrRun(source, own, whole, whole.context.folder)


def references(paths: Sequence[Path], whole: Restored, named: Mapping[str, Path] = NONE) -> dict[str, Restored]:
    """Other runs of the problem on the same rows, by folder; their objective may be left out. Raises PD739."""
    from pdual.compiler.sameness import differs
    from pdual.dsl.diagnostics import refuse
    from pdual.restoring import restored

    found = {}
    for path in paths:
        other = restored(path, named=named)
        subject = differs(other.graph, whole.graph, objective=other.options.minimize and whole.options.minimize)
        if subject is None and _rows(other) != _rows(whole):
            subject = "the rows"
        if subject is not None:
            raise refuse("PD739", other=path, run=whole.folder.path, subject=subject)
        found[str(path)] = other
    return found


def _rows(run: Restored) -> dict[str, str]:
    """Fingerprints of the data; rows that a limit leaves out are still those of the others."""
    return {name: fingerprint.split("/limit=")[0] for name, fingerprint in run.record.data.items()}
