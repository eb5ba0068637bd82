"""A report as one HTML page: no script, no file beside it, nothing fetched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pdual.reporting import figures
from pdual.reporting.facts import RunFacts, Sketch
from pdual.reporting.svg import inlined
from pdual.reporting.tails import CVAR
from pdual.runtime.storage.records import RANGE, SplitMetrics

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NONE = "–"


@dataclass(frozen=True)
class Panel:
    """A figure on the page: its SVG, and the words under it."""

    title: str
    svg: str
    words: str


@dataclass(frozen=True)
class Quoted:
    """Rows that are quoted."""

    title: str
    words: str
    rows: Sequence[tuple[str, float | None, Mapping[str, str]]]


@dataclass(frozen=True)
class Column:
    """Everything about one run, ready to be placed."""

    key: str
    label: str
    run: RunFacts
    numbers: Sequence[tuple[str, Sequence[str]]]
    multipliers: Panel | None
    profiles: Panel | None
    recovery: Panel | None
    drawings: Sequence[Panel | Quoted]


def page(runs: Sequence[RunFacts]) -> str:
    """The page of some runs, side by side where there are several."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("pdual.reporting", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"amount": amount, "counted": counted, "percent": percent, "short": short}
    labels = _labels(runs)
    progress = None
    if any(run.history for run in runs):
        words = "Train rows after every outer iteration; violations in fractions of the feasible range, or in the constraint's own unit."
        shown = dict(zip(labels, runs, strict=True))
        progress = _panel(
            "progress", "Objective and violation over the outer iterations", words, figures.progress(shown)
        )
    template = environment.get_template("report.html.jinja")
    columns = [_column(f"r{place}", label, run) for place, (label, run) in enumerate(zip(labels, runs, strict=True), 1)]
    problems = list(dict.fromkeys(run.record.problem for run in runs))
    return template.render(columns=columns, progress=progress, problems=problems, cvar=CVAR, dash=NONE)


def _labels(runs: Sequence[RunFacts]) -> list[str]:
    """How runs are called: by their folders, and these by as much of their paths as tells them apart."""
    names = [Path(run.name).name for run in runs]
    return names if len(set(names)) == len(names) else [run.name for run in runs]


def _column(key: str, label: str, run: RunFacts) -> Column:
    return Column(
        key=key,
        label=label,
        run=run,
        numbers=_numbers(run.metrics.splits),
        multipliers=_multipliers(key, run),
        profiles=_profiles(key, run),
        recovery=_recovery(key, run),
        drawings=[_drawing(f"{key}-drawing{place}", sketch) for place, sketch in enumerate(run.sketches)],
    )


def _numbers(splits: Mapping[str, SplitMetrics]) -> list[tuple[str, list[str]]]:
    """What is measured of every split, a line each."""
    names = list(dict.fromkeys(name for found in splits.values() for name in found.metrics))
    each = splits.values()
    lines = [("rows", [f"{found.rows:,}" for found in each])]
    lines.append(("objective", [NONE if found.objective is None else f"{found.objective:.6g}" for found in each]))
    for name in names:
        cells = [found.metrics.get(name) for found in each]
        lines.append((name, [NONE if cell is None else f"{cell.mean:.4g} ± {cell.std:.2g}" for cell in cells]))
    averages = list(dict.fromkeys(name for found in splits.values() for name in found.averages))
    for name in averages:
        own = [found.averages.get(name) for found in each]
        means = [NONE if item is None else ", ".join(f"{value:.6g}" for value in item.means) for item in own]
        lines.append((f"{name}: mean", means))
        lines.append(
            (f"{name}: violation", [NONE if item is None else amount(item.violation, item.unit) for item in own])
        )
    met = [NONE if found.violation is None else percent(found.violation.feasible_rows) for found in each]
    capped = [NONE if found.rows_at_cap is None else percent(found.rows_at_cap) for found in each]
    return [*lines, ("rows that are met", met), ("rows at the cap", capped)]


def _multipliers(key: str, run: RunFacts) -> Panel | None:
    families = figures.held(run)
    if not families:
        return None
    last = run.history[-1].families
    ends = ", ".join(
        f"{name} {value:.3g}" for name in families if name in last and (value := last[name].multiplier) is not None
    )
    words = f"Mean over train rows and entries, scaled. In the last outer iteration: {ends}."
    return _panel(f"{key}-multipliers", "Multipliers over time, by family", words, figures.multipliers(run))


def _profiles(key: str, run: RunFacts) -> Panel | None:
    if not run.curves:
        return None
    met = ", ".join(f"{curve.family} on {curve.split} {percent(curve.met)}" for curve in run.curves)
    words = f"Share of entries with left − right at most x; the shaded side is violated. Entries that are met: {met}."
    return _panel(f"{key}-profiles", "Constraint profiles, by family and split", words, figures.profiles(run.curves))


def _recovery(key: str, run: RunFacts) -> Panel | None:
    if not run.recovery:
        return None
    words = (
        "How well multipliers rank those of the reference, over all rows and constraints; read them beside the margin (the residual itself) "
        "and the constant (each constraint's mean on train rows), which learn nothing."
    )
    if run.active_rate is not None:
        words += f" {percent(run.active_rate)} of the reference's multipliers are above 0.001."
    return _panel(f"{key}-recovery", "Recovery of the reference's multipliers", words, figures.recovery(run.recovery))


def _drawing(key: str, sketch: Sketch) -> Panel | Quoted:
    if sketch.figure is None:
        return Quoted(sketch.title, sketch.words, sketch.rows)
    return _panel(key, sketch.title, sketch.words, sketch.figure)


def _panel(key: str, title: str, words: str, figure: Figure) -> Panel:
    return Panel(title, inlined(figure, key, title, words), words)


def amount(value: float, unit: str) -> str:
    """A violation: percent where it is a fraction of the range."""
    return f"{value:.2%}" if unit == RANGE else f"{value:.3g}"


def counted(unit: str) -> str:
    """What an amount is counted in."""
    return {"1": NONE}.get(unit, unit)


def percent(value: float) -> str:
    """A share; one that is neither all nor nothing never looks like it."""
    if 0.9999 < value < 1 or 0 < value < 0.0001:
        return "nearly all" if value > 0.5 else "nearly none"
    return f"{value:.2%}"


def short(value: Any) -> str:
    """A score, or a dash."""
    return NONE if value is None else f"{value:.3f}"
