"""Multipliers against a reference: small cases by hand."""

from __future__ import annotations

import pytest
import torch
from scipy.stats import spearmanr
from small_problems import part
from torch import Tensor, nn

from pdual.compiler.layout import Layout, Sense
from pdual.compiler.program import Program
from pdual.runtime.data.features import FeatureCache
from pdual.runtime.data.tables import ColumnTable
from pdual.runtime.evaluation.recovery import Reference, recovery, solver_recovery, solver_reference
from pdual.runtime.evaluation.result import EvaluationResult

LAYOUT = Layout(
    "d", (part("box", "lower", 2), part("box", "upper", 2), part("flow"), part("balance", "re", 2, sense=Sense.EQUAL))
)


def numbers(values: list[list[float]]) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def passed(multipliers: list[list[float]], residuals: list[list[float]] | None = None) -> EvaluationResult:
    said = numbers(multipliers)
    own = torch.zeros_like(said) if residuals is None else numbers(residuals)
    return EvaluationResult(torch.arange(len(said)), None, own, None, said, {}, FeatureCache())


#: lower 0, lower 1, upper 0, upper 1, flow, balance 0, balance 1
TRUTH = [[0.0, 0.0, 1.0, 0.0, 0.5, -2.0, 1.0], [0.0, 0.0, 2.0, 1e-9, 0.7, -3.0, 2.0]]


def test_the_same_multipliers_are_recovered_wholly() -> None:
    found = recovery(LAYOUT, passed(TRUTH), Reference("solver", numbers(TRUTH)))
    assert (found.against, found.rows, found.constraints) == ("solver", 2, 5)
    assert found.active_rate == 0.4
    assert (found.auc, found.ndcg, found.spearman) == (1.0, pytest.approx(1.0), pytest.approx(1.0))
    assert found.per_row.auc == 1.0
    assert found.correlation == {"balance.re": pytest.approx(1.0)}
    assert found.spearman_by_constraint == {"box.upper[0]": pytest.approx(1.0), "flow": pytest.approx(1.0)}
    assert found.spearman_median == pytest.approx(1.0)
    assert found.constant is None


def test_what_is_silent_on_both_sides_is_a_tie() -> None:
    """An interior point's 1e-9 must not be ranked, nor ours."""
    said = [[9e-5, 0.0, 1.0, 5e-5, 0.5, 0.0, 0.0], [0.0, 8e-5, 2.0, 0.0, 0.7, 0.0, 0.0]]
    found = recovery(LAYOUT, passed(said), Reference("solver", numbers(TRUTH)))
    assert found.spearman == pytest.approx(1.0)
    assert found.correlation == {"balance.re": None}


def test_two_sides_that_drift_together_count_by_their_difference() -> None:
    said = [[3.0, 0.0, 4.0, 0.0, 0.5, 0.0, 0.0], [3.0, 0.0, 5.0, 0.0, 0.7, 0.0, 0.0]]
    found = recovery(LAYOUT, passed(said), Reference("solver", numbers(TRUTH)))
    assert found.auc is not None
    assert found.auc < 1
    assert (found.netted.auc, found.netted.spearman) == (1.0, pytest.approx(1.0))
    assert found.netted_per_row.ndcg == pytest.approx(1.0)


def test_what_needs_no_learning_stands_beside() -> None:
    residuals = [[-1.0, -1.0, 0.0, -1.0, -0.1, 0.0, 0.0], [-1.0, -1.0, 0.1, -1.0, 0.0, 0.0, 0.0]]
    training = numbers([[0.0, 0.0, 1.0, 0.0, 0.2, 0.0, 0.0], [0.0, 0.0, 2.0, 0.0, 0.2, 0.0, 0.0]])
    nothing = [[0.0] * 7] * 2
    found = recovery(LAYOUT, passed(nothing, residuals), Reference("solver", numbers(TRUTH)), training)
    assert found.auc == 0.5
    assert found.margin.auc == 1.0
    assert found.constant is not None
    assert found.constant.auc == 1.0
    ranked = [0.0 if number < 1e-4 else number for row in TRUTH for number in row[:5]]
    expected = spearmanr(ranked, [0.0, 0.0, 1.5, 0.0, 0.2] * 2).statistic
    assert found.constant.spearman == pytest.approx(expected, abs=1e-12)
    assert found.spearman_by_constraint == {"box.upper[0]": None, "flow": None}
    assert found.spearman_median is None


def test_only_what_the_reference_tells_and_what_was_asked_for_is_ranked() -> None:
    truth = numbers(TRUTH)
    truth[:, 4] = torch.nan
    assert recovery(LAYOUT, passed(TRUTH), Reference("solver", truth)).constraints == 4
    some = recovery(LAYOUT, passed(TRUTH), Reference("solver", numbers(TRUTH)), families=["flow"])
    assert (some.constraints, some.auc) == (1, None)


def program(units: tuple[float, ...]) -> Program:
    nothing = nn.Identity()
    return Program("d", LAYOUT, 1.0, nothing, nothing, (), multiplier_units=units)


def solved_rows(**multipliers: Tensor) -> ColumnTable:
    rows = torch.arange(3)
    z = torch.zeros(3, 1, dtype=torch.float64)
    return ColumnTable({"z": z}, {"train": rows[:2], "test": rows[2:]}, "hand", multipliers)


def test_a_solvers_own_multipliers_are_scaled() -> None:
    own = {"box.upper": numbers([[2.0, 0.0], [4.0, 0.0], [6.0, 8.0]]), "elsewhere": numbers([[1.0], [1.0], [1.0]])}
    found = solver_reference(program((1, 1, 2, 4, 1, 1, 1)), solved_rows(**own), torch.tensor([2, 0]))
    assert found is not None
    assert found.values[:, 2:4].tolist() == [[3.0, 2.0], [1.0, 0.0]]
    assert bool(found.values[:, [0, 1, 4, 5, 6]].isnan().all())
    assert solver_reference(program((1,) * 7), solved_rows(), torch.tensor([0])) is None


def test_splits_without_multipliers_are_left_out() -> None:
    own = {"box.upper": numbers([[1.0, 0.0], [3.0, 0.0], [2.0, 0.0]])}
    train = passed([[0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 3.0, 0.0, 0.0, 0.0, 0.0]])
    unseen = passed([[float("nan")] * 7])
    found = solver_recovery(program((1,) * 7), solved_rows(**own), {"train": train, "test": unseen})
    assert list(found) == ["train"]
    assert (found["train"].constraints, found["train"].auc) == (2, 1.0)
    assert found["train"].constant is not None
    assert solver_recovery(program((1,) * 7), solved_rows(), {"train": train}) == {}


MASKED = Layout("d", (part("margin", size=4, masked=True),))


def test_masked_entries_are_not_ranked() -> None:
    """A masked entry's residual is 0, above every slack one: as an entry of the ranking it would count against the margin."""
    truth = numbers([[0.0, 2.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    said = numbers([[9.0, 1.5, 0.0, 0.0], [0.0, 9.0, 1.0, 0.0], [0.2, 0.0, 0.0, 9.0]])
    residuals = numbers([[0.0, 0.1, -1.0, -2.0], [-3.0, 0.0, 0.2, -1.0], [-1.0, -0.5, -4.0, 0.0]])
    mask = torch.tensor([[False, True, True, True], [True, False, True, True], [True, True, True, False]])
    found = EvaluationResult(torch.arange(3), None, residuals, mask, said, {}, FeatureCache())
    scores = recovery(MASKED, found, Reference("pointwise", truth), truth, rho=torch.tensor([10.0] * 4))
    live = mask.flatten().numpy()
    assert scores.active_rate == 2 / 9
    assert scores.auc == 1.0
    assert scores.margin.auc == 1.0
    assert scores.spearman == pytest.approx(
        spearmanr(truth.flatten().numpy()[live], said.flatten().numpy()[live]).statistic
    )
    assert scores.per_row.auc == 1.0
    assert scores.margin_per_row.ndcg == 1.0
    assert scores.stepped is not None
    assert scores.stepped.precision == 1.0
    assert scores.spearman_by_constraint["margin[1]"] == pytest.approx(1.0)


def test_a_row_without_live_entries_counts_nowhere() -> None:
    truth = numbers([[0.0, 2.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    mask = torch.tensor([[True, True, True, True], [False, False, False, False]])
    found = EvaluationResult(torch.arange(2), None, torch.zeros_like(truth), mask, truth, {}, FeatureCache())
    scores = recovery(MASKED, found, Reference("pointwise", truth))
    assert scores.active_rate == 0.25
    assert scores.per_row.auc == 1.0
    assert scores.stepped is None


def test_the_step_of_a_multiplier_ranks_by_what_it_asks_to_be() -> None:
    truth = [[0.0, 0.0, 1.0, 0.0, 0.5, -2.0, 1.0]]
    said = [[0.2, 0.0, 0.1, 0.0, 0.0, 0.0, 0.0]]
    residuals = [[-0.1, -1.0, 0.1, -1.0, 0.06, 0.0, 0.0]]
    rho = torch.full((7,), 4.0)
    found = recovery(LAYOUT, passed(said, residuals), Reference("solver", numbers(truth)), rho=rho)
    assert found.precision is not None
    assert found.precision < 1
    assert found.stepped is not None
    assert found.stepped.precision == 1.0
    assert found.stepped.ndcg == pytest.approx(1.0)
