"""Texts: agentic workflows matched with tasks (``flora``)."""

from __future__ import annotations

from pydantic import Field

from pdual.dsl.declarations.beside import FileOrName, OwnName
from pdual.dsl.declarations.references import Settings
from pdual.dsl.declarations.sample import Sample
from pdual.dsl.declarations.source import ANY, Offer, SourceDeclaration, SourceRole
from pdual.dsl.types import BOOL, ArrayType, GraphType, Kind, SetAxis

#: Where FLORA-Bench is published, and its domains.
FLORA_PUBLISHER = "https://huggingface.co/datasets/YuanshuoZhang/FLORA-Bench"
FLORA_DOMAINS = ("Coding-GD", "Coding-AF", "Math-GD", "Math-AF", "Reason-GD", "Reason-AF")
#: The folder of the pairs that a sample is of, which are not FLORA-Bench's.
FLORA_SAMPLED = "Pipelines"
FLORA_ENCODER = "sentence-transformers/all-MiniLM-L6-v2"

_EMBEDDING = ArrayType(Kind.REAL, (SetAxis(ANY),))


class FloraSettings(Settings):
    """``flora("Coding-GD")``: one domain of FLORA-Bench, or of other pairs in its record format.

    ``domain`` names the folder that has ``train.jsonl``, ``val.jsonl`` and ``test.jsonl``. ``encoder``: any model that
    sentence-transformers loads, by name or folder; texts are embedded with it once. ``limit`` bounds the rows of each split.
    ``flip`` turns the labels of that share of the train rows, drawn with ``seed``, to see who notices.
    """

    domain: OwnName = Field(min_length=1)
    encoder: FileOrName = FLORA_ENCODER
    limit: int | None = Field(None, ge=1)
    flip: float = Field(0.0, ge=0, lt=1)
    seed: int = Field(0, ge=0)


def _flora_offer(settings: Settings) -> Offer:
    return Offer(
        fields=(
            ("workflow", GraphType((("node", _EMBEDDING),))),
            ("task", ArrayType(Kind.ID)),
            ("question", _EMBEDDING),
            ("solved", BOOL),
        )
    )


def _unknown_rows(settings: Settings) -> None:
    return None


def _whole(settings: Settings) -> str:
    assert isinstance(settings, FloraSettings)
    where = f"`$PDUAL_DATA/flora/{settings.domain}`, where `PDUAL_DATA` names a folder of yours"
    whose = f" of {FLORA_PUBLISHER}" if settings.domain in FLORA_DOMAINS else ""
    return f"put `train.jsonl`, `val.jsonl` and `test.jsonl`{whose} into {where}"


def _covers(settings: Settings) -> bool:
    """A sample's embeddings are those of the usual encoder."""
    assert isinstance(settings, FloraSettings)
    return settings.domain in (*FLORA_DOMAINS, FLORA_SAMPLED) and settings.encoder == FLORA_ENCODER


FLORA = SourceDeclaration(
    name="flora",
    role=SourceRole.DATA,
    summary="agentic workflows, tasks, and which workflow solves which task, in the record format of FLORA-Bench",
    settings=FloraSettings,
    positional=("domain",),
    offer=_flora_offer,
    rows=_unknown_rows,
    builder="pdual.packs.workflows.sources.flora:build",
    takes_files=True,
    sample=Sample(
        words=(
            "1,500 workflow-task pairs in the format of FLORA-Bench that are not FLORA-Bench's: machine-learning pipelines on "
            "the tables of scikit-learn"
        ),
        whole=_whole,
        covers=_covers,
        present="pdual.packs.workflows.sources.files:present",
        builder="pdual.packs.workflows.sources.flora:build_sample",
        steps=40,
        outer=10,
    ),
)
