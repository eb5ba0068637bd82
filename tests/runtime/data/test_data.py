"""Tables of columns: bytes that are read as numbers, and columns that are what they are."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from pdual.runtime.data.tables import ColumnTable

BYTES = torch.arange(256, dtype=torch.uint8).reshape(64, 2, 2)
CPU = torch.device("cpu")


def table(**more: Any) -> ColumnTable:
    columns = {"image": BYTES, "x": torch.linspace(0, 1, 64, dtype=torch.float64), "k": torch.arange(64)}
    splits = {"train": torch.arange(60), "test": torch.arange(60, 64)}
    return ColumnTable(columns, splits, "hand", **more)


def values(table: ColumnTable, name: str, *ids: int) -> Tensor:
    column = table.batch(torch.tensor(ids)).values[name]
    assert isinstance(column, Tensor)
    return column


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_bytes_are_read_as_numbers_of_the_table(dtype: torch.dtype) -> None:
    moved = table(levels={"image": 255.0}).to(CPU, dtype)
    read = values(moved, "image", 63, 0)
    assert read.dtype == dtype
    expected = torch.tensor([[[i / 255 for i in row] for row in BYTES[at].tolist()] for at in (63, 0)], dtype=dtype)
    assert torch.equal(read, expected)
    assert read.max() == 1


def test_bytes_stay_bytes() -> None:
    moved = table(levels={"image": 255.0}).to(CPU, torch.float32).limited(3)
    assert moved.columns["image"].dtype == torch.uint8
    assert moved.columns["image"].data_ptr() == BYTES.data_ptr()
    assert moved.columns["x"].dtype == torch.float32
    assert values(moved, "image", 1).dtype == torch.float32
    values(moved, "image", 1).fill_(0.5)
    assert torch.equal(moved.columns["image"], BYTES)


def test_another_level() -> None:
    assert values(table(levels={"image": 16.0}), "image", 4).tolist() == [[[1.0, 1.0625], [1.125, 1.1875]]]


def test_columns_without_a_level_are_as_they_are() -> None:
    found = table().to(CPU, torch.float32)
    assert values(found, "image", 5).dtype == torch.uint8
    assert values(found, "k", 5).tolist() == [5]
    assert values(found, "x", 63).dtype == torch.float32


def test_moving_and_limiting_keep_the_rest() -> None:
    multipliers = {"near": torch.ones(64, 1, dtype=torch.float64)}
    found = table(multipliers=multipliers, labels=[f"row {i}" for i in range(64)])
    moved = found.to(CPU, torch.float32).limited(2)
    assert moved.multipliers["near"].dtype == torch.float32
    assert (moved.address(7), moved.fingerprint, len(moved)) == ("row 7", "hand/limit=2", 4)
    assert {name: ids.tolist() for name, ids in moved.splits.items()} == {"train": [0, 1], "test": [60, 61]}
    assert len(found) == 64


def test_bytes_may_stand_for_values_around_a_mean() -> None:
    moved = table(levels={"image": 16.0}, shifts={"image": 0.5}).to(CPU, torch.float64)
    assert values(moved, "image", 4).tolist() == [[[0.5, 0.5625], [0.625, 0.6875]]]
