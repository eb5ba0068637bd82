"""Where the splits of TOFU lie: what the command line names, a folder of the user's, the cache, else their publisher."""

from __future__ import annotations

import gzip
import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from pdual.dsl.diagnostics import Refusal, refuse
from pdual.dsl.near import nearest
from pdual.packs.language.declarations.sources import TOFU_PUBLISHER, TOFU_SAMPLED, TOFU_SPLITS, TofuSettings
from pdual.runtime.data.cache import cache_root, whole_file
from pdual.runtime.data.context import SourceContext
from pdual.runtime.sources.download import ByHand, Published, download

#: The publisher's files end in ``.json`` and hold an object a line; copies are often called ``.jsonl``.
ENDINGS = (".jsonl", ".json")
HUB = "https://huggingface.co/datasets/locuslab/TOFU/resolve/main/"
REFUSALS = "https://raw.githubusercontent.com/locuslab/tofu/main/data/"

#: sha256 of what is published. The ``holdout`` splits are published too; no copy of theirs as it was sent is known here.
CONTENT: Mapping[str, str] = {
    "forget01": "d0047332bd27a489c552659831f4ffff080e2b9b6e063c7c951ac4de9d494a63",
    "forget01_perturbed": "d8d8a80bd25e853b52fad0e3301d86fa4db6bc2b665cd79ea937346186a0944a",
    "forget05": "88542818f98fd6f880ecaea71bc3f3e7a34f959944e5ff1cdef7ea8c5c137173",
    "forget05_perturbed": "7596c863a3f7eafb551a167363826f71a7327f28617a0a533fed06108a50ccdb",
    "forget10": "0044c8c2e70a38be93f62ec6cb1c1cc2a1f55a8df2fb549a4da2da8dde9d92f6",
    "forget10_perturbed": "6fbcb946c57ea1d7b2124cea0e61bf3b5409d1bc10d02368f090109450ed73c7",
    "full": "667baef2f26f781f1328701d8ea54bf25123ff22fb2d98574c96cd991cb54086",
    "idontknow": "eb9a1e32a6f4112088306e1a65d297240f75513dd5223b2acb326454675fd605",
    "real_authors": "5ed86f884ecbefc3a5db0b9dfe84ab3db710690c74d9402c0acc14bc3dd5a4b7",
    "real_authors_perturbed": "a23255383ac75a5fbe5acd57622a03fb9c368954fd7b2428afa152b784d9533a",
    "retain90": "debcf019c41db7b30b62ca6ad41fd8a4bcd29a5b321c21d2961974e308dfca55",
    "retain95": "6625bb8e7e01f27a237bd273b961fcf2fb51568157702acdcd934b13398aa2fc",
    "retain99": "e699ae5fe685996cd7d0a60cbcbeae717e989a2fd0caf00b4d545ba39ccefc61",
    "retain_perturbed": "fc69f33bad70d3dca65920bdb54380039e3e8872dd16bbae20c1a839b99533fb",
    "world_facts": "5547b07340f46755b868a525941341c3d93814b5370ae7fa10143f653a3c7033",
    "world_facts_perturbed": "0e171838040d0ec94b1ce248d891508e85e3b77344370077caa27b61898eb3e1",
}


@dataclass(frozen=True, slots=True)
class Found:
    """The content of a split and where it came from. ``name`` is the file's, without its ending."""

    name: str
    place: Path
    content: bytes


#: Finds a split by its name.
Finder: TypeAlias = Callable[[str, SourceContext], Found]


def find_split(split: str, context: SourceContext) -> Found:
    """A split by its name; a file that the command line names takes its place.

    Raises PD533 (a file cannot be read), PD550 (no such split), PD538 and PD539 (nothing is here and it cannot be downloaded).
    """
    if context.file is not None and not context.file.is_dir():
        return _read(context.file, context)
    place = _place(split, context)
    if place is not None:
        return _read(place, context)
    if split in CONTENT and (context.file is None):
        return _downloaded(split, context)
    raise _nowhere(split, context)


def find_sampled(split: str, context: SourceContext) -> Found:
    """The rows of a split that ship with pdual; KeyError where it has none there."""
    place = Path(__file__).parent.parent / "samples" / "tofu"
    files = [place / f"{name}.jsonl.gz" for name in TOFU_SAMPLED[split]]
    return Found(split, place, b"".join(gzip.decompress(file.read_bytes()) for file in files))


def present(settings: TofuSettings, context: SourceContext) -> bool:
    """Whether the split, and one whose rows are left out, is on this machine."""
    return all(_place(split, context) is not None for split in (settings.split, settings.without) if split)


def _place(split: str, context: SourceContext) -> Path | None:
    places = (folder / f"{split}{ending}" for folder in _folders(context) for ending in ENDINGS)
    return next((place for place in places if place.is_file()), None)


def _read(place: Path, context: SourceContext) -> Found:
    try:
        return Found(place.stem, place, place.read_bytes())
    except OSError as error:
        raise refuse("PD533", context.span, file=place, reason=error.strerror or error) from None


def _folders(context: SourceContext) -> Sequence[Path]:
    if context.file is not None:
        return [context.file]
    root = os.environ.get("PDUAL_DATA")
    own = [Path(root).expanduser() / "tofu"] if root else []
    return [*own, cache_root(context) / "tofu"]


def _downloaded(split: str, context: SourceContext) -> Found:
    """From the publisher and into the cache."""
    url = f"{REFUSALS}{split}.jsonl" if split == "idontknow" else f"{HUB}{split}.json"
    place = cache_root(context) / "tofu" / f"{split}.jsonl"
    by_hand = ByHand(_searched(split, context), f"`{split}.jsonl` of {TOFU_PUBLISHER}", "$PDUAL_DATA/tofu")
    content = download(Published(f"{split}.jsonl", (url,), CONTENT[split]), context, by_hand)
    try:
        with whole_file(place) as file:
            file.write(content)
    except OSError as error:
        context.progress.advance(0, f"warning: nothing can be kept in {place.parent} ({error.strerror})")
    return Found(split, place, content)


def _searched(split: str, context: SourceContext) -> str:
    said = ", ".join(f"`{folder / split}.jsonl`" for folder in _folders(context))
    if context.file is None and not os.environ.get("PDUAL_DATA"):
        said += ", no other folder, since `PDUAL_DATA` is not set"
    return said


def _nowhere(split: str, context: SourceContext) -> Refusal:
    there = [item.stem for folder in _folders(context) if folder.is_dir() for item in sorted(folder.iterdir())]
    published = split in TOFU_SPLITS
    return refuse(
        "PD550", context.span, split=split, searched=_searched(split, context),
        publisher=TOFU_PUBLISHER if published else None, folder="$PDUAL_DATA/tofu" if published else None,
        near=None if published else nearest(split, [*TOFU_SPLITS, *there]),
    )  # fmt: skip


def fingerprint(spec_file: Found) -> str:
    """Which split this is, by its content."""
    return f"{spec_file.name}/{hashlib.sha256(spec_file.content).hexdigest()[:12]}"
