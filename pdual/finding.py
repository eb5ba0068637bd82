"""From what names a spec to its text: a file, or the name of a shipped spec."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path, PurePath

from pdual.dsl.diagnostics import Refusal, refuse
from pdual.dsl.near import nearest
from pdual.dsl.parser import source as read_source
from pdual.dsl.record import record
from pdual.dsl.spans import Source

SUFFIX = ".pdual"
SHIPPED_FOLDER = "specs"
STANDARD_INPUT = "-"


@record(frozen=True, slots=True)
class Found:
    """A spec's text and the folder that its own file names are relative to."""

    source: Source
    folder: Path


def find(argument: str) -> Found:
    """The spec that an argument names: a file first, else a shipped spec (``opf30``, ``specs/opf30.pdual``); ``-`` is
    standard input, whose own files are relative to the current folder.

    Raises PD701 (no such spec), PD702 (a folder), PD703 (cannot be read).
    """
    if argument == STANDARD_INPUT:
        return Found(from_input(), Path.cwd())
    path = Path(argument).expanduser()
    if _is_file(path):
        return Found(read(path, argument), path.parent)
    shipped = shipped_specs()
    place = shipped.get(_shipped_name(argument) or "")
    if place is not None:
        return Found(read(place, f"{SHIPPED_FOLDER}/{place.name}"), place.parent)
    if path.is_dir():
        raise refuse("PD702", folder=argument, near=_only_spec(path))
    raise _missing(argument, path, shipped)


def named_files(argument: str) -> list[Path]:
    """The files that an argument names to be rewritten: a file, or every spec in a folder and the folders in it.

    Raises PD701 (no such spec), PD712 (a shipped one, by its name).
    """
    path = Path(argument).expanduser()
    if path.is_file():
        return [path]
    if path.is_dir():
        inside = sorted(path.rglob(f"*{SUFFIX}"))
        return [item for item in inside if item.is_file() and not _is_hidden(item.relative_to(path))]
    shipped = shipped_specs()
    if _shipped_name(argument) in shipped:
        raise refuse("PD712", spec=argument)
    raise _missing(argument, path, shipped)


def from_input() -> Source:
    """Standard input as a source called ``-``; what is not UTF-8 is kept and refused by the parser."""
    content = sys.stdin.buffer.read().decode("utf-8", errors="surrogateescape")
    return Source(STANDARD_INPUT, content)


def _is_file(path: Path) -> bool:
    """Whether it is one; a name that the system cannot have (too long, with a zero character) is none. Raises PD703."""
    try:
        return path.is_file()
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise refuse("PD703", file=f"{str(path)[:60]}...", reason=reason) from None


def _is_hidden(path: PurePath) -> bool:
    return any(part.startswith(".") for part in path.parts)


def shipped_specs() -> Mapping[str, Path]:
    """The specs that come with pdual, by name."""
    folder = Path(str(files("pdual.specs")))
    return {place.stem: place for place in sorted(folder.glob(f"*{SUFFIX}"))}


def _shipped_name(argument: str) -> str | None:
    pure = PurePath(argument)
    if len(pure.parts) > 2 or (len(pure.parts) == 2 and pure.parts[0] != SHIPPED_FOLDER):
        return None
    return pure.name.removesuffix(SUFFIX)


def read(path: Path, name: str) -> Source:
    """The text of a file, shown under a name. Raises PD703."""
    try:
        return read_source(path, name)
    except OSError as error:
        raise refuse("PD703", file=name, reason=(error.strerror or str(error)).lower()) from error


def _missing(argument: str, path: Path, shipped: Mapping[str, Path]) -> Refusal:
    beside = {str(path.with_name(item.name)): item.stem for item in path.parent.glob(f"*{SUFFIX}")}
    near = nearest(path.stem, [*beside.values(), *shipped])
    if near is not None:
        near = next((place for place, stem in beside.items() if stem == near), near)
    return refuse("PD701", file=argument, shipped=", ".join(f"`{name}`" for name in shipped), near=near)


def _only_spec(folder: Path) -> str | None:
    """The spec in a folder, where there is exactly one."""
    inside = sorted(folder.glob(f"*{SUFFIX}"))
    return str(inside[0]) if len(inside) == 1 else None
