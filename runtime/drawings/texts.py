"""Rows that have texts: those with the largest and the smallest multipliers, quoted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from pdual.runtime.drawings.drawing import Drawing, Quotations, RowsToDraw

#: Rows that are quoted of either end, and characters of a text.
SHOWN, LONGEST = 5, 400


@runtime_checkable
class Quotable(Protocol):
    """A table whose batches hold no texts any more, and which can say them."""

    def quoted(self, ids: Tensor) -> Mapping[str, Sequence[str]]:
        """The texts of some rows by field."""


def draw(rows: RowsToDraw) -> Sequence[Drawing]:
    """Nothing where there is no text."""
    ranked = rows.ranked
    found = []
    for title, places in (("largest", ranked[:SHOWN]), ("smallest", ranked[::-1][:SHOWN])):
        texts = _texts(rows, places)
        if not texts:
            return ()
        quoted = tuple(
            (rows.address(place), float(rows.price[place]), {name: _cut(column[n]) for name, column in texts.items()})
            for n, place in enumerate(places)
        )
        words = f"{rows.split} rows of {rows.data.name} by the sum of their multipliers, scaled"
        found.append(Quotations(f"Rows with the {title} multipliers", words, quoted))
    return found


def _texts(rows: RowsToDraw, places: Sequence[int]) -> Mapping[str, Sequence[str]]:
    ids = rows.ids[torch.tensor(places, dtype=torch.long, device=rows.ids.device)]
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
