"""What a comparison came to: a table of results, one by constraint, and two of multipliers; for people and as JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Any

from pdual.cli.recoveries import NONE, Number, multipliers, spread
from pdual.comparing import SPLIT, Comparison, Ended
from pdual.explaining.render import table

if TYPE_CHECKING:
    from pdual.runtime.storage.records import SplitMetrics, ViolationMetrics

#: The numbers of a trial that a table shows.
Reading = Callable[[Ended], "SplitMetrics"]


def lines(comparison: Comparison) -> Iterator[str]:
    """Every table, of the test split, or of the train rows where there is none."""
    from pdual.runtime.problem.samples import sentences

    yield from sentences({name: item for trial in comparison.ended for name, item in trial.metrics.samples.items()})
    yield f"{comparison.problem}: {_split(comparison)} rows, {_runs(comparison)}"
    for title, read in _readings(comparison).items():
        yield ""
        yield from [f"after {title}"] if title else []
        yield from table(_results(comparison, read))
        yield ""
        yield f"mean and largest violation by constraint{f', after {title}' if title else ''}"
        yield from table(_constraints(comparison, read))
    for title, tables in multipliers(comparison, _split(comparison)):
        yield ""
        yield title
        yield from table(tables)


def as_json(comparison: Comparison) -> dict[str, Any]:
    """The content of the JSON document of ``compare``."""
    return {
        "problem": comparison.problem,
        "trials": [
            {
                "dual": item.trial.dual,
                "seed": item.trial.seed,
                "folder": str(item.trial.folder),
                "metrics": item.metrics.model_dump(mode="json", by_alias=True),
                "recovery": {name: scores.model_dump(mode="json") for name, scores in item.recovery.items()},
            }
            for item in comparison.ended
        ],
    }


def _runs(comparison: Comparison) -> str:
    seeds = len({item.trial.seed for item in comparison.ended})
    return "one seed" if seeds == 1 else f"mean ± standard deviation over {seeds} seeds"


def _split(comparison: Comparison) -> str:
    return SPLIT if all(SPLIT in item.metrics.splits for item in comparison.ended) else "train"


def _readings(comparison: Comparison) -> dict[str, Reading]:
    """The split as it was measured (under no name), and each evaluation of it that gives violations of its own."""
    from pdual.runtime.storage.records import SplitMetrics

    split = _split(comparison)

    def evaluated(name: str) -> Reading:
        def read(item: Ended) -> SplitMetrics:
            scores = item.metrics.splits[split].evaluations[name]
            kept = {key: scores[key] for key in ("rows", "objective", "metrics", "violation", "families")}
            return SplitMetrics.model_validate({**kept, "rows_at_cap": None})

        return read

    every = [item.metrics.splits[split].evaluations for item in comparison.ended]
    names = [name for name, scores in every[0].items() if "violation" in scores and all(name in x for x in every)]
    return {"": lambda item: item.metrics.splits[split], **{name: evaluated(name) for name in names}}


def _results(comparison: Comparison, read: Reading) -> list[list[str]]:
    names = list(dict.fromkeys(name for item in comparison.ended for name in read(item).metrics))
    head = ["dual", "objective", *names, *(f"{name}, sd" for name in names)]
    head += ["violation", "above 1e-4", "by group", "largest of a row", "P95", "equalities, largest", "rows met", "s"]
    rows = [_result(dual, comparison.of(dual), read, names, comparison.families) for dual in comparison.duals]
    kept = [place for place in range(len(head)) if any(row[place] != NONE for row in rows)]
    return [[row[place] for place in kept] for row in (head, *rows)]


def _result(
    dual: str, trials: Sequence[Ended], read: Reading, names: Sequence[str], families: Sequence[str] | None
) -> list[str]:
    def each(number: Callable[[SplitMetrics], Number], digits: str = ".4g") -> str:
        return spread([number(read(item)) for item in trials], digits)

    def inequality(number: Callable[[ViolationMetrics], float]) -> str:
        return each(lambda found: number(limits) if (limits := _inequalities(found)) is not None else None)

    return [
        dual,
        each(lambda found: found.objective, ".6g"),
        *(each(lambda found, name=name: found.metrics[name].mean) for name in names),  # type: ignore[misc]
        *(each(lambda found, name=name: found.metrics[name].std) for name in names),  # type: ignore[misc]
        inequality(lambda limits: limits.mean.mean),
        inequality(lambda limits: limits.mean_above.mean),
        each(lambda numbers: _by_group(numbers, families)),
        inequality(lambda limits: limits.max.mean),
        inequality(lambda limits: limits.max.p95),
        each(lambda found: _equalities(found)),
        each(lambda found: found.violation.feasible_rows if found.violation is not None else None),
        spread([item.metrics.timing.total_s for item in trials], ".0f"),
    ]


def _by_group(metrics: SplitMetrics, families: Sequence[str] | None) -> Number:
    """The mean over groups of the mean over entries above the tolerance: as the literature on optimal power flow has it."""
    groups = metrics.violation.groups if metrics.violation is not None else {}
    kept = [mean for name, mean in groups.items() if families is None or name.split(".")[0] in families]
    return fmean(kept) if kept else None


def _inequalities(metrics: SplitMetrics) -> ViolationMetrics | None:
    return metrics.violation.inequalities if metrics.violation is not None else None


def _equalities(metrics: SplitMetrics) -> Number:
    if metrics.violation is None or metrics.violation.equalities is None:
        return None
    return metrics.violation.equalities.max.mean


def _constraints(comparison: Comparison, read: Reading) -> list[list[str]]:
    families = list(dict.fromkeys(name for item in comparison.ended for name in read(item).families))
    rows = [["constraint", "unit", *comparison.duals]]
    for family in families:
        cells, unit = [], ""
        for dual in comparison.duals:
            there = [own for item in comparison.of(dual) if (own := read(item).families.get(family)) is not None]
            unit = there[0].unit if there else unit
            pair = (spread([x.mean for x in there], ".2g"), spread([x.max for x in there], ".2g"))
            cells.append(", ".join(pair) if there else NONE)
        rows.append([family, unit, *cells])
    return rows
