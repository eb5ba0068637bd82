"""Rows that are images: those with the largest and the smallest multipliers."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from pdual.dsl.types import ArrayType, MemberOf
from pdual.runtime.drawings.drawing import Drawing, Picture, RowsToDraw

#: Images of either end.
SHOWN = 8


def draw(rows: RowsToDraw) -> Sequence[Drawing]:
    """Two lines of images, above each its label and the sum of its multipliers."""
    from matplotlib.figure import Figure

    name = next(
        field.name for field in rows.data.fields if isinstance(field.type, ArrayType) and len(field.type.axes) == 3
    )
    shown = min(SHOWN, len(rows.ids))
    ends = {"largest": rows.ranked[:shown], "smallest": rows.ranked[::-1][:shown]}
    figure = Figure(figsize=(1.05 * shown, 3.1), layout="constrained")
    axes = figure.subplots(2, shown, squeeze=False)
    for line, (title, places) in enumerate(ends.items()):
        ids = rows.ids[torch.tensor(places, dtype=torch.long, device=rows.ids.device)]
        values = rows.table.batch(ids).values
        images = values[name]
        assert isinstance(images, Tensor)
        labels = _labels(rows, values)
        for n, place in enumerate(places):
            own = axes[line, n]
            own.imshow(images[n].cpu().double().mean(0).numpy(), cmap="gray_r", interpolation="nearest")
            own.set_xticks([])
            own.set_yticks([])
            own.set_title(f"{labels[n]}\n{float(rows.price[place]):.3g}".strip(), fontsize=8)
            own.set_xlabel(f"row {rows.address(place)}", fontsize=7)
        axes[line, 0].set_ylabel(title, fontsize=8)
    ranges = {title: [float(rows.price[place]) for place in places] for title, places in ends.items()}
    words = (
        f"{rows.split} images by the sum of their multipliers, scaled: the {shown} largest, from {ranges['largest'][0]:.3g} to "
        f"{ranges['largest'][-1]:.3g} (rows {', '.join(rows.address(place) for place in ends['largest'])}), and the {shown} smallest, from "
        f"{ranges['smallest'][0]:.3g} to {ranges['smallest'][-1]:.3g}. Above each stand its label and the sum."
    )
    return [Picture("Images with the largest and smallest multipliers", figure, words)]


def _labels(rows: RowsToDraw, values: object) -> list[str]:
    """The members of index sets among the fields of a row, as the sets call them."""
    assert isinstance(values, dict)
    sets = {item.name: item.labels for item in rows.graph.spec.sets}
    found = [""] * len(next(iter(values.values())))
    for field in rows.data.fields:
        if isinstance(field.type, ArrayType) and isinstance(field.type.element, MemberOf) and not field.type.axes:
            labels = sets.get(field.type.element.set)
            for n, member in enumerate(values[field.name].tolist()):
                found[n] = f"{found[n]} {labels[member] if labels else member}".strip()
    return found
