"""The figures of a report. Lines differ in style as well as in colour."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import cycle
from math import ceil
from typing import TYPE_CHECKING, Any

from pdual.reporting.facts import Curve, RunFacts, Scores
from pdual.runtime.storage.records import RANGE, LogLine

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Okabe and Ito's colours, which people with any colour vision tell apart, but for the yellow.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
STYLES = ("-", "--", "-.", ":")

WIDTH = 7.2


def styles() -> Any:
    """Endless pairs of a colour and a style."""
    return ({"color": colour, "linestyle": style} for colour, style in zip(cycle(COLOURS), cycle(STYLES), strict=False))


def progress(runs: Mapping[str, RunFacts]) -> Figure:
    """Objective, mean and largest violation, and rows that are met, over outer iterations, a line for each run."""
    panels: list[tuple[str, Callable[[LogLine], float | None], bool]] = [
        ("objective", lambda line: sum(line.objective.values()) if line.objective else None, False),
        ("loss", lambda line: line.loss, False),
        ("mean violation", lambda line: line.violation_mean, True),
        ("largest violation", lambda line: line.violation_max, True),
        ("share of rows met", lambda line: line.feasible_rows, False),
        ("mean |multiplier|, scaled", lambda line: line.multiplier, False),
    ]
    if any(line.objective for run in runs.values() for line in run.history):
        panels.pop(1)
    else:
        panels.pop(0)
    figure = _figure(3.6)
    axes = figure.subplots(2, 3).flat
    for own, (title, read, logarithmic) in zip(axes, panels, strict=False):
        for run, style in zip(runs.values(), styles(), strict=False):
            points = [(line.outer, value) for line in run.history if (value := read(line)) is not None]
            if points:
                own.plot(*zip(*points, strict=True), **style, linewidth=1.4)
        _scale(own, logarithmic)
        own.set_title(title, fontsize=9)
        _ticks(own)
        own.set_xlabel("outer iteration", fontsize=7)
    legend = figure.axes[-1]
    for name, style in zip(runs, styles(), strict=False):
        # A name that begins with an underscore would be kept out of the legend.
        legend.plot([], [], label=f" {name}" if name.startswith("_") else name, **style)
    legend.set_axis_off()
    legend.legend(loc="center", frameon=False, fontsize=8, title="run", title_fontsize=8)
    return figure


def multipliers(run: RunFacts) -> Figure:
    """The mean multiplier of every family over outer iterations."""
    figure = _figure(2.8)
    own = figure.subplots()
    for family, style in zip(held(run), styles(), strict=False):
        points = [
            (line.outer, value)
            for line in run.history
            if family in line.families and (value := line.families[family].multiplier) is not None
        ]
        own.plot(*zip(*points, strict=True), label=family, **style, linewidth=1.4)
    own.set_xlabel("outer iteration", fontsize=8)
    own.set_ylabel("mean multiplier, scaled", fontsize=8)
    _ticks(own)
    own.legend(fontsize=7, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def held(run: RunFacts) -> list[str]:
    """The families that have multipliers in the log."""
    names = dict.fromkeys(name for line in run.history for name in line.families)
    return [
        name
        for name in names
        if any(name in line.families and line.families[name].multiplier is not None for line in run.history)
    ]


def profiles(curves: Sequence[Curve]) -> Figure:
    """For every family the share of entries with left - right at most x, a line for each split; right of 0 is violated."""
    families: dict[str, list[Curve]] = {}
    for curve in curves:
        families.setdefault(curve.family, []).append(curve)
    columns = min(3, len(families))
    lines = ceil(len(families) / columns)
    figure = _figure(0.4 + 2.1 * lines)
    panels = figure.subplots(lines, columns, squeeze=False).flat
    splits = list(dict.fromkeys(curve.split for curve in curves))
    looks = dict(zip(splits, styles(), strict=False))
    for own, (family, items) in zip(panels, families.items(), strict=False):
        for item in items:
            shares = [place / (len(item.values) - 1) for place in range(len(item.values))]
            own.plot(item.values, shares, **looks[item.split], linewidth=1.4, label=item.split)
        own.axvline(0.0, color="#555555", linewidth=0.8)
        lowest, highest = _view(items)
        own.set_xlim(lowest, highest)
        own.axvspan(max(0.0, lowest), highest, color="#D55E00", alpha=0.08, linewidth=0)
        own.set_title(family, fontsize=9)
        own.set_xlabel(_unit(items[0]), fontsize=7)
        _ticks(own)
    for own in list(figure.axes)[len(families) :]:
        own.set_axis_off()
    figure.legend(
        *figure.axes[0].get_legend_handles_labels(), fontsize=7, frameon=False, ncols=4, loc="outside lower center"
    )
    return figure


def recovery(scores: Sequence[Scores]) -> Figure:
    """AUC, NDCG and rank correlation of the multipliers, beside those of the margin and the constant, for each split."""
    names = list(dict.fromkeys(item.name for item in scores))
    groups = list(dict.fromkeys((item.data, item.split) for item in scores))
    figure = _figure(2.4)
    panels = figure.subplots(1, 3, squeeze=False).flat
    hatches = ("", "///", "...")
    for own, (title, attribute) in zip(
        panels, {"AUC": "auc", "NDCG": "ndcg", "Spearman": "spearman"}.items(), strict=True
    ):
        for place, (name, colour, hatch) in enumerate(zip(names, COLOURS, hatches, strict=False)):
            values = [
                next((getattr(x, attribute) for x in scores if (x.data, x.split, x.name) == (*group, name)), None)
                or 0.0
                for group in groups
            ]
            at = [n + (place - (len(names) - 1) / 2) * 0.26 for n in range(len(groups))]
            own.bar(at, values, 0.24, color=colour, hatch=hatch, edgecolor="white", linewidth=0, label=name)
        own.set_xticks(range(len(groups)), [split for _, split in groups])
        own.set_title(title, fontsize=9)
        _ticks(own)
    figure.legend(
        *figure.axes[0].get_legend_handles_labels(), fontsize=7, frameon=False, ncols=3, loc="outside lower center"
    )
    return figure


def _view(items: Sequence[Curve]) -> tuple[float, float]:
    """What is shown of the axis: everything but the lowest tenth, where it is far away."""
    ends = [(item.values[len(item.values) // 10], item.values[-1]) for item in items]
    low, high = min(end[0] for end in ends), max(max(end[1] for end in ends), 0.0)
    room = 0.05 * (high - low) or 1.0
    return low - room, high + room


def _figure(height: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(WIDTH, height), layout="constrained")


def _scale(axes: Any, logarithmic: bool) -> None:
    values = [value for line in axes.lines for value in line.get_ydata()]
    if logarithmic and any(value > 0 for value in values):
        axes.set_yscale("log")
    axes.grid(True, color="#dddddd", linewidth=0.5)


def _ticks(axes: Any) -> None:
    """Small numbers, which do not run into each other where the axis is logarithmic."""
    from matplotlib.ticker import LogLocator, NullFormatter

    if axes.get_yscale() == "log":
        axes.yaxis.set_major_locator(LogLocator(numticks=4))
        low, high = axes.get_ylim()
        if high / low > 12:
            axes.yaxis.set_minor_formatter(NullFormatter())
        else:
            axes.yaxis.set_major_formatter("{x:.2g}")
            axes.yaxis.set_minor_locator(LogLocator(subs=(2, 5), numticks=4))
            axes.yaxis.set_minor_formatter("{x:.2g}")
    axes.tick_params(labelsize=7, which="both")
    axes.xaxis.get_offset_text().set_fontsize(7)


def _unit(curve: Curve) -> str:
    words = "|left − right|" if curve.equal else "left − right"
    if curve.unit == RANGE:
        return f"{words}, share of the range"
    return words if curve.unit in ("1", "mixed") else f"{words}, {curve.unit}"
