from __future__ import annotations

from pdual.cli.results import _column, relation
from pdual.runtime.evaluation.expectations import Expectation
from pdual.runtime.storage.records import Above, SplitMetrics, SplitViolation, Spread, Summary, ViolationMetrics


def violation(unit: str, **further: ViolationMetrics) -> SplitViolation:
    return SplitViolation(
        unit=unit,
        mean=Spread(mean=0.01, std=0),
        mean_above=Above(mean=0, std=0, threshold=1e-4, entries=0),
        max=Summary(mean=0.02, std=0, median=0, p95=0.1, max=0.3),
        feasible_rows=0.25,
        **further,
    )


def split(found: SplitViolation | None) -> SplitMetrics:
    gap = Summary(mean=-0.04552, std=0.0271, median=0, p95=0, max=0)
    return SplitMetrics(
        rows=1000, objective=8208.5, metrics={"gap": gap}, violation=found, families={}, rows_at_cap=0.5
    )


def test_a_split_in_words():
    assert _column(split(violation("range"))) == {
        "rows": "1,000",
        "objective": "8208.5",
        "gap": "-0.04552 ± 0.027",
        "violation, mean": "1.000% of range",
        "violation, largest of a row": "2.000% of range",
        "violation, largest of all": "30.000% of range",
        "rows that are met": "25.00%",
        "rows at the cap": "50.00%",
    }


def test_units_that_have_no_common_mean_are_told_apart():
    apart = violation("mixed", inequalities=violation("range"), equalities=violation("p.u."))
    column = _column(split(apart))
    assert column["inequalities, mean"] == "1.000% of range"
    assert column["equalities, mean"] == "0.01 p.u."
    assert "violation, mean" not in column
    assert _column(split(violation("mixed")))["violation, mean"] == "0.01 (mixed units)"
    assert _column(split(violation("1")))["violation, mean"] == "0.01"


def test_without_constraints_there_is_no_violation():
    assert not [name for name in _column(split(None)) if "violation" in name]


def test_the_two_sides_of_an_expectation():
    item = Expectation("near", "rows", "test", True, (0.5, 0.123456, 2.0), ("<=", "<"))
    assert relation(item) == "0.5 <= 0.1235 < 2"
