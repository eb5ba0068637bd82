"""Groups of rows as a table: every row of a split is in one group of it, and a batch holds their fields one after another."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from pdual.compiler.graph import Grouping
from pdual.compiler.program import MEMBERS, PRESENT, ROWS
from pdual.runtime.data.groups import GroupTable, rows_in
from pdual.runtime.data.tables import ColumnTable, with_groups

KIND = Grouping("kind", ())


def table(kinds: Sequence[int], train: int) -> ColumnTable:
    ids = torch.arange(len(kinds))
    columns = {"kind": torch.tensor(kinds), "x": torch.arange(len(kinds), dtype=torch.float64) / 2}
    return ColumnTable(columns, {"train": ids[:train], "test": ids[train:]}, "made up")


@given(st.lists(st.sampled_from([-3, 0, 7]), min_size=1, max_size=12), st.integers(0, 12))
def test_groups_share_the_rows_of_each_split(kinds: list[int], cut: int) -> None:
    rows = table(kinds, min(cut, len(kinds)))
    found = GroupTable.of(rows, KIND)
    for split, ids in rows.splits.items():
        groups = found.splits[split].tolist()
        assert sorted(row for group in groups for row in found.rows[group].tolist()) == ids.tolist()
        assert rows_in(found, found.splits[split]) == len(ids) == rows_in(rows, ids)
        shared = [{kinds[row] for row in found.rows[group].tolist()} for group in groups]
        assert all(len(one) == 1 for one in shared)
        assert [found.address(group) for group in groups] == [
            f"kind {kind}" for kind in sorted({kinds[i] for i in ids})
        ]
    assert len(found) == sum(len(ids) for ids in found.splits.values())


def test_a_batch_of_groups() -> None:
    found = GroupTable.of(table([1, 2, 1, 1, 2], 4), KIND)
    batch = found.batch(torch.tensor([1, 0]))
    assert batch.ids.tolist() == [1, 0]
    assert batch.values[ROWS].tolist() == [1, 0, 2, 3]  # type: ignore[attr-defined]
    assert batch.values["x"].tolist() == [0.5, 0.0, 1.0, 1.5]  # type: ignore[attr-defined]
    assert batch.values[MEMBERS].tolist() == [[0, 0, 0], [1, 2, 3]]  # type: ignore[attr-defined]
    assert batch.values[PRESENT].tolist() == [[True, False, False], [True] * 3]  # type: ignore[attr-defined]
    assert with_groups(batch, [2]) is batch
    assert found.fingerprint != table([1], 1).fingerprint


def test_groups_elsewhere_and_fewer() -> None:
    found = GroupTable.of(table([1, 2, 3, 1], 4), KIND).to(torch.device("cpu"), torch.float32).limited(2)
    assert found.splits["train"].tolist() == [0, 1]
    batch = found.batch(found.splits["train"])
    assert batch.values["x"].dtype == torch.float32  # type: ignore[attr-defined]
    assert batch.values[ROWS].tolist() == [0, 3, 1]  # type: ignore[attr-defined]
    assert not found.multipliers


def test_members_of_a_set_and_truth_values_are_called_by_their_names() -> None:
    found = GroupTable.of(table([2, 0, 2], 3), Grouping("kind", (), ("low", "middle", "high")))
    assert [found.address(group) for group in range(len(found))] == ["kind low", "kind high"]
    ids = torch.arange(3)
    rows = ColumnTable({"good": ids > 0}, {"train": ids}, "made up")
    found = GroupTable.of(rows, Grouping("good", ()))
    assert [found.address(group) for group in range(len(found))] == ["good false", "good true"]


@pytest.mark.parametrize("texts", [["b", "a", "b"], ["x", "x", "x"]])
def test_rows_are_grouped_by_texts_too(texts: list[str]) -> None:
    ids = torch.arange(3)
    rows = ColumnTable({"x": ids.double()}, {"train": ids}, "made up", texts={"who": texts})
    found = GroupTable.of(rows, Grouping("who", ()))
    assert [found.address(group) for group in range(len(found))] == [f"who {name}" for name in sorted(set(texts))]
