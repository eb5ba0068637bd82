"""Bounded outputs stay in their range, also after rounding."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from pdual.runtime.models.squash import inward, squash

BOUNDS = st.floats(-1e6, 1e6, allow_nan=False)


@given(low=BOUNDS, width=st.floats(0, 1e6), raw=st.floats(-1e9, 1e9, width=32))
def test_a_box_is_never_left(low: float, width: float, raw: float) -> None:
    high = low + width
    if inward(low, up=True) > inward(high, up=False):
        return  # no float32 lies between them
    found = Fraction(squash(torch.tensor(raw), low, high).item())
    assert Fraction(low) <= found <= Fraction(high)


@given(bound=BOUNDS, raw=st.floats(-1e9, 1e9, width=32))
def test_a_half_line_is_never_left(bound: float, raw: float) -> None:
    assert Fraction(squash(torch.tensor(raw), bound, None).item()) >= Fraction(bound)
    assert Fraction(squash(torch.tensor(raw), None, bound).item()) <= Fraction(bound)


def test_it_is_the_sigmoid_of_the_box() -> None:
    raw = torch.linspace(-3, 3, 7, dtype=torch.float64)
    expected = [-1 + 4 / (1 + math.exp(-value)) for value in raw.tolist()]
    assert squash(raw, -1.0, 3.0).tolist() == pytest.approx(expected, abs=1e-12)


def test_one_side_is_a_softplus() -> None:
    raw = torch.linspace(-3, 3, 7, dtype=torch.float64)
    bump = [math.log1p(math.exp(value)) for value in raw.tolist()]
    assert squash(raw, 2.0, math.inf).tolist() == pytest.approx([2 + b for b in bump], abs=1e-12)
    assert squash(raw, -math.inf, 2.0).tolist() == pytest.approx([2 - b for b in bump], abs=1e-12)


def test_without_bounds_nothing_happens() -> None:
    raw = torch.randn(5)
    assert squash(raw, None, None) is raw
    assert squash(raw, -math.inf, math.inf) is raw


def test_the_gradient_does_not_stop_inside_the_box() -> None:
    raw = torch.tensor([-2.0, 0.0, 2.0], requires_grad=True)
    (slope,) = torch.autograd.grad(squash(raw, 0.1, 0.3).sum(), raw)
    assert (slope > 0).all()
