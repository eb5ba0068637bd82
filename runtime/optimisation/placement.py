"""Where tensors live, and in which precision."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, TypeVar

import torch
from torch import Tensor, nn

Precision: TypeAlias = Literal["auto", "float32", "float64", "bfloat16"]

M = TypeVar("M", bound=nn.Module)


@dataclass(frozen=True)
class Placement:
    """One device of one process.

    ``precision``: ``auto`` leaves models as they were built and computes in float32; ``bfloat16`` is automatic mixed precision of the
    models over float32 weights.
    """

    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    precision: Precision = "auto"

    @property
    def dtype(self) -> torch.dtype:
        """Of columns, residuals and multipliers."""
        return torch.float64 if self.precision == "float64" else torch.float32

    @property
    def is_cpu(self) -> bool:
        """Whether the device is the CPU, where a look at a number waits for nothing."""
        return self.device.type == "cpu"

    def place(self, module: M) -> M:
        """Move a module to the device, and to the precision unless that is ``auto`` or mixed."""
        module.to(self.device)
        if self.precision in ("float32", "float64"):
            module.to(self.dtype)
        return module

    def mixed(self) -> AbstractContextManager[object]:
        """Automatic mixed precision, where it was asked for."""
        return torch.autocast(self.device.type, torch.bfloat16) if self.precision == "bfloat16" else nullcontext()

    def zeros(self, *shape: int) -> Tensor:
        """Zeros on the device."""
        return torch.zeros(shape, dtype=self.dtype, device=self.device)

    def random_state(self) -> dict[str, Tensor]:
        """The state of torch's generators, for a checkpoint."""
        if self.device.type != "cuda":
            return {"cpu": torch.get_rng_state()}
        return {"cpu": torch.get_rng_state(), "cuda": torch.cuda.get_rng_state(self.device)}

    def set_random_state(self, state: Mapping[str, Any]) -> None:
        """Go on from a saved state."""
        torch.set_rng_state(state["cpu"].cpu())
        if "cuda" in state and self.device.type == "cuda":
            torch.cuda.set_rng_state(state["cuda"].cpu(), self.device)
