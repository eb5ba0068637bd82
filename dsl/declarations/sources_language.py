"""Texts: agentic workflows matched with tasks (``flora``), questions about invented authors (``tofu``)."""

from __future__ import annotations

from pydantic import Field

from pdual.dsl.declarations.references import Settings
from pdual.dsl.declarations.source import ANY, Offer, SourceDeclaration, SourceRole
from pdual.dsl.types import BOOL, TEXT, ArrayType, GraphType, Kind, SetAxis

_BUILDER = "pdual.runtime.sources.pending:build"
_EMBEDDING = ArrayType(Kind.REAL, (SetAxis(ANY),))


class FloraSettings(Settings):
    """``flora("Coding-GD")``: one domain of FLORA-Bench."""

    domain: str = Field(min_length=1)


class TofuSettings(Settings):
    """``tofu("retain90", rows = 256)``: one split of TOFU; ``rows`` of it, drawn with ``seed``, all where it is not given."""

    split: str = Field(min_length=1)
    rows: int | None = Field(None, ge=1)
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


def _tofu_offer(settings: Settings) -> Offer:
    return Offer(fields=(("question", TEXT), ("answer", TEXT)))


def _unknown_rows(settings: Settings) -> None:
    return None


FLORA = SourceDeclaration(
    name="flora",
    role=SourceRole.DATA,
    summary="FLORA-Bench: agentic workflows, tasks, and which workflow solves which task",
    settings=FloraSettings,
    positional=("domain",),
    offer=_flora_offer,
    rows=_unknown_rows,
    builder=_BUILDER,
)

TOFU = SourceDeclaration(
    name="tofu",
    role=SourceRole.DATA,
    summary="TOFU: questions and answers about 200 invented authors",
    settings=TofuSettings,
    positional=("split",),
    offer=_tofu_offer,
    rows=_unknown_rows,
    builder=_BUILDER,
)
