"""Distinct rows: against sorting whole rows, and where two rows share a number."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from pdual.packs.workflows.models import distinct
from pdual.packs.workflows.models.distinct import distinct_rows


@given(st.lists(st.integers(0, 4), min_size=1, max_size=30), st.sampled_from([torch.float32, torch.float64]))
def test_every_row_finds_its_equal_and_no_two_are_the_same(choices: list[int], dtype: torch.dtype) -> None:
    rows = torch.tensor([[0.5, -1.0], [0.5, 1.0], [-1.0, 0.5], [2.0, 2.0], [0.0, 0.0]], dtype=dtype)[choices]
    found, places = distinct_rows(rows)
    assert torch.equal(found[places], rows)
    assert len(found) == len(set(choices)) == len(torch.unique(rows, dim=0))


def test_gradients_reach_the_rows() -> None:
    rows = torch.tensor([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]], requires_grad=True)
    found, places = distinct_rows(rows)
    found[places].sum().backward()  # type: ignore[no-untyped-call]
    assert rows.grad is not None
    assert rows.grad.sum() == 6


def test_rows_that_share_a_number_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distinct.torch, "randint", lambda *_, **__: torch.zeros(2, dtype=torch.int64))
    rows = torch.tensor([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]])
    found, places = distinct_rows(rows)
    assert torch.equal(found[places], rows)
    assert len(found) == 2
