"""The paper's capacity figure: how near multipliers come to a reference's over how many numbers hold them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pdual.recovering import Capacity
    from pdual.sweeping import Ended


@dataclass(frozen=True)
class Point:
    """Runs of one number of dual ``parameters``, whatever their seeds and data sets."""

    parameters: int
    capacities: tuple[Capacity, ...]


def points(trials: Sequence[Ended], capacities: Mapping[Path, Mapping[str, Capacity]]) -> list[Point]:
    """One for every number of dual parameters, from few to many; runs without capacities are left out."""
    by_parameters: dict[int, list[Capacity]] = {}
    for item in trials:
        own = capacities.get(item.trial.folder, {})
        if item.metrics is not None and own:
            by_parameters.setdefault(item.metrics.multipliers.parameters, []).extend(own.values())
    return [Point(parameters, tuple(own)) for parameters, own in sorted(by_parameters.items())]


def draw(points: Sequence[Point], path: Path) -> None:
    """Ranking (AUC, NDCG) on fitted and unseen rows on the left, approximation and generalisation error on the right; bars are
    standard deviations over runs. SVG. Raises OSError, PD627.
    """
    from matplotlib.figure import Figure

    from pdual.reporting.svg import whole
    from pdual.runtime.storage.outputs import write_sealed

    figure = Figure(figsize=(9.0, 3.6), layout="constrained")
    ranking, errors = figure.subplots(1, 2)
    for score, line in (("auc", "-"), ("ndcg", "--")):
        for rows, colour in (("fitted", "#0072B2"), ("unseen", "#D55E00")):
            _curve(ranking, points, _scored(rows, score), f"{score.upper()}, {rows} rows", colour, line)
    _curve(errors, points, lambda own: own.approximation, "approximation", "#0072B2", "-")
    _curve(errors, points, lambda own: own.generalisation, "generalisation", "#D55E00", "-")
    ranking.set_ylabel("ranking against the reference")
    errors.set_ylabel("mean distance of multipliers, scaled")
    for axes in (ranking, errors):
        axes.set_xscale("log")
        axes.set_xlabel("numbers that hold the multipliers")
        axes.legend(fontsize=8, frameon=False)
    write_sealed(path, whole(figure))


def _scored(rows: str, score: str) -> Callable[[Capacity], float | None]:
    def read(own: Capacity) -> float | None:
        value: float | None = getattr(getattr(own, rows).scores, score)
        return value

    return read


def _curve(
    axes: Axes, points: Sequence[Point], read: Callable[[Capacity], float | None], label: str, colour: str, line: str
) -> None:
    """One number over the points that have it."""
    measured = [(point, [value for own in point.capacities if (value := read(own)) is not None]) for point in points]
    there = [(point.parameters, values) for point, values in measured if values]
    spreads = [stdev(values) if len(values) > 1 else 0.0 for _, values in there]
    axes.errorbar(
        [parameters for parameters, _ in there],
        [fmean(values) for _, values in there],
        spreads,
        color=colour,
        linestyle=line,
        marker="o",
        markersize=4,
        capsize=3,
        label=label,
    )
