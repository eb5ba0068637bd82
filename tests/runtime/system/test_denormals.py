"""Denormal numbers count as 0 while a problem is solved, and only then."""

from __future__ import annotations

import pytest
import torch

from pdual.runtime.system.denormals import flushed


def smallest() -> float:
    return float(torch.tensor(5e-324, dtype=torch.float64) * 1.0)


def test_what_was_before_is_so_again() -> None:
    assert smallest() > 0
    with flushed():
        assert smallest() == 0
        with flushed():
            assert smallest() == 0
        assert smallest() == 0
    assert smallest() > 0


def test_also_after_an_error() -> None:
    with pytest.raises(ValueError, match="on the way"), flushed():
        raise ValueError("on the way")
    assert smallest() > 0
