"""The augmented Lagrangian of Powell, Hestenes and Rockafellar, for a whole residual matrix at once.

It takes the place of the empirical Lagrangian of Boero, Nixon and Ribeiro, "Learning Samples Importance: Parameterizing Dual Variables in
Everywhere Learning".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from pdual.compiler.layout import Layout, Sense


class Lagrangian:
    """The terms psi(g, lam) of some columns, inequalities and equalities mixed.

    Inequality ``g <= 0``, lam in [0, G]: r = max(g, -lam / rho); equality ``h == 0``: r = h. Both: psi = lam
    r + rho / 2 r^2, which equals ([lam + rho g]_+^2 - lam^2) / (2 rho) without its cancellation. An equality
    is an inequality whose floor is minus infinity, so one code path serves all columns. ``equal`` is
    [columns] bool, ``rho`` is [columns] and per column.
    """

    def __init__(self, equal: Tensor, rho: Tensor) -> None:
        self.equal = equal
        self._unbounded = torch.where(equal, -torch.inf, 0.0).to(rho.dtype)
        self._set(rho)

    @classmethod
    def of(
        cls,
        layout: Layout,
        columns: Sequence[int],
        rho: float,
        rho_equal: float | None,
        device: torch.device,
        dtype: torch.dtype,
    ) -> Lagrangian:
        """The Lagrangian of some columns of a layout; ``rho_equal`` is ``rho`` where it is None."""
        senses = [part.sense for part in layout.parts for _ in range(part.size)]
        equal = torch.tensor([senses[column] is Sense.EQUAL for column in columns], dtype=torch.bool, device=device)
        inequality = torch.full((len(columns),), rho, dtype=dtype, device=device)
        return cls(equal, inequality.masked_fill(equal, rho if rho_equal is None else rho_equal))

    def psi(self, residuals: Tensor, multipliers: Tensor) -> Tensor:
        """Sum of psi over each row's entries: [batch] from [batch, columns].

        No gradient reaches ``multipliers``. The derivative in ``residuals`` is [lam + rho g]_+ (lam + rho h
        for an equality). A masked entry is 0 without a gradient already, and psi(0, lam) is 0 whatever lam is.
        """
        found: Tensor = _Psi.apply(residuals, multipliers.detach(), self, False)  # type: ignore[no-untyped-call]
        return found

    def total(self, residuals: Tensor, multipliers: Tensor) -> Tensor:
        """Sum of psi over all entries of all rows, a scalar: ``psi(...).sum()`` in fewer kernels."""
        found: Tensor = _Psi.apply(residuals, multipliers.detach(), self, True)  # type: ignore[no-untyped-call]
        return found

    def slope(self, residuals: Tensor, multipliers: Tensor) -> Tensor:
        """The derivative of psi, [lam + rho g]_+, and lam + rho h of an equality: [batch, columns]."""
        return torch.maximum(torch.addcmul(multipliers, self.rho, residuals), self._unbounded)

    def relaxed(self, residuals: Tensor, multipliers: Tensor, mask: Tensor | None = None) -> Tensor:
        """The residual r = max(g, -lam / rho) that the ascent follows; [g]_+ <= |r|; 0 where ``mask`` is
        False.
        """
        relaxed = torch.maximum(residuals, torch.addcmul(self._unbounded, multipliers, self._negative_inverse))
        return relaxed if mask is None else torch.where(mask, relaxed, 0.0)

    def raise_rho(self, factor: float, largest: float) -> None:
        """Multiply every rho by ``factor``, up to ``largest``; a rho that is above it already stays."""
        self._set(torch.maximum(self.rho, (self.rho * factor).clamp(max=largest)))

    def load_rho(self, rho: Tensor) -> None:
        """Go on with the rho of a checkpoint."""
        self._set(rho.to(self.rho))

    def _set(self, rho: Tensor) -> None:
        self.rho = rho
        self.half = rho / 2
        self._negative_inverse = -1 / rho


class _Psi(torch.autograd.Function):
    """The sum over a row's entries, or over all, with its derivative in closed form: few kernels, where autograd would replay six."""

    @staticmethod
    def forward(context: Any, residuals: Tensor, multipliers: Tensor, form: Lagrangian, whole: bool) -> Tensor:
        context.form, context.whole = form, whole
        context.save_for_backward(residuals, multipliers)
        relaxed = form.relaxed(residuals, multipliers)
        slope = torch.addcmul(multipliers, form.half, relaxed)
        return torch.dot(relaxed.flatten(), slope.flatten()) if whole else slope.mul_(relaxed).sum(-1)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(context: Any, *outer: Tensor) -> tuple[Tensor, None, None, None]:
        slope = context.form.slope(*context.saved_tensors)
        return slope.mul_(outer[0] if context.whole else outer[0].unsqueeze(-1)), None, None, None
