"""Shares of train, val and test, for sources that divide their rows themselves."""

from __future__ import annotations

from math import isclose
from typing import Annotated, TypeAlias

from pydantic import AfterValidator

SPLITS = ("train", "val", "test")


def _checked(shares: tuple[float, float, float]) -> tuple[float, float, float]:
    if min(shares) < 0 or shares[0] == 0:
        raise ValueError("the shares of train, val and test must be at least 0, that of train above 0")
    if not isclose(sum(shares), 1.0, abs_tol=1e-9):
        raise ValueError(f"the shares of train, val and test must add up to 1, they add up to {sum(shares):g}")
    return shares


Shares: TypeAlias = Annotated[tuple[float, float, float], AfterValidator(_checked)]


def split_sizes(rows: int, shares: tuple[float, float, float]) -> dict[str, int]:
    """Rows of train, val and test; a part without a row is left out, train always has one."""
    val, test = (min(round(rows * share), rows - 1) for share in shares[1:])
    test = min(test, rows - 1 - val)
    sizes = dict(zip(SPLITS, (rows - val - test, val, test), strict=True))
    return {name: size for name, size in sizes.items() if size}
