"""What one test sets for the whole process, the next one must not see."""

from __future__ import annotations

import torch

torch.set_num_threads(1)  # small kernels on several threads wait for each other
