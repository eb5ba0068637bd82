"""The augmented Lagrangian against its textbook form, in exact rational arithmetic where floats would blur it."""

from __future__ import annotations

from fractions import Fraction

import pytest
import torch
from small_problems import part
from torch import Tensor

from pdual.compiler.layout import Layout, Sense
from pdual.runtime.optimisation.lagrangian import Lagrangian


def lagrangian(equal: list[bool], rho: float | list[float], dtype: torch.dtype = torch.float64) -> Lagrangian:
    rhos = rho if isinstance(rho, list) else [rho] * len(equal)
    return Lagrangian(torch.tensor(equal), torch.tensor(rhos, dtype=dtype))


def textbook(g: float, lam: float, rho: float, equal: bool) -> Fraction:
    """([lam + rho g]_+^2 - lam^2) / (2 rho), and lam h + rho / 2 h^2, exactly."""
    g_, lam_, rho_ = Fraction(g), Fraction(lam), Fraction(rho)
    if equal:
        return lam_ * g_ + rho_ / 2 * g_ * g_
    return (max(lam_ + rho_ * g_, Fraction(0)) ** 2 - lam_**2) / (2 * rho_)


def random_entries(columns: int, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    random = torch.Generator().manual_seed(3)
    g = torch.randn(64, columns, dtype=dtype, generator=random)
    lam = torch.randn(64, columns, dtype=dtype, generator=random).abs() * 3
    return g, lam


def test_psi_equals_the_textbook_form_in_double_precision() -> None:
    equal, rho = [False, False, True], [0.5, 40.0, 7.0]
    g, lam = random_entries(3)
    lam[:, 2] *= torch.sign(torch.randn(64, generator=torch.Generator().manual_seed(1)))
    for column in range(3):
        found = lagrangian([equal[column]], rho[column]).psi(g[:, [column]], lam[:, [column]])
        for row in range(64):
            exact = float(textbook(float(g[row, column]), float(lam[row, column]), rho[column], equal[column]))
            assert float(found[row]) == pytest.approx(exact, rel=1e-12, abs=1e-15)


def test_psi_keeps_in_single_precision_what_the_textbook_form_loses() -> None:
    g, lam, rho = 1e-6, 100.0, 1e-2
    exact = float(textbook(g, lam, rho, equal=False))
    found = lagrangian([False], rho, torch.float32).psi(torch.tensor([[g]]), torch.tensor([[lam]]))
    assert float(found) == pytest.approx(exact, rel=1e-6)
    g32, lam32, rho32 = torch.tensor(g), torch.tensor(lam), torch.tensor(rho)
    unstable = (torch.relu(lam32 + rho32 * g32) ** 2 - lam32**2) / (2 * rho32)
    assert float(unstable) == 0.0  # all of 1e-4 is gone


def test_the_rows_are_sums_over_columns_of_any_kind_with_a_rho_each() -> None:
    equal, rho = [False, True, False], [1.0, 10.0, 3.0]
    g, lam = random_entries(3)
    found = lagrangian(equal, rho).psi(g, lam)
    apart = sum(lagrangian([equal[c]], rho[c]).psi(g[:, [c]], lam[:, [c]]) for c in range(3))
    torch.testing.assert_close(found, apart)


def test_the_gradient_is_the_clipped_step_and_reaches_no_multiplier() -> None:
    equal = torch.tensor([False, True])
    rho = torch.tensor([2.0, 5.0], dtype=torch.float64)
    g, lam = random_entries(2)
    g.requires_grad_()
    lam.requires_grad_()
    Lagrangian(equal, rho).psi(g, lam).sum().backward()
    asked = lam.detach() + rho * g.detach()
    torch.testing.assert_close(g.grad, torch.where(equal, asked, asked.relu()))
    assert lam.grad is None


def test_the_total_is_the_sum_with_the_same_gradient() -> None:
    form = Lagrangian(torch.tensor([False, True]), torch.tensor([2.0, 5.0], dtype=torch.float64))
    g, lam = random_entries(2)
    one, other = g.clone().requires_grad_(), g.clone().requires_grad_()
    rows, total = form.psi(one, lam), form.total(other, lam)
    torch.testing.assert_close(total, rows.sum())
    (3 * rows.sum()).backward()
    (3 * total).backward()
    torch.testing.assert_close(other.grad, one.grad, rtol=0, atol=0)


def test_the_gradient_is_exactly_0_where_the_constraint_is_slack() -> None:
    g = torch.tensor([[-1.0]], requires_grad=True)
    lagrangian([False], 3.0, torch.float32).psi(g, torch.tensor([[0.7]])).sum().backward()
    assert g.grad is not None
    assert g.grad.item() == 0.0


@pytest.mark.parametrize(("g", "lam"), [(-0.5, 1.0), (0.0, 0.0)])
def test_the_gradient_at_a_tie_is_0(g: float, lam: float) -> None:
    """lam + rho g = 0 on the boundary between the two branches, with rho = 2."""
    at = torch.tensor([[g]], dtype=torch.float64, requires_grad=True)
    lagrangian([False], 2.0).psi(at, torch.tensor([[lam]], dtype=torch.float64)).sum().backward()
    assert at.grad is not None
    assert at.grad.item() == 0.0


def test_the_relaxed_residual_bounds_the_violation() -> None:
    g, lam = random_entries(2)
    relaxed = lagrangian([False, False], [0.1, 10.0]).relaxed(g, lam)
    assert bool((g.relu() <= relaxed.abs()).all())
    equality = lagrangian([True, True], 1.0).relaxed(g, lam)
    assert torch.equal(equality, g)


def test_a_masked_entry_adds_exactly_nothing_to_value_and_gradient() -> None:
    """Not even where the entry is not a number."""
    g = torch.tensor([[0.3, torch.nan], [0.2, 5.0]], requires_grad=True)
    lam = torch.tensor([[1.0, 2.0], [1.0, 3.0]])
    mask = torch.tensor([[True, False], [True, False]])
    form = lagrangian([False, False], 1.0, torch.float32)
    found = form.psi(torch.where(mask, g, 0.0), lam)
    alone = lagrangian([False], 1.0, torch.float32).psi(g[:, :1], lam[:, :1])
    assert torch.equal(found, alone)
    found.sum().backward()
    assert g.grad is not None
    assert torch.equal(g.grad[:, 1], torch.zeros(2))


def test_rho_by_sense_and_rho_equal_is_rho_where_it_is_not_written() -> None:
    layout = Layout("d", (part("a", size=2), part("b", sense=Sense.EQUAL)))
    cpu = torch.device("cpu")
    written = Lagrangian.of(layout, [0, 2], 10.0, 100.0, cpu, torch.float32)
    assert written.rho.tolist() == [10.0, 100.0]
    assert written.equal.tolist() == [False, True]
    assert Lagrangian.of(layout, [0, 1, 2], 10.0, None, cpu, torch.float32).rho.tolist() == [10.0, 10.0, 10.0]


def test_rho_grows_up_to_the_largest_and_never_falls() -> None:
    form = lagrangian([False, True], [4.0, 300.0])
    form.raise_rho(2.0, 10.0)
    assert form.rho.tolist() == [8.0, 300.0]
    form.raise_rho(2.0, 10.0)
    assert form.rho.tolist() == [10.0, 300.0]
    g, lam = random_entries(2)
    torch.testing.assert_close(form.psi(g, lam), lagrangian([False, True], [10.0, 300.0]).psi(g, lam))
