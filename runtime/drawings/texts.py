"""Rows that have texts: those with the largest and the smallest multipliers, quoted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from pdual.runtime.drawings.drawing import Drawing, Quotations, RowsToDraw
from pdual.runtime.models.called_rows import calls_on_rows
from pdual.runtime.models.interface import Answers, as_model

#: Rows that are quoted of either end, and characters of a text.
SHOWN, LONGEST = 5, 400


@runtime_checkable
class Quotable(Protocol):
    """A table whose batches hold no texts any more, and which can say them."""

    def quoted(self, ids: Tensor) -> Mapping[str, Sequence[str]]:
        """The texts of some rows by field."""


def draw(rows: RowsToDraw) -> Sequence[Drawing]:
    """Nothing where there is no text. Beside the texts of rows that a language model is asked about stands what it answers; rows
    without multipliers are quoted only for that.
    """
    ranked, whose = rows.ranked, f"{rows.split} rows of {rows.data.name}"
    ends = {
        "Rows with the largest multipliers": ranked[:SHOWN],
        "Rows with the smallest multipliers": ranked[::-1][:SHOWN],
    }
    words = f"{whose} by the sum of their multipliers, scaled"
    if not rows.held:
        ends, words = {"Rows without multipliers": ranked[:SHOWN]}, f"the first {whose}"
    places = list(dict.fromkeys(place for end in ends.values() for place in end))
    ids = rows.ids[torch.tensor(places, dtype=torch.long, device=rows.ids.device)]
    texts, answers = _texts(rows, ids), answered(rows, ids)
    if not texts or not (rows.held or answers):
        return ()
    if answers is not None:
        texts, words = {**texts, **answers.columns}, f"{words}; {answers.note}"
    return [
        Quotations(title, words, tuple(_quoted(rows, place, places.index(place), texts) for place in end))
        for title, end in ends.items()
    ]


def _quoted(
    rows: RowsToDraw, place: int, line: int, columns: Mapping[str, Sequence[str]]
) -> tuple[str, float | None, Mapping[str, str]]:
    price = float(rows.price[place]) if rows.held else None
    return rows.address(place), price, {name: _cut(column[line]) for name, column in columns.items()}


def answered(rows: RowsToDraw, ids: Tensor) -> Answers | None:
    """The answers in words of the only model that has such, on the rows ``ids`` [n]; None where there is none."""
    models = rows.models
    if models is None:
        return None
    calls = calls_on_rows(rows.graph, {rows.data.name: rows.table})
    answers = [as_model(models[called.call.model]).answers(replace(called, ids=ids)) for called in calls]
    in_words = [item for item in answers if item is not None]
    return in_words[0] if len(in_words) == 1 else None


def _texts(rows: RowsToDraw, ids: Tensor) -> Mapping[str, Sequence[str]]:
    if isinstance(rows.table, Quotable):
        return rows.table.quoted(ids)
    values = rows.table.batch(ids).values
    return {
        name: value
        for name, value in values.items()
        if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value)
    }


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
