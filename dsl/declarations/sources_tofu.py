"""``tofu``: questions and answers about invented authors, split by split."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from pdual.dsl.declarations.beside import ModelName, OwnName
from pdual.dsl.declarations.references import Settings
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


TOFU = SourceDeclaration(
    name="tofu",
    role=SourceRole.DATA,
    summary="TOFU: questions and answers about 200 invented authors",
    settings=TofuSettings,
    positional=("split",),
    offer=_offer,
    rows=_unknown_rows,
    builder="pdual.runtime.sources.tofu:build",
)
