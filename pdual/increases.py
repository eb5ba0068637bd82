"""The paper's sensitivity figure: what imposed groups cost over their mean multipliers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pdual.sensitivity import Sensitivity


def draw(sensitivity: Sensitivity, path: Path) -> None:
    """The increases over the mean multipliers, with confidence intervals, the random groups and the noise, as SVG. Raises OSError, PD627."""
    from matplotlib.figure import Figure

    from pdual.reporting.svg import whole
    from pdual.runtime.storage.outputs import write_sealed

    figure = Figure(figsize=(6.0, 3.8), layout="constrained")
    axes = figure.subplots()
    if sensitivity.noise is not None:
        axes.axhspan(
            -2 * sensitivity.noise,
            2 * sensitivity.noise,
            color="#999999",
            alpha=0.25,
            linewidth=0,
            label="re-solve noise, ±2 sd",
        )
    for kind, colour, marker in (("by multiplier", "#0072B2", "o"), ("random", "#D55E00", "s")):
        own = [item for item in sensitivity.groups if item.kind == kind]
        errors = [item.interval or 0.0 for item in own]
        places, heights = [item.multiplier for item in own], [item.increase for item in own]
        axes.errorbar(
            places,
            heights,
            errors,
            fmt=marker,
            color=colour,
            capsize=3,
            label=f"groups {kind}" if kind != "random" else "random groups",
        )
    estimated = sorted(
        (item.multiplier, item.first_order) for item in sensitivity.groups if item.kind == "by multiplier"
    )
    axes.plot(*zip(*estimated, strict=True), color="#009E73", linestyle="--", label="first order, sum of lam g")
    axes.set_xlabel("mean multiplier of the group's rows, scaled")
    axes.set_ylabel("increase of the objective")
    axes.legend(fontsize=8, frameon=False)
    write_sealed(path, whole(figure))
