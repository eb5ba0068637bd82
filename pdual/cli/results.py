"""What a run came to: verdict, a table of every split, expectations, time; for people and as JSON."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from pdual.dsl.diagnostics import Diagnostic, diagnostic
from pdual.explaining.render import table
from pdual.explaining.text import number

if TYPE_CHECKING:
    from pdual.runtime.evaluation.expectations import Expectation
    from pdual.runtime.runs.execute import Outcome
    from pdual.runtime.storage.records import AverageMetrics, SplitMetrics
    from pdual.understanding import Understood


def lines(outcome: Outcome) -> Iterator[str]:
    """The end of a run, as it is printed."""
    from pdual.runtime.runs import verdict

    yield from verdict.lines(outcome.verdict)
    yield ""
    splits = outcome.metrics.splits
    columns = [_column(found) for found in splits.values()]
    names = list(dict.fromkeys(name for column in columns for name in column))
    rows = [[name, *(column.get(name, "-") for column in columns)] for name in names]
    yield from table([["", *splits], *rows])
    for item in outcome.expectations:
        yield f"expected {item.name}: {relation(item)}{'' if item.holds else ', which does not hold'}"
    timing = outcome.metrics.timing
    yield ""
    spent = f"{timing.total_s:.1f} s, {timing.cpu_s:.1f} s of CPU"
    yield f"{outcome.metrics.status} after {timing.outer} outer iterations: {spent}"
    yield f"run folder: {outcome.folder.path}"
    yield f"to look at it: pdual report {shlex.quote(str(outcome.folder.path))}"


def _column(metrics: SplitMetrics) -> dict[str, str]:
    """One split: what is measured, and its value in words."""
    column = {"rows": f"{metrics.rows:,}"}
    if metrics.objective is not None:
        column["objective"] = f"{metrics.objective:.6g}"
    for name, summary in metrics.metrics.items():
        column[name] = f"{summary.mean:.4g} ± {summary.std:.2g}"
    for name, average in metrics.averages.items():
        column |= _average(name, average)
    violation = metrics.violation
    if violation is not None:
        apart = {"inequalities": violation.inequalities, "equalities": violation.equalities}
        # Inequalities in fractions of their range and equalities in units of their own have no common mean.
        kinds = apart if all(apart.values()) else {"violation": violation}
        for name, item in kinds.items():
            if item is not None:
                column[f"{name}, mean"] = _amount(item.mean.mean, item.unit)
                column[f"{name}, largest of a row"] = _amount(item.max.mean, item.unit)
                column[f"{name}, largest of all"] = _amount(item.max.max, item.unit)
        column["rows that are met"] = f"{violation.feasible_rows:.2%}"
    if metrics.rows_at_cap is not None:
        column["rows at the cap"] = f"{metrics.rows_at_cap:.2%}"
    return column


def _average(name: str, metrics: AverageMetrics) -> dict[str, str]:
    """The means of a constraint on averages, how much it is missed by, and its multiplier."""
    means = ", ".join(f"{value:.6g}" for value in metrics.means)
    column = {f"{name}, mean{'s' * (len(metrics.means) > 1)}": means}
    column[f"{name}, violation"] = _amount(metrics.violation, metrics.unit)
    if metrics.multiplier is not None:
        column[f"{name}, multiplier"] = f"{metrics.multiplier:.4g}"
    return column


def _amount(value: float, unit: str) -> str:
    """A violation: percent of the range where it is a fraction of one."""
    from pdual.runtime.storage.records import RANGE

    if unit == RANGE:
        return f"{value:.3%} of range"
    words = {"1": "", "mixed": " (mixed units)"}
    return f"{value:.3g}{words.get(unit, f' {unit}')}"


def relation(item: Expectation) -> str:
    """``0.008 <= 0.01``, with the values that were found."""
    pairs = zip(item.operators, item.values[1:], strict=True)
    return number(item.values[0]) + "".join(f" {operator} {number(value)}" for operator, value in pairs)


def missed(outcome: Outcome, understood: Understood, quick: bool) -> tuple[Diagnostic, ...]:
    """A diagnostic for every expectation that does not hold, where it stands in the spec: no error after a quick run."""
    assert understood.spec is not None
    code = "PD652" if quick else "PD650"
    spans = {expect.name: expect.span for expect in understood.spec.expects}
    return tuple(
        diagnostic(code, spans[item.name], name=item.name, data=item.data, split=item.split, found=relation(item))
        for item in outcome.expectations
        if not item.holds
    )


def as_json(outcome: Outcome) -> dict[str, Any]:
    """The content of the JSON document of ``run``; ``metrics`` is what ``metrics.json`` holds."""
    return {
        "folder": str(outcome.folder.path),
        "status": outcome.metrics.status,
        "verdict": asdict(outcome.verdict),
        "expectations": [asdict(item) for item in outcome.expectations],
        "metrics": outcome.metrics.model_dump(mode="json", by_alias=True),
    }
