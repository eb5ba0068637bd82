"""The numbers of metrics.json, by hand and against a slow loop over plain Python numbers."""

from __future__ import annotations

import statistics
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from small_problems import part
from torch import nn

from pdual.compiler.layout import Layout, Sense
from pdual.compiler.program import Program
from pdual.runtime.data.features import FeatureCache
from pdual.runtime.evaluation.metrics import Measured, split_metrics, summary
from pdual.runtime.evaluation.result import EvaluationResult
from pdual.runtime.evaluation.violations import Violations
from pdual.runtime.storage.records import SplitMetrics

#: box.upper has a scale and a range, total is in MW; two entries each.
LAYOUT = Layout(
    "d",
    (
        part("box", "upper", 2, scale=(2.0, 4.0), range=(10.0, 20.0)),
        part("box", "lower", 1, scale=(2.0,), range=(10.0,)),
        part("total", sense=Sense.EQUAL, scale=(5.0,), unit="MW"),
    ),
)
CAPS = torch.tensor([3.0, 3.0, 3.0, 3.0], dtype=torch.float64)


def measured(
    residuals: list[list[float]],
    mask: list[list[bool]] | None = None,
    multipliers: list[list[float]] | None = None,
    objective: list[float] | None = None,
    layout: Layout = LAYOUT,
    **metrics: list[float],
) -> Measured:
    def numbers(values: Any) -> torch.Tensor:
        return torch.tensor(values, dtype=torch.float64)

    found = EvaluationResult(
        torch.arange(len(residuals)),
        None if objective is None else numbers(objective),
        numbers(residuals),
        None if mask is None else torch.tensor(mask),
        None if multipliers is None else numbers(multipliers),
        {name: numbers(values) for name, values in metrics.items()},
        FeatureCache(),
    )
    nothing = nn.Identity()
    return Measured(Program("d", layout, 100.0, nothing, nothing, ()), found, Violations.of(found, layout, CAPS))


def test_every_number_of_a_split_by_hand() -> None:
    item = measured(
        [[0.5, -1.0, 0.0, -0.2], [0.0005, 0.1, -1.0, 0.0]],
        multipliers=[[3.0, 0.0, 1.0, -1.0], [0.0, 2.9999, 0.0, -3.0]],
        objective=[1.0, 3.0],
        gap=[0.1, 0.3],
    )
    found = split_metrics([item], 7.0)
    assert found.rows == 2
    assert found.objective == pytest.approx(100 * 2 + 7)
    assert found.metrics["gap"].mean == pytest.approx(0.2)
    assert found.metrics["gap"].std == pytest.approx(0.1)
    # In the unit of each part: 0.5 * 2 / 10, 0.0005 * 2 / 10 and 0.1 * 4 / 20 of the range; 0.2 * 5 = 1 MW.
    box, total = found.families["box"], found.families["total"]
    assert (box.unit, total.unit) == ("range", "MW")
    assert box.mean == pytest.approx((0.1 + 0.0001 + 0.02) / 6)
    assert box.max == pytest.approx(0.1)
    assert box.violated == pytest.approx(2 / 6)  # 0.0005 scaled is within the tolerance
    assert box.mean_violated == pytest.approx((0.1 + 0.02) / 2)
    assert box.at_cap == pytest.approx(2 / 6)  # 2.9999 is as good as 3
    assert box.multiplier == pytest.approx((3 + 1 + 2.9999) / 6)
    assert sorted(box.parts) == ["lower", "upper"]
    assert box.parts["lower"].violated == 0
    assert (total.mean, total.max, total.violated) == (pytest.approx(0.5), pytest.approx(1.0), 0.5)
    assert (total.at_cap, total.multiplier, total.parts) == (0.5, pytest.approx(-2.0), {})
    assert found.rows_at_cap == 1.0
    violation = found.violation
    assert violation is not None
    assert violation.unit == "mixed"
    assert violation.inequalities is not None
    assert violation.equalities is not None
    assert violation.inequalities.unit == "range"
    assert violation.inequalities.mean.mean == pytest.approx((0.1 + 0.0201) / 6)
    # above 1e-4, strictly: 0.1 and 0.02
    assert violation.inequalities.mean_above.entries == pytest.approx(2 / 6)
    assert violation.inequalities.mean_above.mean == pytest.approx(0.06)
    assert violation.inequalities.max.mean == pytest.approx((0.1 + 0.02) / 2)
    assert violation.inequalities.max.p95 == pytest.approx(0.02 + 0.95 * 0.08)
    assert violation.inequalities.feasible_rows == 0
    assert violation.equalities.max.mean == pytest.approx(0.5)
    assert violation.equalities.feasible_rows == 0.5
    assert violation.feasible_rows == 0
    assert violation.groups == {"box": pytest.approx((0.1 + 0.02) / 2)}


def test_masked_entries_are_no_entries() -> None:
    item = measured(
        [[0.5, 9.0, 0.0, 0.0], [0.0, 9.0, 0.0, 9.0]],
        mask=[[True, False, True, True], [True, False, False, False]],
    )
    found = split_metrics([item], None)
    assert found.objective is None
    box, total = found.families["box"], found.families["total"]
    assert box.mean == pytest.approx(0.1 / 3)
    assert (box.parts["upper"].max, box.parts["upper"].violated) == (pytest.approx(0.1), 0.5)
    assert (total.max, total.violated) == (0, 0)
    assert found.violation is not None
    assert found.violation.feasible_rows == 0.5
    assert box.multiplier is None
    assert found.rows_at_cap is None


def test_groups_tell_real_from_imaginary_parts() -> None:
    layout = Layout("d", (part("s", "re.upper"), part("s", "im.lower"), part("s", "im.upper"), part("v", "upper")))
    found = split_metrics([measured([[0.2, 0.0, 0.1, -1.0], [0.4, 0.0005, 0.3, -1.0]], layout=layout)], None)
    assert found.violation is not None
    assert found.violation.groups == {"s.re": pytest.approx(0.3), "s.im": pytest.approx(0.2), "v": 0.0}


def test_what_is_not_a_number_is_violated() -> None:
    found = split_metrics([measured([[float("nan"), -1.0, -1.0, 0.0]])], None)
    assert found.violation is not None
    assert found.violation.feasible_rows == 0
    assert found.families["box"].violated == pytest.approx(1 / 3)


def test_without_constraints_there_is_an_objective_only() -> None:
    found = split_metrics([measured([[], []], objective=[2.0, 4.0], layout=Layout("d", ()))], None)
    assert (found.violation, found.families, found.objective) == (None, {}, 300.0)


def test_a_summary_of_nothing() -> None:
    assert summary(torch.zeros(0)).model_dump() == {"mean": 0.0, "std": 0.0, "median": 0.0, "p95": 0.0, "max": 0.0}


NUMBER = st.floats(-3, 3).map(lambda x: round(x, 3))


@st.composite
def passes(draw: st.DrawFn) -> tuple[list[list[float]], list[list[bool]]]:
    rows = draw(st.integers(1, 5))
    matrix = st.lists(st.lists(NUMBER, min_size=4, max_size=4), min_size=rows, max_size=rows)
    masks = st.lists(st.lists(st.booleans(), min_size=4, max_size=4), min_size=rows, max_size=rows)
    return draw(matrix), draw(masks)


@settings(deadline=None)
@given(drawn=passes())
def test_against_a_loop_over_entries(drawn: tuple[list[list[float]], list[list[bool]]]) -> None:
    residuals, mask = drawn
    found: SplitMetrics = split_metrics([measured(residuals, mask)], None)
    factors = [0.2, 0.2, 0.2, 5.0]
    means, largest, above, violated_rows, live_entries = [], [], [], 0, 0
    by_family: dict[str, list[float]] = {"box": [], "total": []}
    for row, live in zip(residuals, mask, strict=True):
        amounts, violated = [], False
        for column, (value, alive) in enumerate(zip(row, live, strict=True)):
            if not alive:
                continue
            scaled = abs(value) if column == 3 else max(value, 0.0)
            violated |= scaled > 1e-3
            amounts.append(scaled * factors[column])
            by_family["total" if column == 3 else "box"].append(amounts[-1])
        live_entries += len(amounts)
        violated_rows += violated
        if amounts:
            means.append(sum(amounts) / len(amounts))
        largest.append(max(amounts, default=0.0))
        above += [amount for amount in amounts if amount > 1e-4]
    total = found.violation
    assert total is not None
    assert total.mean.mean == pytest.approx(statistics.fmean(means) if means else 0, abs=1e-12)
    assert total.mean.std == pytest.approx(statistics.pstdev(means) if means else 0, abs=1e-9)
    assert total.max.mean == pytest.approx(statistics.fmean(largest), abs=1e-12)
    assert total.max.median == pytest.approx(statistics.median(largest), abs=1e-12)
    assert total.max.max == pytest.approx(max(largest), abs=1e-12)
    assert total.mean_above.mean == pytest.approx(statistics.fmean(above) if above else 0, abs=1e-12)
    assert total.mean_above.entries == pytest.approx(len(above) / max(1, live_entries))
    assert total.feasible_rows == pytest.approx(1 - violated_rows / len(residuals))
    for family, amounts in by_family.items():
        assert found.families[family].mean == pytest.approx(sum(amounts) / max(1, len(amounts)), abs=1e-12)
        assert found.families[family].max == pytest.approx(max(amounts, default=0.0), abs=1e-12)
