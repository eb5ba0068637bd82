"""Batches: every row once an epoch, and strata whose weighted means stay those of all rows."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from pdual.runtime.data.sampling import GroupStream, RowStream, generator


def stream(rows: int, batch: int, share: float = 0.5, seed: int = 0) -> RowStream:
    return RowStream(torch.arange(rows) + 100, batch, generator(seed), share)


def test_every_row_comes_once_an_epoch_and_batches_are_of_one_size() -> None:
    drawn = stream(10, 4)
    batches = [drawn.draw().ids for _ in range(5)]
    assert [len(ids) for ids in batches] == [4] * 5
    assert torch.cat(batches).bincount().tolist()[100:] == [2] * 10


@given(
    named=st.lists(st.booleans(), min_size=1, max_size=30),
    batch=st.integers(1, 12),
    share=st.floats(0.01, 0.99),
)
def test_a_weighted_mean_over_batches_is_the_mean_over_all_rows(named: list[bool], batch: int, share: float) -> None:
    """Over a whole number of epochs of each stratum the estimate has no error left."""
    rows = stream(len(named), batch, share)
    rows.restrict(torch.tensor(named))
    sizes = [sum(named), len(named) - sum(named)]
    first = rows.draw()
    assert len(first.ids) == min(batch, len(named))
    value = torch.arange(len(named) + 100).double().square()
    if first.weights is None:
        assert 0 in sizes or min(batch, len(named)) == 1
        return
    whole = stream(len(named), batch, share)
    whole.restrict(torch.tensor(named))
    rounds = sizes[0] * sizes[1]
    total = 0.0
    for _ in range(rounds):
        drawn = whole.draw()
        assert drawn.weights is not None
        total += float((value[drawn.ids] * drawn.weights).sum()) / whole.rows_per_step
    assert total / rounds == pytest.approx(float(value[100:].mean()), rel=1e-5)


def test_rows_that_are_not_named_have_their_share_of_a_batch() -> None:
    rows = stream(100, 16, 0.25)
    named = torch.zeros(100, dtype=torch.bool)
    named[:40] = True
    rows.restrict(named)
    drawn = rows.draw()
    assert (drawn.ids >= 140).sum() == 4
    assert drawn.weights is not None
    assert drawn.weights.tolist() == pytest.approx([0.4 * 16 / 12] * 12 + [0.6 * 16 / 4] * 4)
    rows.restrict(None)
    assert rows.draw().weights is None


def test_few_named_rows_leave_the_batch_to_the_others() -> None:
    rows = stream(100, 16, 0.25)
    named = torch.zeros(100, dtype=torch.bool)
    named[7] = True
    rows.restrict(named)
    drawn = rows.draw()
    assert drawn.ids.tolist().count(107) == 1
    assert len(drawn.ids) == 16


@pytest.mark.parametrize("strata", [False, True])
def test_a_stream_goes_on_from_its_state(strata: bool) -> None:
    one, other = stream(23, 5), stream(23, 5, seed=9)
    if strata:
        one.restrict(torch.arange(23) % 3 == 0)
    for _ in range(7):
        one.draw()
    other.load_state(one.state())
    for _ in range(20):
        assert one.draw().ids.tolist() == other.draw().ids.tolist()


def test_groups_come_whole() -> None:
    groups = torch.tensor([0, 0, 1, 1, 1, 2])
    drawn = GroupStream(torch.arange(6), groups, 3, generator(0))
    seen = [drawn.draw().ids.tolist() for _ in range(2)]
    assert sorted(row for ids in seen for row in ids) == [0, 1, 2, 3, 4, 5]
    for ids in seen:
        assert {row for row in range(6) if groups[row] in groups[ids]} == set(ids)
