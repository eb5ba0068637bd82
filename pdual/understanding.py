"""The front door of every command: text to IR through known structure, with every mistake on the way. No torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pdual.compiler.compile import lower
from pdual.compiler.graph import Graph
from pdual.dsl import typed
from pdual.dsl.catalogue import errors_in
from pdual.dsl.checking.averages import holds_averages
from pdual.dsl.checking.dual_values import is_held
from pdual.dsl.declarations.registry import held_kinds, sources
from pdual.dsl.declarations.source import BOUND_NAME
from pdual.dsl.diagnostics import Diagnostic, Refusal, refuse
from pdual.dsl.garbage import few_collections
from pdual.dsl.near import nearest
from pdual.dsl.pipeline import read
from pdual.dsl.spans import Source
from pdual.runtime.data.builders import load_knowns
from pdual.runtime.data.context import SourceContext
from pdual.runtime.data.links import check_links

#: Every family, in ``dual`` overrides.
ALL = "*"


@dataclass(frozen=True)
class Understood:
    """How far a spec came: ``spec`` is None where it is wrong, ``graph`` where its structure or ranges are."""

    source: Source
    spec: typed.TypedSpec | None
    graph: Graph | None
    diagnostics: tuple[Diagnostic, ...]

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """What stops a run."""
        return errors_in(self.diagnostics)

    def refuse(self) -> None:
        """Raise a Refusal where there is an error."""
        if self.errors:
            raise Refusal(self.diagnostics)


@few_collections()
def understand(
    source: Source,
    overrides: Mapping[str, str] | None = None,
    dual: Mapping[str, str] | None = None,
    minimize: bool = True,
    context: SourceContext | None = None,
) -> Understood:
    """Read, check, load what is known, lower.

    ``overrides``: values of parameters (``--set``). ``dual``: kind by family, ``"*"`` for all (``--dual``).
    ``minimize`` false drops the objective; ``context`` has the files of ``--data``. Mistakes come back as diagnostics; nothing is raised for them.
    """
    spec, found = read(source, overrides or {})
    if spec is None or errors_in(found):
        return Understood(source, None, None, found)
    try:
        check_duals(dual or {}, spec)
        context = context or SourceContext()
        check_links(spec, context)
        knowns = load_knowns(spec, context)
        graph, more = lower(spec, knowns, dual or {}, minimize)
    except Refusal as refusal:
        return Understood(source, spec, None, (*found, *refusal.diagnostics))
    return Understood(source, spec, graph, (*found, *more))


def check_duals(dual: Mapping[str, str], spec: typed.TypedSpec) -> None:
    """Refuse overrides of unknown kinds (PD705), of families that are not there (PD706), and tables or networks for an average (PD738)."""
    families = [family.name for block in spec.blocks for family in block.families]
    averages = [average.name for average in spec.averages]
    families += averages
    for family, kind in dual.items():
        if not is_held(kind):
            kinds = ", ".join(f"`{item}`" for item in held_kinds())
            raise refuse("PD705", kind=kind, kinds=kinds, near=nearest(kind, held_kinds()))
        if family != ALL and family not in families:
            names = ", ".join(f"`{name}`" for name in families) or None
            raise refuse("PD706", family=family, families=names, near=nearest(family, families))
        if family in averages and not holds_averages(kind):
            raise refuse("PD738", family=family, kind=kind)


def check_data(files: Mapping[str, Path], spec: typed.TypedSpec) -> None:
    """Refuse files for data sets that are not there (PD707), that read no files (PD718), and files that are not there (PD708)."""
    names = [data.name for data in spec.data]
    known = sources()
    for name, file in files.items():
        if name not in names:
            shown = ", ".join(f"`{item}`" for item in names) or None
            raise refuse("PD707", name=name, names=shown, near=nearest(name, names))
        source = spec.data_set(name).source
        if source is not None and not known[source].takes_files:
            takers = ", ".join(f"`{item}`" for item in sorted(known) if known[item].takes_files and item != BOUND_NAME)
            own = "yes" if "file" in known[source].settings.model_fields else None
            raise refuse("PD718", spec.data_set(name).span, name=name, source=source, takers=takers, own=own)
        if not _exists(file):
            beside = {item.name: item for item in file.parent.glob("*")}
            near = nearest(file.name, beside)
            raise refuse("PD708", file=file, name=name, near=None if near is None else beside[near])


def _exists(file: Path) -> bool:
    """Whether it is there; what the system cannot have as a name is not."""
    try:
        return file.exists()
    except (OSError, ValueError):
        return False
