"""``tofu``: questions and answers about invented authors, split by split."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from pdual.dsl.declarations.beside import ModelName, OwnName
from pdual.dsl.declarations.references import Settings
from pdual.dsl.declarations.sample import Sample
from pdual.dsl.declarations.source import Offer, SourceDeclaration, SourceRole
from pdual.dsl.types import TEXT

TOFU_PUBLISHER = "https://huggingface.co/datasets/locuslab/TOFU"

_SHARES = {"forget": ("01", "05", "10"), "retain": ("99", "95", "90"), "holdout": ("01", "05", "10")}
_PERTURBED = (*(f"forget{share}_perturbed" for share in _SHARES["forget"]), "retain_perturbed")
_CHOICES = ("real_authors", "world_facts")

#: Every split that is published.
TOFU_SPLITS = (
    "full",
    *(f"{name}{share}" for name, shares in _SHARES.items() for share in shares),
    *_PERTURBED,
    *_CHOICES,
    *(f"{name}_perturbed" for name in _CHOICES),
    "idontknow",
)

#: The splits of which a sample has rows, and the files that hold them.
TOFU_SAMPLED: Mapping[str, tuple[str, ...]] = {
    "full": ("retain_perturbed", "forget01_perturbed"),
    **{f"forget{share}": ("forget01_perturbed",) for share in _SHARES["forget"]},
    **{f"retain{share}": ("retain_perturbed",) for share in _SHARES["retain"]},
    **{f"holdout{share}": ("holdout01",) for share in _SHARES["holdout"]},
    **{f"forget{share}_perturbed": ("forget01_perturbed",) for share in _SHARES["forget"]},
    **{name: (name,) for name in ("retain_perturbed", *(f"{choice}_perturbed" for choice in _CHOICES), "idontknow")},
}


class TofuSettings(Settings):
    """``tofu("retain90", rows = 256)``: one split of TOFU; ``rows`` of it, drawn with ``seed``, all where it is not given.

    ``without`` names another split, whose rows are left out: ``tofu("forget10", without = "forget01")``; empty: none.

    For the rows that are forgotten: ``suite`` is how many rows of each set the benchmark's own measures are taken on at the end
    of a run (0: they are not taken). ``retained`` names a model that never saw these rows, which privacy is measured against;
    ``closeness`` how: 1 - |AUC - AUC of that model| over that AUC (``retained``), or over the larger of it and 1 - it
    (``larger``). Answers are generated up to ``longest`` tokens.
    """

    split: OwnName = Field(min_length=1)
    rows: int | None = Field(None, ge=1)
    seed: int = Field(0, ge=0)
    without: OwnName = ""
    suite: int = Field(0, ge=0)
    retained: ModelName = ""
    closeness: Literal["retained", "larger"] = "retained"
    longest: int = Field(200, ge=1)


def _offer(settings: Settings) -> Offer:
    assert isinstance(settings, TofuSettings)
    names: tuple[str, ...] = ("question", "answer")
    if settings.split == "idontknow":
        names = ("answer",)
    elif settings.split in _PERTURBED:
        names = (*names, "paraphrased_question", "paraphrased_answer")
    elif settings.split in _CHOICES:
        names = (*names, *(f"option{place}" for place in range(1, 5)))
    return Offer(fields=tuple((name, TEXT) for name in names))


def _unknown_rows(settings: Settings) -> None:
    return None


def _whole(settings: Settings) -> str:
    assert isinstance(settings, TofuSettings)
    splits = [split for split in (settings.split, settings.without) if split]
    files = " and ".join(f"`{split}.jsonl`" for split in splits)
    return (
        f"run it without `--quick` where a network is, once; or put {files} of {TOFU_PUBLISHER} into `$PDUAL_DATA/tofu`, "
        "where `PDUAL_DATA` names a folder of yours"
    )


def _covers(settings: Settings) -> bool:
    """Where rows are left that are in no split that is left out."""
    assert isinstance(settings, TofuSettings)
    if settings.split not in TOFU_SAMPLED or (settings.without and settings.without not in TOFU_SAMPLED):
        return False
    return not settings.without or not {*TOFU_SAMPLED[settings.split]} <= {*TOFU_SAMPLED[settings.without]}


TOFU = SourceDeclaration(
    name="tofu",
    role=SourceRole.DATA,
    summary="TOFU: questions and answers about 200 invented authors",
    settings=TofuSettings,
    positional=("split",),
    offer=_offer,
    rows=_unknown_rows,
    builder="pdual.packs.language.sources.tofu:build",
    takes_files=True,
    sample=Sample(
        words="168 of the 4,000 rows of TOFU, of which 40 are to be forgotten and 128 to be kept",
        whole=_whole,
        covers=_covers,
        present="pdual.packs.language.sources.files:present",
        builder="pdual.packs.language.sources.tofu:build_sample",
        steps=1000,
    ),
)
