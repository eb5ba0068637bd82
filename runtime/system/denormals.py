"""Numbers too small to be normal count as 0 while a problem is solved: on a CPU each costs a hundred times an ordinary one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def flushed() -> Iterator[None]:
    """Flush denormal numbers to 0 inside, and leave the process as it was: what else runs in it may count on them."""
    smallest = torch.tensor(5e-324, dtype=torch.float64)
    before = float(smallest * 1.0) == 0.0
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(before)
