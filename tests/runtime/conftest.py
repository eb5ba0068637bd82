"""What one test sets for the whole process, the next one must not see."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

torch.set_num_threads(1)  # small kernels on several threads wait for each other


@pytest.fixture(autouse=True)
def _denormals() -> Iterator[None]:
    """A run flushes denormal numbers to 0, which exact tests of other things would notice."""
    yield
    torch.set_flush_denormal(False)
