"""Where the records of ``flora`` lie: what the command line names, a folder of the user's, or the cache."""

from __future__ import annotations

import gzip
import os
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pdual.dsl.diagnostics import Refusal, refuse
from pdual.dsl.near import nearest
from pdual.dsl.spans import Span
from pdual.packs.workflows.declarations.sources import FLORA_DOMAINS, FLORA_PUBLISHER, FloraSettings
from pdual.runtime.data.cache import cache_root
from pdual.runtime.data.context import SourceContext

SPLITS = ("train", "val", "test")
_ENDINGS = (".jsonl", ".jsonl.gz")
#: Bytes of a line: one pair of a graph and its vectors has some ten thousand.
_LONGEST = 2**26
_UNREADABLE = (OSError, EOFError, zlib.error)


@dataclass(frozen=True, slots=True)
class Found:
    """The files of each split. ``name`` says whose rows they are: that of the folder, whatever the spec asks for."""

    name: str
    folder: Path
    splits: Mapping[str, Sequence[Path]]


def find_records(domain: str, context: SourceContext) -> Found:
    """The files of a domain.

    A file that was named on the command line is all ``train``. Raises PD541 (nothing is there), PD542 (a folder is there and
    lacks files).
    """
    if context.file is not None and not context.file.is_dir():
        folder = Path(os.path.abspath(context.file)).parent
        return Found(f"{folder.name}/{context.file.name}", folder, {"train": [context.file]})
    for folder in _folders(domain, context):
        if folder.is_dir():
            return Found(Path(os.path.abspath(folder)).name, folder, _splits(folder, context.span))
    raise _nowhere(domain, context)


def present(settings: FloraSettings, context: SourceContext) -> bool:
    """Whether a folder of the domain is on this machine, whatever it holds."""
    return any(folder.is_dir() for folder in _folders(settings.domain, context))


def lines_of(file: Path, span: Span) -> Iterator[bytes]:
    """The lines of a file, packed or not. Raises PD533."""
    try:
        with gzip.open(file, "rb") if file.suffix == ".gz" else file.open("rb") as lines:
            number = 0
            while line := lines.readline(_LONGEST + 1):
                number += 1
                if len(line) > _LONGEST:
                    raise refuse("PD533", span, file=file, reason=f"line {number} is longer than {_LONGEST:,} bytes")
                yield line
    except _UNREADABLE as error:
        raise refuse("PD533", span, file=file, reason=str(error) or type(error).__name__) from None


def _folders(domain: str, context: SourceContext) -> Sequence[Path]:
    """Where to look, in order. What the command line names is that or nothing."""
    if context.file is not None:
        inside = context.file / domain
        return [inside if inside.is_dir() else context.file]
    root = os.environ.get("PDUAL_DATA")
    own = [Path(root).expanduser() / "flora" / domain] if root else []
    return [*own, cache_root(context) / "flora" / domain]


def _splits(folder: Path, span: Span) -> Mapping[str, Sequence[Path]]:
    found = {split: files for split in SPLITS if (files := _files(folder, split, span))}
    if "train" not in found:
        raise _lacks(folder, "train.jsonl", span)
    return found


def _files(folder: Path, split: str, span: Span) -> Sequence[Path]:
    """``train.jsonl``, else ``train_1.jsonl``, ``train_2.jsonl`` and so on; each may be packed."""
    for ending in _ENDINGS:
        if (folder / f"{split}{ending}").is_file():
            return [folder / f"{split}{ending}"]
    parts: dict[int, Path] = {}
    for file in sorted(folder.iterdir(), reverse=True):  # of both, the one that is not packed
        if matched := re.fullmatch(rf"{split}_(\d+)\.jsonl(\.gz)?", file.name):
            parts[int(matched[1])] = file
    for number in range(1, max(parts, default=0)):
        if number not in parts:
            raise _lacks(folder, f"{split}_{number}.jsonl", span)
    return [parts[number] for number in sorted(parts)]


def _lacks(folder: Path, file: str, span: Span) -> Refusal:
    """One misspelt file is named, as long as it is not a part that belongs beside it."""
    there = sorted(item.name for item in folder.iterdir())
    shown = ", ".join(f"`{name}`" for name in there[:8]) + (", ..." if len(there) > 8 else "")
    others = [name for name in there if not re.match(rf"({'|'.join(SPLITS)})[._]", name)]
    return refuse("PD542", span, folder=folder, file=file, files=shown or "none", near=nearest(file, others))


def _nowhere(domain: str, context: SourceContext) -> Refusal:
    searched = ", ".join(f"`{folder}`" for folder in _folders(domain, context))
    root = os.environ.get("PDUAL_DATA")
    if root is None:
        searched += ", no other folder, since `PDUAL_DATA` is not set"
    beside = Path(root).expanduser() / "flora" if root else None
    names = [item.name for item in beside.glob("*") if item.is_dir()] if beside is not None else []
    published = domain in FLORA_DOMAINS
    return refuse(
        "PD541", context.span, domain=domain, searched=searched, folder=f"$PDUAL_DATA/flora/{domain}",
        publisher=FLORA_PUBLISHER if published else None,
        near=None if published else nearest(domain, [*names, *FLORA_DOMAINS]),
    )  # fmt: skip
