"""The verdict at the end of a run: what it says follows from problems whose answer is known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import torch
from small_problems import Free, logged, part, plan, problem, sgd, solved, table
from torch import Tensor

from pdual.compiler.layout import Layout
from pdual.dsl.declarations.solving import SolveSettings
from pdual.runtime.runs.verdict import Advice, Verdict, advise, lines, verdict

LAYOUT = Layout("d", (part("low", range=(2.0,)), part("high")))


def found(
    wanted: list[float],
    cap: float = 100.0,
    test: int = 0,
    outer: int = 60,
    kind: str = "pointwise",
    step: float = 0.2,
    steps: int = 40,
) -> Verdict:
    """min 0.01 x^2 with x >= z ("low") and x <= 2 ("high"), which can both be met where z <= 2; one free x a row."""

    def body(x: Tensor, values: Mapping[str, Tensor]) -> Any:
        return 0.01 * x.square().sum(1), torch.cat([values["z"] - x, x - 2], 1), None

    rows = torch.tensor(wanted, dtype=torch.float64)[:, None]
    settings = SolveSettings(outer=outer, rho=1.0, descent=sgd(step, steps=steps))
    plans = (plan(kind, LAYOUT, cap=cap),)
    run = solved(problem(body, table(rows, test), LAYOUT, plans, Free(len(rows)), settings))
    return verdict(run, {split: run.measure(split) for split in run.splits})


def test_rows_that_can_all_be_met() -> None:
    said = found([1.0, 1.5])
    assert said.feasible
    assert said.feasible_rows == {"train": 1.0}
    assert (said.families, said.at_cap, said.advice) == ((), (), ())
    assert lines(said) == [
        "feasible: every train row is met (tolerance 0.001, scaled)",
        "train: 100.00% of the rows are met",
    ]


def test_a_row_that_cannot_be_met_is_named_and_bought_off_at_its_cap() -> None:
    """z = 4 and x <= 2: both sides are missed by 1, with both multipliers at the cap."""
    said = found([1.0, 4.0], cap=5.0)
    assert not said.feasible
    assert said.feasible_rows == {"train": 0.5}
    low, high = said.families
    assert {(low.family, low.unit, low.address), (high.family, high.unit, high.address)} == {
        ("low", "range", "low[1]"),
        ("high", "1", "high[1]"),
    }
    by_name = {item.family: item for item in said.families}
    assert by_name["low"].worst == pytest.approx(0.5, abs=0.02)  # of a range of 2
    assert by_name["high"].worst == pytest.approx(1.0, abs=0.04)
    assert all(item.violated == 0.5 for item in said.families)
    (cap,) = said.at_cap
    assert (cap.data, cap.rows, cap.share) == ("d", 1, 0.5)
    assert cap.address in ("low[1]", "high[1]")
    assert said.advice == ()  # no cap would help
    words = "\n".join(lines(said))
    assert "1 train row has a multiplier at the cap (50.00%)" in words
    assert "train: low violated in 50.000% of its entries, worst low[1] by " in words


def test_rows_that_were_not_seen() -> None:
    """A free value of an unseen row stays at 0: the train rows are met, that one is not."""
    said = found([1.0, 1.5, 1.0], test=1)
    assert said.feasible
    assert said.feasible_rows == {"train": 1.0, "test": 0.0}
    assert [(item.split, item.family, item.address) for item in said.families] == [("test", "low", "low[2]")]
    assert said.advice == (Advice.OTHER_SPLITS,)


def history(*violations: float) -> list[Any]:
    return [logged(outer, violation) for outer, violation in enumerate(violations)]


@pytest.mark.parametrize(
    ("violations", "grows", "expected"),
    [
        ((1.0, 0.8), True, []),  # too short to tell
        ((1.0,), True, []),
        ((1.0, 0.8, 0.7), True, [Advice.MORE_ITERATIONS]),
        ((1.0, 0.9, 0.8, 0.7, 0.6), True, [Advice.MORE_ITERATIONS]),
        ((3.0, 1.0, 5.0, 4.0, 3.0, 2.0, 1.5, 1.2, 1.1, 0.8), True, [Advice.MORE_ITERATIONS]),  # it settled
        ((1.0, 0.9, 0.8, 0.7, 0.6), False, []),  # multipliers that stand, or are at their cap
        ((1.0, 1.0, 1.0, 1.0, 0.95), True, []),
        ((0.1, 1.0, 0.3), True, []),  # it oscillates
        ((1.0, 0.4, 0.9, 0.8, 0.3), True, []),
        ((0.3, 0.2, 0.7, 0.5, 0.3, 0.1, 0.8, 0.6, 0.5, 0.3, 0.1), True, []),  # and ends low
        # Points that circle what they seek, in steps that are too few, as one run logged them.
        ((0.159, 0.089, 0.189, 0.207, 0.218, 0.27, 0.27, 0.249, 0.242, 0.207, 0.17, 0.146, 0.062), True, []),
        ((9.0, 1.0, 1.0, 1.0, 1.0, 1.0), True, []),  # it fell long ago
        ((float("nan"),) * 5, True, []),
    ],
)
def test_what_would_help(violations: tuple[float, ...], grows: bool, expected: list[Advice]) -> None:
    assert list(advise(history(*violations), False, False, grows)) == expected


def test_what_is_met_needs_no_help() -> None:
    assert advise(history(1.0), True, True, True) == ()
    assert advise(history(1.0), True, False, True) == (Advice.OTHER_SPLITS,)
    assert advise([], False, False, True) == ()


def test_more_iterations_help_where_they_are_advised() -> None:
    early, late = (found([1.0, 1.5], outer=outer, step=0.005, steps=20) for outer in (4, 40))
    assert not early.feasible
    assert early.advice == (Advice.MORE_ITERATIONS,)
    assert "more outer iterations may help" in lines(early)[-1]
    assert late.feasible


@pytest.mark.parametrize(
    "spoilt",
    [
        {"wanted": [1.0, 4.0], "outer": 20},  # a row that nothing meets, below a cap that is far away
        {"wanted": [1.0, 4.0], "outer": 20, "cap": 5.0},
        {"wanted": [1.0, 1.5], "outer": 8, "kind": "penalty"},  # a price that stands
        {"wanted": [1.0, 1.5], "outer": 8, "kind": "none"},
    ],
)
def test_nothing_is_advised_where_it_would_not_help(spoilt: Mapping[str, Any]) -> None:
    said, longer = found(**spoilt), found(**{**spoilt, "outer": 2 * spoilt["outer"]})
    assert not said.feasible
    assert not longer.feasible
    assert said.advice == ()
